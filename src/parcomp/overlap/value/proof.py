"""Proofs of an upper bound by a tree of cases, each closed by a splitting bound.

:func:`prove_upper` repeats a value search for rows heavier than ``upper`` and records why there are none, as plain
integers:

``{"upper": U, "shift": k, "multipliers": [pairs, …], "nodes": [node, …]}``, the first node being the root.  A node is
read with a box (for each attribute a set of values; all values at the root) and a set of counted queries (all at the
root), and claims that no row in the box satisfies counted queries of more than U in weight.  It is one of

- ``{"attribute": a, "like": v, "in": i, "rest": j}``: cases by the value of ``a``.  Child ``in`` has the box with ``a``
  restricted to the values that are *like* v: every counted query that some row of the box satisfies and that accepts
  them accepts v too.  Child ``rest`` has the others.
- ``{"query": q, "in": i, "rest": j}``: cases by a counted query.  Child ``in`` has the box with each attribute that q
  constrains restricted to the values q accepts; child ``rest`` has the same box, without q counted.  A row that
  satisfies q is in the box of ``in``; for one that does not, counting q makes no difference.
- ``{"leaf": i}`` with i ≥ 0: ``multipliers[i]`` has pairs of an entry of ``compiled.term`` and an integer λ > 0 in
  units of ``2**-k``, and all others have λ = 0.  Of the counted queries that some row of the box satisfies, let C be
  the sum of what the λ of each fall short of ``weight << k``.  Then ``C + Σ_a max_{v in the box} Σ {λ of terms on a of
  these queries that accept v} < (U + 1) << k``.  This proves the claim by the argument in
  :mod:`parcomp.overlap.value.splitting`.  A query that all rows of the box satisfy needs no multipliers: it counts in
  full without.
- ``{"fix": i, "rest": j}``: by the same sum, with only v left of an attribute, or only the values that accept a query,
  or without the query counted, no row with v weighs more than U, or none that satisfies the query, or none that does
  not.  Child ``rest`` has the box and the counted queries with all that removed which can be removed in this way.
- ``{"thin": a, "rest": j}``: the child may do without values of ``a`` that are like others of the box.
- ``{"leaf": -1}``: some attribute has no value left in the box, so there is no row.

Children come after their parent, so the tree has no cycle, and every node but the root is the child of one node.

The search leaves more out than the proof says.  It drops dominated values, which a box of the proof still has.  But
whatever value v such a box has, the search has a value s of that attribute which v is like.  That stays so all the way
down: v scores no more than s, so a bound is no larger for it, and it is removed if s is; a query that accepts v accepts
s, so it has no value in a box where it has none in the search; what s is dominated by, v is like; and with s put first
as a case, v is in the same case.  And the search sets attributes aside, which have no multipliers then: such a list
bounds all rows, whatever their values there.  So a step of the search is a step of the proof, with a box and queries
that are no more than those of the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.tree import layout as tree
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_level
from parcomp.overlap.value._proof_log_kernels import FIX, LEAF, SHARES, THIN, VALUE
from parcomp.overlap.value._search_kernels import search_slice
from parcomp.overlap.value.splitting import Splitter, choose_shift, load_levels, make_scratch, typical_weight
from parcomp.overlap.value.stack import grow_levels
from parcomp.overlap.value.value_search import make_task

__all__ = ["prove_upper"]

_SLICE = 10**8

_FEW = 32
"""Up to so many values of each attribute are few."""


def prove_upper(
    compiled: CompiledWorkload,
    upper: int,
    *,
    size_limit: int = 10**6,
    work_limit: int = 10**11,
    root_rounds: int = 200,
    go_on: Callable[[], None] = lambda: None,
) -> dict[str, Any] | None:
    """A proof that no row is heavier than ``upper``; None if that is not so or takes too much space or work.

    Settling a level again and again makes the tree smaller and takes more lists of multipliers.  Where levels have many
    values it pays to settle each once, and where they have few the other way; whichever is short enough will do.
    ``go_on`` is called now and then, and ends it by an error.
    """
    shift, unit = choose_shift(compiled.total), typical_weight(compiled)
    root = load_levels(compiled, shift)
    splitter = Splitter(root, make_scratch(root), shift, unit, root_rounds, warm=False)
    for _ in splitter.course():
        go_on()
    for thorough in (False, True) if compiled.sizes.max(initial=0) > _FEW else (True, False):
        levels, scratch = grow_levels(root), make_scratch(root)
        state = np.zeros(layout.STATE, np.int64)
        state[tree.SHIFT], state[tree.TARGET], state[tree.BEST], state[tree.DEPTH] = shift, upper, 0, 1
        copy_level(levels, 0, 1, scratch, layout.WHOLE)
        log = np.zeros(size_limit, np.int64)
        task = make_task(compiled, unit, log, thorough=thorough)
        while state[tree.DEPTH] > 0 and state[layout.LOGGED] <= size_limit:
            go_on()
            end = int(state[tree.WORK]) + _SLICE
            roomy = search_slice(levels, scratch, state, task, end)
            if state[tree.TARGET] > upper or state[tree.WORK] > work_limit:
                return None
            if not roomy:
                levels = grow_levels(levels)
        if state[layout.LOGGED] <= size_limit:
            nodes, vectors = _read(log[: state[layout.LOGGED]])
            return {"upper": upper, "shift": shift, "multipliers": vectors, "nodes": nodes}
    return None


def _read(log: npt.NDArray[np.int64]) -> tuple[list[dict[str, Any]], list[npt.NDArray[np.int64]]]:
    """The tree and the multipliers of a log: see ``_proof_log_kernels`` for its entries."""
    nodes: list[dict[str, Any]] = []
    vectors: list[npt.NDArray[np.int64]] = []
    # Nodes that miss a child, and the name of the child: the next node read belongs to the last one.
    waiting: list[tuple[dict[str, Any], str]] = []
    at = 0
    while at < len(log):
        kind, number = int(log[at]), int(log[at + 1])
        if kind == SHARES:
            pairs = log[at + 2 : at + 2 + 2 * number].reshape(-1, 2)
            vectors.append(pairs)
            at += 2 + pairs.size
            continue
        if waiting:
            parent, place = waiting.pop()
            parent[place] = len(nodes)
        at += 2
        node: dict[str, Any]
        if kind == LEAF:
            node = {"leaf": number}
        elif kind in (FIX, THIN):
            node = {"fix" if kind == FIX else "thin": number}
            waiting.append((node, "rest"))
        elif kind == VALUE:
            node = {"attribute": number, "like": int(log[at])}
            waiting += [(node, "rest"), (node, "in")]
            at += 1
        else:
            node = {"query": number}
            waiting += [(node, "rest"), (node, "in")]
        nodes.append(node)
    return nodes, vectors

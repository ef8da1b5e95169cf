"""Proofs of an upper bound by a tree of cases, each closed by a splitting bound.

:func:`prove_upper` repeats a value search for rows heavier than ``upper`` and records why there are none, as plain
integers:

``{"upper": U, "shift": k, "multipliers": [[…], …], "nodes": [node, …]}``, the first node being the root.  A node is
read with a box (for each attribute a set of values; all values at the root) and a set of counted queries (all at the
root), and claims that no row in the box satisfies counted queries of more than U in weight.  It is one of

- ``{"attribute": a, "sets": [[v, …], …], "children": [i, …]}``: cases by the value of ``a``.  There is one child more
  than sets; child j has the box with ``a`` restricted to set j, the last one with ``a`` restricted to the values in
  none of the sets.  The claim follows, as each row of the box is in the box of a child.
- ``{"query": q, "in": i, "out": j}``: cases by a counted query.  Child ``in`` has the box with each attribute that q
  constrains restricted to the values q accepts; child ``out`` has the same box, without q counted.  A row that
  satisfies q is in the box of ``in``; for one that does not, counting q makes no difference.
- ``{"leaf": i}`` with i ≥ 0: ``multipliers[i]`` has an integer λ ≥ 0 for each entry of ``compiled.term``, in units of
  ``2**-k``.  Those of each counted query that constrains anything sum to at least ``weight << k``.  With C the weight
  of the counted queries that constrain nothing, ``(C << k) + Σ_a max_{v in the box} Σ {λ of terms on a of counted
  queries that accept v} < (U + 1) << k``.  This proves the claim by the argument in
  :mod:`parcomp.overlap.value.splitting`.  A query that each row of the box satisfies needs no special care: all its
  weight may sit on any one term, whose attribute then scores it in full.  A query that no row of the box satisfies has
  its weight on a term that rejects the whole box.
- ``{"leaf": -1}``: some attribute has no value left in the box, so there is no row.

Children come after their parent, so the tree has no cycle, and every node but the root is the child of one node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.value import layout
from parcomp.overlap.value._level_kernels import copy_level
from parcomp.overlap.value._proof_log_kernels import DROP, KEEP, LEAF, MEET, MISS, SHARES, VALUE
from parcomp.overlap.value._search_kernels import search_slice
from parcomp.overlap.value.splitting import Splitter, choose_shift, load_levels, make_scratch, typical_weight
from parcomp.overlap.value.value_search import grow_levels, make_task

__all__ = ["prove_upper"]

_SLICE = 10**8


def prove_upper(
    compiled: CompiledWorkload, upper: int, *, size_limit: int = 10**6, work_limit: int = 10**11, root_rounds: int = 200
) -> dict[str, Any] | None:
    """A proof that no row is heavier than ``upper``; None if that is not so or takes too much space or work."""
    shift, unit = choose_shift(compiled.total), typical_weight(compiled)
    levels = load_levels(compiled, shift, traced=True)
    scratch = make_scratch(levels)
    root = Splitter(levels, scratch, shift, unit, root_rounds, warm=False)
    for _ in root.course():
        pass
    levels = grow_levels(levels)
    state = np.zeros(layout.STATE, np.int64)
    state[layout.SHIFT], state[layout.TARGET], state[layout.BEST], state[layout.DEPTH] = shift, upper, 0, 1
    copy_level(levels, 0, 1, scratch, layout.WHOLE)
    log = np.zeros(size_limit, np.int64)
    task = make_task(compiled, unit, log)
    while state[layout.DEPTH] > 0:
        end = int(state[layout.WORK]) + _SLICE
        roomy = search_slice(levels, scratch, state, task, end)
        if state[layout.LOGGED] > size_limit or state[layout.TARGET] > upper or state[layout.WORK] > work_limit:
            return None
        if not roomy:
            levels = grow_levels(levels)
    nodes, vectors = _read(log[: state[layout.LOGGED]], task.terms)
    return {"upper": upper, "shift": shift, "multipliers": vectors, "nodes": nodes}


def _read(log: npt.NDArray[np.int64], terms: int) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The tree and the multiplier vectors of a log: see ``_proof_log_kernels`` for its entries."""
    nodes: list[dict[str, Any]] = []
    vectors: list[list[int]] = []
    # Nodes that still miss their last children, with how to attach each: the next node read belongs to the top entry.
    waiting: list[tuple[dict[str, Any], str]] = []

    def add(node: dict[str, Any]) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def attach(index: int) -> None:
        if waiting:
            parent, place = waiting.pop()
            if place == "children":
                parent["children"].append(index)
            else:
                parent[place] = index

    at = 0
    while at < len(log):
        kind = int(log[at])
        if kind == SHARES:
            vectors.append(log[at + 1 : at + 1 + terms].tolist())
            at += 1 + terms
            continue
        if kind == LEAF:
            attach(add({"leaf": int(log[at + 1])}))
            at += 2
        elif kind in (DROP, KEEP):
            attribute, vector, size = (int(x) for x in log[at + 1 : at + 4])
            node: dict[str, Any] = {
                "attribute": attribute,
                "sets": [log[at + 4 : at + 4 + size].tolist()],
                "children": [],
            }
            at += 4 + size
            attach(add(node))
            leaf = add({"leaf": vector})
            if kind == DROP:
                node["children"].append(leaf)
                waiting.append((node, "children"))
            else:
                node["children"].append(-1)
                node["children"].append(leaf)
                waiting.append((node, "first"))
        elif kind in (MISS, MEET):
            node = {"query": int(log[at + 1]), "in": -1, "out": -1}
            attach(add(node))
            settled, open_side = ("in", "out") if kind == MISS else ("out", "in")
            node[settled] = add({"leaf": int(log[at + 2])})
            waiting.append((node, open_side))
            at += 3
        elif kind == VALUE:
            node = {"attribute": int(log[at + 1]), "sets": [[int(log[at + 2])]], "children": []}
            attach(add(node))
            waiting += [(node, "children"), (node, "children")]
            at += 3
        else:
            node = {"query": int(log[at + 1]), "in": -1, "out": -1}
            attach(add(node))
            waiting += [(node, "out"), (node, "in")]
            at += 2
    for node in nodes:
        if "first" in node:
            node["children"][0] = node.pop("first")
    return nodes, vectors

"""Proofs of an upper bound by few cases, each of which the checker closes by listing rows.

A search of millions of problems is too long to be written down.  But the checker can search too, in a plain way: with
the multipliers of one case it lists the rows that could be too heavy, attribute by attribute
(:mod:`parcomp.certificate.listing`).  So the proof has only the first levels of a search, each case with multipliers of
its own, and a case is divided further until the checker gets through with it.

:func:`prove_by_listing` returns plain integers: ``{"shift": k, "multipliers": [pairs, …], "nodes": [node, …]}``, the
first node being the root, with pairs of an entry of ``compiled.term`` and its multiplier, as those of
:mod:`parcomp.overlap.value.proof`.  A node is one of

- ``{"attribute": a, "cases": [([v, …], i), …]}``: cases by the value of ``a``, each with its node.
- ``{"leaf": i}``: closed by the splitting bound of the multipliers ``i``.
- ``{"listing": i, "order": [a, …], "most": n}``: closed by listing at most n partial rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from parcomp.certificate import Column, UnlistableError, list_rows
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.lean import layout
from parcomp.overlap.lean._proof_kernels import enter, settle
from parcomp.overlap.lean._search_kernels import begin, improve_root
from parcomp.overlap.lean.lean_search import lay_root, load_lanes, make_stack
from parcomp.overlap.tree import layout as tree

__all__ = ["prove_by_listing"]

_SHARP, _FINE = 23, 40
"""Multipliers sum to less than two to this: where they fit, the checker is faster with the first."""

_LEAST_SHIFT = 6
"""They are no coarser than this many bits."""

_ROOT_SWEEPS = 60

_MOST_ROWS, _MOST_WORK = 1 << 18, 1 << 35
"""What the checker is given for one case."""


class _TooLongError(Exception):
    """The proof exceeds its limits, or there is none."""


def prove_by_listing(
    compiled: CompiledWorkload,
    upper: int,
    *,
    size_limit: int,
    work_limit: int,
    most_rows: int = _MOST_ROWS,
    go_on: Callable[[], None] = lambda: None,
) -> dict[str, Any] | None:
    """A proof that no row is heavier than ``upper``; None if that is not so or takes too much space or work.

    ``size_limit`` is for the numbers of the proof, ``work_limit`` for the checker's work on it.  ``go_on`` is called
    now and then, and ends it by an error.
    """
    try:
        # As the checker does it.
        with threadpool_limits(1, "blas"):
            proof = _Proof(compiled, upper, size_limit, work_limit, most_rows, go_on)
            proof.close(1)
    except _TooLongError:
        return None
    return {"shift": proof.shift, "multipliers": proof.vectors, "nodes": proof.nodes}


class _Proof:
    """The nodes so far, and the stack with the levels from the root to the case in work."""

    def __init__(
        self,
        compiled: CompiledWorkload,
        upper: int,
        size_limit: int,
        work_limit: int,
        most_rows: int,
        go_on: Callable[[], None],
    ) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.vectors: list[npt.NDArray[np.int64]] = []
        bits = max(1, compiled.total).bit_length()
        self.shift = _SHARP - bits if _SHARP - bits >= _LEAST_SHIFT else max(0, _FINE - bits)
        self._need = (upper + 1) << self.shift
        self._compiled, self._most_rows = compiled, most_rows
        self._room, self._work = size_limit, work_limit
        self._go_on = go_on
        # Cases with as much between their bound and what is needed are not worth trying.
        self._hopeless: int | None = None
        self._lanes = load_lanes(compiled)
        self._stack = make_stack(compiled, self._lanes)
        lay_root(compiled, self._stack, self._lanes, self.shift)
        improve_root(self._lanes, self._stack, _ROOT_SWEEPS)
        begin(self._lanes, self._stack, np.zeros(tree.STATE, np.int64))
        self._start = compiled.start[:-1].astype(np.int64)
        self._attribute = compiled.mask_attribute[compiled.term].astype(np.int64)
        self._accepts = [self._lanes.lanes[begin : begin + size] != 0 for begin, size in self._masks()]

    def _masks(self) -> list[tuple[int, int]]:
        masks = self._lanes.masks
        return list(zip(masks[:, layout.LANE_AT].tolist(), masks[:, layout.SIZE].tolist(), strict=True))

    def close(self, level: int) -> int:
        """Write a proof of the case at a level; its first node."""
        self._go_on()
        bound = int(settle(self._lanes, self._stack, level, self._need))
        vector, terms = self._write_shares(level)
        if bound < self._need:
            return self._write({"leaf": vector})
        slack = bound - self._need
        if self._hopeless is None or slack < self._hopeless:
            found = self._listing(level, vector, terms)
            if found is not None:
                return found
            self._hopeless = slack
        return self._cases(level, vector)

    def _cases(self, level: int, vector: int) -> int:
        """Cases by the value of an attribute; all that the level's own multipliers close are one."""
        branch = int(self._stack.head[level, layout.BRANCH])
        if branch < 0:
            raise _TooLongError
        scores = self._scores(level, branch)
        slack = int(self._stack.head[level, layout.BOUND]) - int(scores.max()) - self._need
        node: dict[str, Any] = {"attribute": branch, "cases": []}
        number = self._write(node)
        live = np.flatnonzero(scores >= 0)
        closed = live[scores[live] + slack < 0].tolist()
        if closed:
            node["cases"].append((closed, self._write({"leaf": vector})))
        for value in np.setdiff1d(live, closed).tolist():
            enter(self._lanes, self._stack, level, branch, value)
            node["cases"].append(([value], self.close(level + 1)))
        self._count(2 * len(live))
        return number

    def _listing(self, level: int, vector: int, terms: npt.NDArray[np.int64]) -> int | None:
        """A leaf that the checker closes by listing rows; None if that takes too long."""
        columns, order = self._columns(level, terms)
        committed = int(self._stack.head[level, layout.COMMITTED])
        short = np.zeros(int(self._stack.head[level, layout.QUERIES]), np.int64)
        size = max(1, len(short) * sum(column.accepts.shape[1] for column in columns))
        most = max(1, min(self._most_rows, _MOST_WORK // size))
        try:
            listing = list_rows(columns, short, self._need - committed, most)
        except UnlistableError:
            self._spend(most * size >> 1)
            return None
        self._spend(listing.work)
        if listing.heaviest is not None:
            raise _TooLongError
        # The checker may come to a few rows more, since it rounds in another order.
        self._count(len(order) + 4)
        return self._write({"listing": vector, "order": order, "most": 2 * listing.rows + 1_000})

    def _columns(self, level: int, terms: npt.NDArray[np.int64]) -> tuple[list[Column], list[int]]:
        """The attributes of open queries as the checker will list by them, and their order.

        First comes what would be branched on, then what tells most rows apart: where a value scores far below the best.
        """
        stack, queries = self._stack, int(self._stack.head[level, layout.QUERIES])
        first = stack.first[level, : queries + 1]
        query = np.repeat(np.arange(queries), np.diff(first))
        columns: dict[int, Column] = {}
        gaps = {}
        for attribute in np.unique(self._attribute[terms]).tolist():
            scores = self._scores(level, attribute)
            live = np.flatnonzero(scores >= 0)
            accepts, given = np.ones((queries, len(live)), np.bool_), np.zeros(queries, np.int64)
            slots = np.flatnonzero(self._attribute[terms] == attribute)
            for slot in slots.tolist():
                accepts[query[slot]] = self._accepts[stack.mask[level, slot]][live]
            given[query[slots]] = stack.share[level, slots]
            columns[attribute] = Column(accepts, given)
            gaps[attribute] = float(np.mean(scores.max() - scores[live]))
        branch = int(stack.head[level, layout.BRANCH])
        order = sorted(columns, key=lambda attribute: (attribute != branch, -gaps[attribute]))
        return [columns[attribute] for attribute in order], order

    def _scores(self, level: int, attribute: int) -> npt.NDArray[np.int64]:
        begin, end = self._lanes.value_at[attribute : attribute + 2]
        return np.asarray(self._stack.score[level, begin:end])

    def _write_shares(self, level: int) -> tuple[int, npt.NDArray[np.int64]]:
        """Keep the multipliers of a level: the number of their list, and the term of each slot of the level.

        Levels do not say which query is which, but have those in order that are open in their box: that some row
        satisfies and some does not.  Slots are the terms of these that reject a value of the box.
        """
        live = self._live(level)
        met = np.array([some[here].any() for some, here in self._inside(live)], np.bool_)
        loose = np.array([some[here].all() for some, here in self._inside(live)], np.bool_)
        term, counts = self._compiled.term, np.diff(self._compiled.start)
        some = counts > 0
        dead, slots = np.zeros(len(counts), np.bool_), ~loose[term]
        dead[some] = np.logical_or.reduceat(~met[term], self._start[some])
        terms = np.flatnonzero(slots & ~np.repeat(dead, counts))
        shares = self._stack.share[level, : len(terms)]
        self.vectors.append(np.stack([terms, shares], axis=1)[shares > 0])
        self._count(2 * int((shares > 0).sum()))
        return len(self.vectors) - 1, terms

    def _live(self, level: int) -> list[npt.NDArray[np.bool_]]:
        """The values of each attribute that are left at a level."""
        return [self._scores(level, attribute) >= 0 for attribute in range(self._compiled.attribute_count)]

    def _inside(self, live: list[npt.NDArray[np.bool_]]) -> list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
        """What each mask accepts, beside the values of its attribute that are left."""
        of = self._compiled.mask_attribute.tolist()
        return [(accepts, live[attribute]) for accepts, attribute in zip(self._accepts, of, strict=True)]

    def _write(self, node: dict[str, Any]) -> int:
        self._count(1)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _count(self, numbers: int) -> None:
        self._room -= numbers
        if self._room < 0:
            raise _TooLongError

    def _spend(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise _TooLongError

"""The heaviest row of a box, by listing: partial rows grow by one attribute after the other.

The attributes have an order a_1, …, a_n that holds all those of which a counted query rejects a cell of the box.  A
*partial row* of step i has a cell of each of the first i, and its queries are the counted ones that accept these cells.
Multipliers λ[q, a] ≥ 0 and shortfalls r[q] ≥ 0 with s·w_q ≤ r[q] + Σ_{a after step i} λ[q, a] bound what becomes of it:
a row that continues it weighs, s times, at most

    Σ_q r[q] + Σ_{a after step i} max_v Σ_{q accepts v} λ[q, a],

the sums being over the queries of the partial row (:mod:`parcomp.certificate.shares` has the argument).  Where that is
less than what a row has to weigh to be of interest, the partial row is dropped, and with it what continues it.  The
others go on with each cell of the next attribute that, by the same sum with its own score for the best one, is not
ruled out.  Partial rows with the same queries lead to rows of the same weight, so one of them is enough.  At the last
step nothing is to be scored any more, and what is left is the weight itself.

What a query had on an attribute is shared out, when the attribute has its cell, to those that come after it and of
which the query rejects a cell; without any, it is part of the shortfall.  All numbers are whole, and their sum does
not grow from step to step: floats that hold the sum at the beginning hold all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Column", "Flags", "Listing", "Numbers", "UnlistableError", "list_rows"]

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
"""Whole numbers, Python's where they are too large for others."""

_HALF, _WHOLE = 2**24, 2**53
"""Whole numbers below these are exact as floats of 32 and of 64 bits."""

_BLOCK = 1 << 23
"""So many flags, or scores, are worked out at once."""

_ROOM = 1 << 28
"""The most scores of queries at cells, over all steps."""


class UnlistableError(Exception):
    """There are more partial rows than were allowed, or too many queries and cells to score them by."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """An attribute: which cells each query accepts, and the multiplier that it has there."""

    accepts: Flags
    given: Numbers


@dataclass(frozen=True, slots=True)
class Listing:
    """How many partial rows were listed, the work this took, and the most that a row reaches, if one is left."""

    rows: int
    work: int
    heaviest: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What is scored at a step: by query, its shortfall and then its multiplier at each cell that it accepts.

    ``ends`` says where the cells of each attribute end; those of the next attribute come first.
    """

    scores: npt.NDArray[Any]
    ends: list[int]
    accepts: Flags


def list_rows(columns: Sequence[Column], short: Numbers, least: int, most: int) -> Listing:
    """List the rows that reach ``least``, s times the weight.

    ``columns`` are in the order in which partial rows grow, and ``short`` are the shortfalls.  More partial rows than
    ``most`` are an :class:`UnlistableError`.
    """
    total = int(short.sum()) + sum(int(column.given.sum()) for column in columns)
    if least > total or not all(column.accepts.shape[1] for column in columns):
        return Listing(0, 0, None)
    if len(short) * (1 + sum(column.accepts.shape[1] for column in columns)) * (len(columns) + 1) > _ROOM:
        raise UnlistableError("too much room")
    steps = _steps(columns, short, np.float32 if total < _HALF else np.float64 if total < _WHOLE else np.object_)
    rows, work = 0, 0
    heaviest: int | None = None
    waiting = [(0, np.ones((1, len(short)), np.bool_))]
    while waiting:
        number, alive = waiting.pop()
        step = steps[number]
        widest = max(step.scores.shape[1], step.accepts.shape[1] * len(short), 1)
        height = max(1, _BLOCK // widest)
        if len(alive) > height:
            waiting.append((number, alive[height:]))
            alive = alive[:height]
        rows += len(alive)
        work += len(alive) * step.scores.size
        if rows > most:
            raise UnlistableError(f"more than {most:,} partial rows")
        scores = alive.astype(step.scores.dtype) @ step.scores
        reached = scores[:, 0].copy()
        rest = [scores[:, begin:end] for begin, end in zip([1, *step.ends], step.ends, strict=False)]
        for one in rest:
            reached += one.max(axis=1)
        if not rest:
            reached = reached[reached >= least]
            if len(reached):
                heaviest = max(heaviest or 0, int(reached.max()))
            continue
        best = rest[0].max(axis=1)
        row, cell = np.nonzero(reached[:, None] - (best[:, None] - rest[0]) >= least)
        if len(row):
            waiting.append((number + 1, _different(alive[row] & step.accepts.T[cell])))
    return Listing(rows, work, heaviest)


def _steps(columns: Sequence[Column], short: Numbers, dtype: type[Any]) -> list[_Step]:
    """The multipliers of each step, beginning with those that are given where a query rejects a cell."""
    rejects = [np.asarray(~column.accepts.all(axis=1), np.bool_) for column in columns]
    shares = [np.where(some, column.given, 0) for some, column in zip(rejects, columns, strict=True)]
    loose = short + sum((np.where(some, 0, one.given) for some, one in zip(rejects, columns, strict=True)), 0 * short)
    fixed = np.zeros_like(short)
    steps = []
    for number in range(len(columns) + 1):
        loose, shares = _share_out(loose, rejects[number:], shares)
        fixed = fixed + loose
        scores = [fixed[:, None]]
        scores += [one[:, None] * column.accepts for one, column in zip(shares, columns[number:], strict=True)]
        accepts = columns[number].accepts if number < len(columns) else np.zeros((len(short), 0), np.bool_)
        ends = np.cumsum([1, *(one.shape[1] for one in scores[1:])])[1:].tolist()
        steps.append(_Step(np.concatenate(scores, axis=1).astype(dtype), ends, accepts))
        loose, shares = (shares[0], shares[1:]) if shares else (loose, shares)
    return steps


def _share_out(loose: Numbers, rejects: Sequence[Flags], shares: list[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """What is loose in equal parts on the shares of each query; all of it is left where a query has none."""
    count = sum((some.astype(np.int64) for some in rejects), np.zeros(len(loose), np.int64))
    larger = []
    for some, share in zip(rejects, shares, strict=True):
        part = np.where(some, loose // np.maximum(count, 1), 0)
        larger.append(share + part)
        loose = loose - part
        count = count - some
    return loose, larger


def _different(flags: Flags) -> Flags:
    """The rows of flags, each once."""
    packed = np.packbits(flags, axis=1)
    if not packed.size:
        return flags[:1]
    _, first = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_index=True)
    return flags[first]

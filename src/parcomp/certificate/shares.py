"""Multipliers of a certificate: each query's weight shared out over attributes, and what that says of rows of a box.

With multipliers λ[q, a] ≥ 0 over a scale s, a row with values v_a satisfies query q only if q accepts each v_a, so

    s·w_q ≤ Σ_a λ[q, a]·[q accepts v_a] + max(0, s·w_q - Σ_a λ[q, a]).

Summed over the counted queries that a row satisfies, s times its weight is at most R + Σ_a S_a(v_a), where R is the sum
of the shortfalls on the right and S_a(v) = Σ_q λ[q, a]·[q accepts v] the *score* of a value.

All sums are exact: they are whole numbers below 2**53, which floats hold, or else sums of Python's integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.certificate.boxes import Cells, Flags, Numbers, Place, Space
from parcomp.certificate.listing import Column, UnlistableError, list_rows
from parcomp.errors import CertificateError

__all__ = ["Shares", "whole"]

Sums = npt.NDArray[Any]
"""Whole numbers: as floats where all are below 2**53, and as Python's integers otherwise."""

_EXACT = 2**53

_FEW = 64
"""So many cells of an attribute are looked at first."""


def whole(value: object) -> int:
    """A whole number of a certificate, and nothing that Python would take for one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CertificateError(f"{value!r} is not a whole number")
    return value


def _all_whole(values: list[Any]) -> list[int]:
    """The same of many, which are looked at one by one only if there is something wrong with them."""
    if set(map(type, values)) <= {int} and min(values, default=0) >= 0:
        return values
    return [whole(value) for value in values]


def _columns(written: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[Any], Sequence[Any], object]]:
    """By attribute, its queries, their multipliers, and what these are multiples of; in either way of writing them."""
    if "shares" in written:
        return ((name, *lists, written["unit"]) for name, lists in written["shares"].items())
    columns: dict[str, tuple[list[Any], list[Any]]] = {}
    for query, shares in written["queries"]:
        for name, share in shares.items():
            queries, amounts = columns.setdefault(name, ([], []))
            queries.append(query)
            amounts.append(share)
    return ((name, *lists, 1) for name, lists in columns.items())


def _column(
    space: Space, name: str, queries: Sequence[Any], amounts: Sequence[Any], unit: object
) -> tuple[int, list[int], list[int]]:
    """An attribute, its queries and their multipliers, of which there are as many."""
    numbers, times = _all_whole(list(queries)), whole(unit)
    shares = [times * amount for amount in _all_whole(list(amounts))]
    if max(numbers, default=0) >= space.count:
        raise CertificateError(f"there is no query {max(numbers)}; the workload has {space.count}")
    if len(numbers) != len(shares):
        raise CertificateError(f"{name!r} has {len(numbers)} queries and {len(shares)} multipliers")
    return space.workload.domain.index(name), numbers, shares


class Shares:
    """One list of multipliers: ``{"scale": s, "unit": u, "shares": {name: [[q, …], [x, …]]}}``, where λ[q, name] = u·x.

    What a query has several times on an attribute adds up.  ``{"scale": s, "queries": [[q, {name: λ, …}], …]}`` says
    the same query by query.
    """

    def __init__(self, space: Space, weights: Sequence[int], written: Mapping[str, Any]) -> None:
        self.scale = whole(written["scale"])
        if self.scale < 1:
            raise CertificateError("the scale of the multipliers must be positive")
        self._space = space
        columns = [_column(space, *column) for column in _columns(written)]
        given_in_all = [share for _, _, shares in columns for share in shares]
        # Costs come in units of which they are large multiples; what all numbers share is left out of the sums.
        self._factor = gcd(self.scale * gcd(*weights), *given_in_all) or 1
        largest = self.scale * sum(weights) + sum(given_in_all)
        self._dtype: type[Any] = np.float64 if largest // self._factor < _EXACT else np.object_
        self._given: dict[int, tuple[Numbers, Sums]] = {}
        short = self._array([self.scale * weight for weight in weights])
        for attribute, queries, shares in columns:
            self._given[attribute] = np.array(queries, np.int64), self._array(shares)
            np.subtract.at(short, *self._given[attribute])
        self._short = np.maximum(short, 0)

    def _array(self, numbers: Sequence[int]) -> Sums:
        array = np.empty(len(numbers), self._dtype)
        array[:] = [number // self._factor for number in numbers]
        return array

    def bound(self, place: Place) -> int:
        """R + Σ_a max_v S_a(v) over the box and the counted queries: at least the scale times the weight of any row."""
        best = [scores.max(initial=0) for _, scores in self._scores(place).values()]
        return (int(self._short[place.counted].sum()) + sum(int(score) for score in best)) * self._factor

    def fix(self, place: Place, least: int) -> Place:
        """What remains of a place for rows that weigh ``least`` or more.

        Let B_a be the best score of an attribute, and T = R + Σ_a B_a.

        - A row with value v of an attribute scores at most T - (B_a - S_a(v)).
        - A row that satisfies a query has a value that the query accepts everywhere.  With I_a the best score of those,
          it scores at most T - Σ_a (B_a - I_a).
        - A row that does not satisfies none of the queries with the same predicates, so it makes no difference to it
          whether these are counted.  With λ_a what they have on an attribute together, r their shortfall and O_a the
          best score of values that they reject, it scores at most T - r - Σ_a (B_a - max(O_a, I_a - λ_a)).

        What scores less than the scale times ``least`` does not weigh that much.  So such values are left out.  What is
        said of queries holds of the rows that remain, with the best scores of the values that remain: those of the
        second kind are not counted any more, and the box is cut down to what those of the third kind cover.
        """
        space, groups = self._space, self._space.groups
        scores = self._scores(place)
        best = {attribute: of_cells.max(initial=0) for attribute, (_, of_cells) in scores.items()}
        slack = self._short[place.counted].sum() + sum(best.values()) - -(-least * self.scale // self._factor)
        counted = np.unique(groups[place.counted])
        one_of = space.one_of[counted]
        short = self._by_group(place.counted.nonzero()[0], self._short[place.counted])
        lost_with, lost_without = np.zeros(len(counted), self._dtype), short[counted]
        keep: dict[int, Flags] = {}
        for attribute, (left, of_cells) in scores.items():
            kept = of_cells >= best[attribute] - slack
            cells, score = space.cells(attribute), of_cells[kept]
            keep[attribute] = np.zeros(len(cells.first), np.bool_)
            keep[attribute][left[kept]] = True
            inside, outside = (
                extreme[cells.predicate[one_of]] for extreme in self._extremes(cells, place, left[kept], score)
            )
            queries, amounts = self._given[attribute]
            given = self._by_group(queries, np.where(place.counted[queries], amounts, 0))
            lost_with += best[attribute] - inside
            lost_without += best[attribute] - np.maximum(outside, inside - given[counted])
        missed = np.zeros(len(space.one_of), np.bool_)
        missed[counted[lost_with > slack]] = True
        for query in one_of[lost_without > slack].tolist():
            for attribute, covered in space.coverage(query).items():
                keep[attribute] = keep[attribute] & covered if attribute in keep else covered
        return space.cut(Place(place.box, place.counted & ~missed[groups]), keep)

    def _by_group(self, queries: Numbers, amounts: Sums) -> Sums:
        """What queries with the same predicates have together."""
        total = np.zeros(len(self._space.one_of), self._dtype)
        np.add.at(total, self._space.groups[queries], amounts)
        return total

    def list_rows(self, place: Place, order: Sequence[int], least: int, most: int) -> int:
        """The weight of the heaviest row of a place if it weighs ``least`` or more, and 0 otherwise.

        At most so many partial rows are listed (:mod:`parcomp.certificate.listing`), which grow by the attributes of
        ``order`` and then by all others that a counted query constrains or has multipliers on.
        """
        space = self._space
        kind = np.int64 if self._dtype is np.float64 else self._dtype
        # Queries with the same predicates are one.
        counted = np.unique(space.groups[place.counted])
        columns = []
        for attribute in dict.fromkeys([*order, *space.constrained(place.counted), *self._given]):
            cells, left = space.cells(attribute), space.left(attribute, place.box)
            queries, amounts = self._given.get(attribute, (np.zeros(0, np.int64), np.zeros(0, self._dtype)))
            given = self._by_group(queries, np.where(place.counted[queries], amounts, 0))[counted]
            accepts = cells.accepts[cells.predicate[space.one_of[counted]][:, None], left]
            columns.append(Column(accepts, given.astype(kind)))
        short = self._by_group(place.counted.nonzero()[0], self._short[place.counted])[counted].astype(kind)
        reached = -(-least * self.scale // self._factor)
        try:
            listing = list_rows(columns, short, reached, most)
        except UnlistableError as error:
            raise CertificateError(f"to list the rows takes {error}") from None
        return (listing.heaviest or 0) * self._factor // self.scale

    def _extremes(self, cells: Cells, place: Place, left: Numbers, score: Sums) -> tuple[Sums, Sums]:
        """For each counted predicate the best score of cells that it accepts, and of those it rejects; -1 for none.

        The first accepted one of cells that descend in score is the best.  So the few with the best scores are looked
        at by all predicates, and the others by those alone that have not found one.
        """
        rows = cells.asked(place.counted)
        few = np.argpartition(-score, _FEW)[:_FEW] if len(score) > _FEW else np.arange(len(score))
        few = few[np.argsort(-score[few])]
        both = []
        for accepted in (True, False):
            best = np.full(len(cells.accepts), -1, self._dtype)
            found = _first(cells.accepts, rows, left[few], accepted)
            best[rows[found >= 0]] = score[few[found[found >= 0]]]
            missed = rows[found < 0]
            if len(few) < len(score) and len(missed):
                flags = cells.accepts[missed[:, None], left] == accepted
                best[missed] = np.where(flags, score, -1).max(axis=1)
            both.append(best)
        return both[0], both[1]

    def _scores(self, place: Place) -> dict[int, tuple[Numbers, Sums]]:
        """The cells that are left of each attribute with multipliers, and the score of each."""
        scores = {}
        for attribute, (queries, amounts) in self._given.items():
            cells, left = self._space.cells(attribute), self._space.left(attribute, place.box)
            counted = place.counted[queries]
            by_predicate = np.zeros(len(cells.accepts), self._dtype)
            np.add.at(by_predicate, cells.predicate[queries[counted]], amounts[counted])
            rows = by_predicate.nonzero()[0]
            inside = cells.accepts[rows[:, None], left] if attribute in place.box else cells.accepts[rows]
            scores[attribute] = left, by_predicate[rows] @ inside.astype(self._dtype)
        return scores


def _first(accepts: Flags, rows: Numbers, columns: Numbers, accepted: bool) -> Numbers:
    """The first of the columns in which each row has this flag, as a position among them; -1 if there is none."""
    if not len(columns):
        return np.full(len(rows), -1, np.int64)
    flags = accepts[rows[:, None], columns]
    found: Numbers = flags.argmax(axis=1) if accepted else flags.argmin(axis=1)
    found[flags[np.arange(len(rows)), found] != accepted] = -1
    return found

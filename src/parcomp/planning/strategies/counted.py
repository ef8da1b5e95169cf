"""Strategies of atoms: count the classes of rows that no query tells apart, and add them up.

A row is in one atom.  So each atom may be counted with the whole budget, and a query is the sum of its atoms.  All
answers then agree with each other: what is the union of others is their sum.  A query of many atoms gets the noise of
all of them, so that atoms pay where queries overlap a lot, and less so under measures whose noise adds up quickly.

Parts that share no attribute may be counted together or one by one, with a share of the budget each; parts that do not
overlap are counted one by one, each with all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parcomp.planning.accuracy import Floats, Units, error_exponent, expected_errors
from parcomp.planning.strategies.atoms import TIME_IS_UP, Atoms, atoms_or_reason
from parcomp.planning.strategies.found import NOT_BETTER, TOO_LITTLE, Found, Grouped, Histogram, Independent
from parcomp.planning.strategies.parts import Part
from parcomp.planning.strategies.sums import errors_of_sums

__all__ = ["counted_strategy"]


_ROUNDING = 1e-8
"""Noise of its own has to be better by more than what errors of sums are rounded up by."""


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """How a part is answered: by its atoms, by noise for these units on each query, or part by part.

    ``value`` is the sum of its errors, by importance, if it had the whole budget.  ``reason`` says why atoms are no
    choice, where they are none.
    """

    part: Part
    value: float
    atoms: Atoms | None = None
    units: Units | None = None
    below: tuple[_Choice, ...] = ()
    reason: str = ""


def counted_strategy(
    grouped: Grouped, independent: Independent, *, compare: bool, deadline: float = math.inf
) -> Found | str:
    """The best strategy of atoms, or why nothing is counted by atoms, in words.

    With ``compare``, a part gets independent noise where that has less error; without, only where its atoms are too
    many to be listed.
    """
    choice = _best(grouped.part, grouped, independent, compare, deadline)
    if isinstance(choice, str):
        return choice
    units = np.zeros(len(grouped.weights), np.int64)
    errors = np.zeros(len(grouped.weights))
    histograms = []
    for leaf, share in _shared(choice, grouped.units, error_exponent(grouped.measure)):
        if share < 1:
            return TOO_LITTLE
        positions = grouped.positions(leaf.part.queries)
        if leaf.atoms is not None:
            group = grouped.group_of[np.searchsorted(grouped.queries, positions)]
            own = np.searchsorted(leaf.part.queries, group)
            errors[positions] = errors_of_sums(grouped.measure, share, leaf.atoms.sizes())[own]
            histograms.append(Histogram(positions, _spread(leaf.atoms, own), share))
        else:
            assert leaf.units is not None
            # In Python's integers, which do not overflow; rounded down, so that no row costs more than the share.
            scaled = [one * share // grouped.units for one in leaf.units.tolist()]
            if min(scaled) < 1:
                return TOO_LITTLE
            units[positions] = scaled
            errors[positions] = expected_errors(grouped.measure, units[positions])
    if not histograms:
        return choice.reason
    alone = bool((units > 0).any())
    return Found(
        name="atoms+independent" if alone else "atoms",
        errors=errors,
        loss_units=grouped.units,
        units=units if alone else None,
        histograms=tuple(histograms),
    )


def _best(part: Part, grouped: Grouped, independent: Independent, compare: bool, deadline: float) -> _Choice | str:
    """The choice of least value, or why there is none; independent noise for the whole is for others to plan."""
    options = []
    reason = ""
    if part.kind != "max":
        atoms = atoms_or_reason(part.compiled, deadline)
        if isinstance(atoms, str):
            reason = atoms
        else:
            errors = errors_of_sums(grouped.measure, grouped.units, atoms.sizes())
            options.append(_Choice(part, float(grouped.importance[part.queries] @ errors), atoms))
    if part.kind == "leaf" and part is not grouped.part and (compare or not options):
        positions = grouped.positions(part.queries)
        alone = independent(positions)
        if alone is None:
            reason = TIME_IS_UP
        else:
            units, errors = alone
            value = float(grouped.weights[positions] @ errors) * (1 + _ROUNDING)
            options.append(_Choice(part, value, units=units, reason=reason or NOT_BETTER))
    if part.kind != "leaf":
        found = [_best(one, grouped, independent, compare, deadline) for one in part.parts]
        below = tuple(one for one in found if not isinstance(one, str))
        reason = next(filter(None, map(_reason_of, found)), NOT_BETTER)
        values = np.array([one.value for one in below])
        power = 1 / (1 + error_exponent(grouped.measure)) if part.kind == "sum" else 1.0
        if len(below) == len(found):
            options.append(_Choice(part, float((values**power).sum() ** (1 / power)), below=below, reason=reason))
    return min(options, key=lambda one: one.value) if options else reason


def _reason_of(choice: _Choice | str) -> str:
    return choice if isinstance(choice, str) else choice.reason


def _shared(choice: _Choice, units: int, exponent: float) -> Iterator[tuple[_Choice, int]]:
    """The leaves of a choice, each with its share of the budget.

    Parts that do not overlap take all of it.  Parts that share no attribute take shares that add up to it: errors fall
    as cost^(−p), so the best shares are in proportion to value^(1/(1 + p)).
    """
    if not choice.below:
        yield choice, units
        return
    if choice.part.kind == "max":
        for one in choice.below:
            yield from _shared(one, units, exponent)
        return
    wanted: Floats = np.array([one.value for one in choice.below]) ** (1 / (1 + exponent))
    left = units
    for number, one in enumerate(choice.below):
        last = number == len(choice.below) - 1
        share = left if last else min(left, int(units * float(wanted[number] / wanted.sum())))
        left -= share
        yield from _shared(one, share, exponent)


def _spread(atoms: Atoms, group_of: np.ndarray) -> Atoms:
    """The atoms of queries, given those of their groups: an atom of a group is one of each of its queries."""
    order = np.argsort(group_of, kind="stable")
    if np.array_equal(group_of[order], np.arange(atoms.query_count)):
        return Atoms(*_sorted(atoms.start, order[atoms.index]), len(group_of))
    first = np.searchsorted(group_of[order], np.arange(atoms.query_count + 1))
    size = np.diff(first)[atoms.index]
    ends = np.concatenate(([0], np.cumsum(size)))
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], size) + np.repeat(first[atoms.index], size)
    return Atoms(*_sorted(ends[atoms.start], order[place]), len(group_of))


def _sorted(start: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists with their entries in ascending order."""
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return start, index[np.lexsort((index, owner))]

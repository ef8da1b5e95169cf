"""Bands: what a key of GROUP BY makes of an attribute's values, such as decades of ages or months of dates.

A row's label is a function of its value on one attribute, so the groups of a label are disjoint, and what is grouped by
is still that attribute.  A level of the domain is bands too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from parcomp.errors import PredicateError, shown
from parcomp.model.attribute import Value
from parcomp.model.predicate import Predicate

__all__ = ["Bands"]


@dataclass(frozen=True, slots=True)
class Bands:
    """Labels in the order of the groups, and of each the values that bear it.

    No value bears two labels.  One that bears none has no group; where null is to be a group it has the label None.
    """

    labels: tuple[Value, ...]
    members: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.members):
            raise PredicateError("each label of some bands has the values that bear it")
        for label in self.labels:
            if not isinstance(label, str | int | float | None) or (isinstance(label, float) and not isfinite(label)):
                raise PredicateError(f"a label is a text, a finite number, true, false or null, not {shown(label)}")
        told_apart = {(type(label), label) for label in self.labels}
        if len(told_apart) < len(self.labels):
            raise PredicateError("two bands have the same label; values with one label are one band")
        runs = sorted(run for member in self.members for run in member.runs())
        if any(run[1] > following[0] for run, following in pairwise(runs)):
            raise PredicateError("a value is in two bands")

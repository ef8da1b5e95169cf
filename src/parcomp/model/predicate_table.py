"""The distinct predicates of a workload, by number.

A table may hold its predicates or make them when they are looked at.  Besides the predicates themselves it answers
what solvers ask of many at once: with millions of predicates over large attributes there is neither memory for
their bits nor time to go through them, while a value that two of them share is found at a glance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
import numpy.typing as npt

from parcomp.model.predicate import Predicate

__all__ = ["InternedPredicates", "PredicateTable"]

Numbers = npt.NDArray[np.integer]


class PredicateTable:
    """Predicates by number, and answers about many of them; arrays of one call are of one length.

    ``attributes`` are the positions of the attributes that the predicates are about.
    """

    predicates: Sequence[Predicate]
    attributes: Sequence[int] | npt.NDArray[np.int32]

    def contradictory(self) -> npt.NDArray[np.bool_]:
        """Which of the predicates are contradictions."""
        return np.array([predicate.is_contradiction for predicate in self.predicates], np.bool_)

    def flags(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """For each of some predicates of one attribute, one boolean for each value."""
        return np.array([self.predicates[number].flags() for number in numbers.tolist()], np.bool_)

    def overlapping(self, first: Numbers, second: Numbers) -> npt.NDArray[np.bool_]:
        """Whether ``first[i]`` and ``second[i]``, predicates of one attribute, share a value."""
        pairs, which = np.unique(np.sort(np.column_stack((first, second)), axis=1), axis=0, return_inverse=True)
        used, places = np.unique(pairs, return_inverse=True)
        places = places.reshape(pairs.shape)
        counts = np.array([self.predicates[number].count for number in used.tolist()], np.int64)
        sizes = np.array([self.predicates[number].size for number in pairs[:, 0].tolist()], np.int64)
        # Two sets that hold more values together than there are share one; only the other pairs are looked at.
        overlap: npt.NDArray[np.bool_] = counts[places].sum(axis=1) > sizes
        for position in np.flatnonzero(~overlap).tolist():
            one, other = pairs[position].tolist()
            overlap[position] = not self.predicates[one].isdisjoint(self.predicates[other])
        return np.asarray(overlap[which.ravel()], np.bool_)

    def accepting(self, numbers: Numbers, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether predicate ``numbers[i]`` accepts ``codes[i]``."""
        pairs = zip(numbers.tolist(), codes.tolist(), strict=True)
        return np.fromiter((code in self.predicates[number] for number, code in pairs), np.bool_, len(numbers))

    def shared_codes(self, numbers: Numbers, start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A code that all of ``numbers[start[i]:start[i + 1]]``, predicates of one attribute, accept; -1 if none."""
        codes = np.full(len(start) - 1, -1, np.int64)
        for group in range(len(codes)):
            members = numbers[start[group] : start[group + 1]].tolist()
            common = reduce(and_, (self.predicates[number] for number in members))
            if not common.is_contradiction:
                codes[group] = common.first()
        return codes


class InternedPredicates(PredicateTable):
    """Predicates of all attributes, each once, numbered in the order they came."""

    predicates: list[Predicate]
    attributes: list[int]

    def __init__(self) -> None:
        self.predicates, self.attributes = [], []
        self._numbers: dict[tuple[int, Predicate], int] = {}

    def number(self, attribute: int, predicate: Predicate) -> int:
        """The number of a predicate, which is entered if it is not there yet."""
        number = self._numbers.setdefault((attribute, predicate), len(self.predicates))
        if number == len(self.predicates):
            self.predicates.append(predicate)
            self.attributes.append(attribute)
        return number

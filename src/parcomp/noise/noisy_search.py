"""A search by noisy numbers: where a rising function of whole numbers stops being negative.

Quantiles are found so.  The function tells for each value whether enough rows have it or less; it is asked for at the
middle of what is left, with noise, and the sign of the noisy number says which half goes on.  After ⌈log₂ n⌉ numbers
one value of n is left: the value that is found.

*How far off it may be* is told by the numbers that are beyond a ``width`` which noise hardly ever exceeds: below minus
the width the value sought is above, from the width on it is not.  On the way the search may have met such a number on
one side only, as it comes from there.  So it goes on for a few numbers more, each of them between the outermost number
that says nothing and the innermost that does, on the side where this is further.

*Privacy.*  Which number is asked for depends on the noisy numbers before it and on nothing else of the data, each has
noise of its own, and a row changes each by no more than its noise is made for: adaptive composition, in which the costs
of all numbers add up (``docs/proofs/quantiles.md``).  What was visited follows from the noisy numbers and the width
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import parcomp.noise
from parcomp.noise.mechanism import Mechanism

__all__ = ["Course", "halvings_of", "search", "searched", "steps_of"]

_FEW_HALVINGS = 2
_SOME_HALVINGS = 6
"""Up to so many halvings nothing is asked beyond them, and up to so many one number is; else two."""


def halvings_of(size: int) -> int:
    """The most numbers that it takes to find one of so many values; 1 at least.

    >>> [halvings_of(size) for size in (1, 2, 3, 4, 5, 120)]
    [1, 1, 2, 2, 3, 7]
    """
    return max(1, (size - 1).bit_length())


def steps_of(size: int) -> int:
    """The most numbers that a search among so many values asks for; 1 at least.

    >>> [steps_of(size) for size in (1, 2, 3, 4, 5, 120, 1_000)]
    [1, 1, 2, 2, 4, 9, 12]
    """
    halvings = halvings_of(size)
    return halvings + (halvings > _FEW_HALVINGS) + (halvings > _SOME_HALVINGS)


@dataclass(slots=True)
class Course:
    """A search among the values 0 … ``size`` - 1 under way: what is left, and what its numbers have told so far.

    The value sought is from ``low`` to ``high``, by the signs of the numbers.  Beyond the noise, it is above ``under``
    and not above ``over``.  ``least`` and ``largest`` are the outermost values within these that were asked for, None
    if there are none.
    """

    size: int
    width: int
    steps: int
    low: int
    high: int
    under: int
    over: int
    least: int | None = None
    largest: int | None = None

    @classmethod
    def start(cls, size: int, width: int, steps: int) -> Course:
        """A search that has asked for nothing yet, and asks for ``steps`` numbers at most."""
        return cls(size, width, steps, 0, size - 1, -1, size - 1)

    @property
    def place(self) -> int | None:
        """What is asked for next, None if nothing is."""
        if not self.steps:
            return None
        if self.low < self.high:
            return (self.low + self.high) // 2
        found = self.low
        least = found if self.least is None else self.least
        largest = found if self.largest is None else self.largest
        if max(least - self.under, self.over - largest) <= 1:
            return None
        # Noise reaches about as far on the one side as was told on the other; here it is tried twice as far.
        if least - self.under >= self.over - largest:
            middle, nearer = (self.under + least) // 2, found - 2 * (self.over - found)
            return max(middle, nearer) if nearer < least else middle
        middle, nearer = (largest + self.over) // 2, found + 2 * (found - self.under)
        return min(middle, nearer) if nearer > largest else middle

    def tell(self, number: int) -> None:
        """Go on with the noisy number at :attr:`place`."""
        place = self.place
        assert place is not None
        self.steps -= 1
        below = number < 0
        if self.low == self.high:
            # Which side of the value that was found it is on does not depend on the number any more.
            below = place < self.low
        elif below:
            self.low = place + 1
        else:
            self.high = place
        if below and number < -self.width:
            self.under = place
            self.least = None if self.least is None or self.least <= place else self.least
        elif below:
            self.least = place if self.least is None else min(self.least, place)
        elif number >= self.width:
            self.over = place
            self.largest = None if self.largest is None or self.largest >= place else self.largest
        else:
            self.largest = place if self.largest is None else max(self.largest, place)


def search(mechanism: Mechanism, size: int, width: int, functions: Sequence[Callable[[int], int]]) -> list[list[int]]:
    """The noisy numbers of a search for each function among the values 0 … ``size`` - 1, in the order of asking.

    All searches go on side by side, a step at a time, until none has anything left to ask for.
    """
    found: list[list[int]] = [[] for _ in functions]
    courses = [Course.start(size, width, steps_of(size)) for _ in functions]
    while going := [(at, number) for number, course in enumerate(courses) if (at := course.place) is not None]:
        true = [functions[number](at) for at, number in going]
        for (_, number), noisy in zip(going, parcomp.noise.add_noise(mechanism, true), strict=True):
            found[number].append(noisy)
            courses[number].tell(noisy)
    return found


def searched(numbers: Sequence[int], size: int, width: int) -> tuple[list[int], Course]:
    """What the numbers of a search were asked at, and what they have told.

    >>> visited, told = searched([-5, 3], 4, 4)
    >>> visited, told.low, told.under, told.over
    ([1, 2], 2, 1, 3)
    """
    visited, course = [], Course.start(size, width, len(numbers))
    for number in numbers:
        place = course.place
        assert place is not None
        visited.append(place)
        course.tell(number)
    return visited, course

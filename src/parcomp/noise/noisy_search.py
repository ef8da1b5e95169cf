"""A search by noisy numbers: where a rising function of whole numbers stops being negative.

Quantiles are found so.  The function tells for each value whether enough rows have it or less; it is asked for at the
middle of what is left, with noise, and the sign of the noisy number says which half goes on.  After ⌈log₂ n⌉ numbers
one value of n is left.

*Privacy.*  Which number is asked for depends on the noisy numbers before it and on nothing else of the data, each has
noise of its own, and a row changes each by no more than its noise is made for: adaptive composition, in which the costs
of all numbers add up (``docs/proofs/quantiles.md``).  What was visited follows from the noisy numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import parcomp.noise
from parcomp.noise.mechanism import Mechanism

__all__ = ["search", "searched", "steps_of"]


def steps_of(size: int) -> int:
    """The most numbers that a search among so many values asks for; 1 at least.

    >>> [steps_of(size) for size in (1, 2, 3, 4, 5, 120)]
    [1, 1, 2, 2, 3, 7]
    """
    return max(1, (size - 1).bit_length())


def search(mechanism: Mechanism, size: int, functions: Sequence[Callable[[int], int]]) -> list[list[int]]:
    """The noisy numbers of a search for each function among the values 0 … ``size`` - 1, in the order of asking.

    All searches go on side by side, a step at a time, until each has one value left.
    """
    found: list[list[int]] = [[] for _ in functions]
    left = [(0, size - 1) for _ in functions]
    while going := [place for place, (low, high) in enumerate(left) if low < high]:
        true = [functions[place](sum(left[place]) // 2) for place in going]
        for place, noisy in zip(going, parcomp.noise.add_noise(mechanism, true), strict=True):
            found[place].append(noisy)
            left[place] = _half(*left[place], noisy)
    return found


def searched(numbers: Sequence[int], size: int) -> tuple[list[int], int]:
    """What the numbers of a search were asked at, and the value that it has come to.

    >>> searched([-5, 3], 4)
    ([1, 2], 2)
    """
    visited, left = [], (0, size - 1)
    for number in numbers:
        visited.append(sum(left) // 2)
        left = _half(*left, number)
    return visited, left[0]


def _half(low: int, high: int, number: int) -> tuple[int, int]:
    """What a number at the middle leaves."""
    middle = (low + high) // 2
    return (middle + 1, high) if number < 0 else (low, middle)

"""By how much floating point is rounded outward.

The special functions used here (``ndtr``, ``erfcx``, ``expm1`` and the like) are good to a few units in the last
place; what a formula adds to that stays below 10⁻¹².  Every number that leaves this package is moved outward by
``RELATIVE``, a hundred times that: a reported δ, ε, ρ or μ is never below the exact one, and a reported type II error
never above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, overload

import numpy as np
import numpy.typing as npt

__all__ = ["RELATIVE", "Floats", "least_true", "most_true", "up"]

Floats = npt.NDArray[np.float64]

RELATIVE: Final = 1e-10
"""The relative margin of every directed float."""


@overload
def up(value: float) -> float: ...
@overload
def up(value: Floats) -> Floats: ...
def up(value: float | Floats) -> float | Floats:
    """A positive number moved up by the margin; zero stays zero."""
    return value * (1 + RELATIVE)


def least_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number in [``low``, ``high``] at which ``holds`` (false, then true) is seen to be true.

    ``holds(high)`` must be true.  The answer is one at which it was evaluated, so it errs on the true side.
    """
    return low if holds(low) else _narrowed(lambda middle: not holds(middle), low, high)[1]


def most_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest number in [``low``, ``high``] at which ``holds`` (true, then false) is seen to be true."""
    return high if holds(high) else _narrowed(holds, low, high)[0]


def _narrowed(before: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """A narrow interval around the number at which ``before`` (true, then false) ends, both ends having been tried."""
    while high - low > 1e-13 * max(abs(high), 1e-300):
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if before(middle) else (low, middle)
    return low, high

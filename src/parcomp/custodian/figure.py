"""A released number and what is known of its error."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A released number: its value, its 95 % interval and its mean absolute error.

    ``value`` is None where there is none, as an average over no rows, and ``error`` where it is not known.
    ``approximate`` says that the interval rests on an approximation, and ``cautious`` that it holds the true number in
    more than 95 of 100 answers: as noise is in whole numbers and small, as the interval ends where the declared bounds
    do, or as what noise can do was bounded and not worked out.
    """

    value: int | float | None
    low: int | float | None
    high: int | float | None
    error: float | None
    approximate: bool = False
    cautious: bool = False

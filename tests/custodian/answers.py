"""Answers made by hand, as tests of frames and pictures need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parcomp.custodian import Answer, AnswerColumn, Figure
from parcomp.model import Value

__all__ = ["answer", "figures", "with_estimates"]


def figures(*values: int | float | None, width: int | float = 10) -> list[Figure]:
    """Figures with an interval of this half-width; none where there is no value."""
    return [
        Figure(None, None, None, None) if value is None else Figure(value, value - width, value + width, width / 4)
        for value in values
    ]


def answer(
    labels: dict[str, Sequence[Value]], measured: dict[str, Sequence[Figure]], *, rehearsed: bool = False
) -> Answer:
    """An answer with these columns, the labels first."""
    columns = [AnswerColumn(name, tuple(values)) for name, values in labels.items()]
    columns += [AnswerColumn.of(name, some) for name, some in measured.items()]
    charge = None if rehearsed else 7
    return Answer(charge, tuple(columns), 0 if rehearsed else 0.5, 2.5, cached=False, rehearsed=rehearsed)


def with_estimates(given: Answer, *values: float) -> Answer:
    """The answer with these estimates beside its first figures, each with an interval of half-width 1."""
    told = tuple(Figure(value, value - 1, value + 1, None, approximate=True) for value in values)
    first = given.measured[0]
    columns = tuple(replace(one, estimates=told) if one is first else one for one in given.columns)
    return replace(given, columns=columns)

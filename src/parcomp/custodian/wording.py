"""From the figures of a statement to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from parcomp.custodian.answer import Answer
from parcomp.custodian.figure import Figure
from parcomp.custodian.presentation import notes, present
from parcomp.custodian.release import Release
from parcomp.model import Selection

__all__ = ["worded"]

_NOTHING = (
    "no row that the domain declares satisfies the condition, so this holds on every table: nothing was counted, and "
    "there was nothing to pay"
)


def worded(
    selection: Selection,
    release: Release,
    stored: str | None,
    *,
    charge: int | None = None,
    cost: int | float = 0,
    cached: bool = False,
    rehearsed: bool = False,
) -> Answer:
    """The answer that stored noisy numbers stand for; None where there are none, since no row can satisfy it."""
    figures = release.nothing() if stored is None else release.figures(stored)
    columns = present(selection, figures)
    first = next((column.figures for column in columns if column.figures is not None), ())
    said = notes(selection, columns) if stored is None else (*release.notes, *notes(selection, columns))
    if stored is None and selection.statement.items:
        said = (*said, _NOTHING)
    if not selection.statement.items:
        said = (*said, "the groups are those that the domain declares, with rows or without: nothing was counted")
    return Answer(charge, columns, cost, _mean_error(first), cached, rehearsed, said)


def _mean_error(figures: Sequence[Figure]) -> float | None:
    """The mean of the errors that are known; None if none is."""
    errors = {figure.error for figure in figures if figure.error is not None}
    if len(errors) == 1:
        return errors.pop()
    if not errors:
        return None
    return fmean(figure.error for figure in figures if figure.error is not None)

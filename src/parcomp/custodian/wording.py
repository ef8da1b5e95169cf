"""From the figures of a statement to its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Protocol

from parcomp.custodian.answer import Answer
from parcomp.custodian.deriving import Derived
from parcomp.custodian.estimating import NOTE
from parcomp.custodian.presentation import notes, present
from parcomp.custodian.settings import Settings
from parcomp.figures import Figure
from parcomp.model import Item, Selection

__all__ = ["Released", "derived_answer", "rows_taken", "worded"]

_NOTHING = (
    "no row that the domain declares satisfies the condition, so this holds on every table: nothing was counted, and "
    "there was nothing to pay"
)


class Released(Protocol):
    """What turns the stored noisy numbers of a statement into figures."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the answer."""

    def nothing(self) -> dict[Item, list[Figure]]:
        """The figures of a statement that no row satisfies."""

    def figures(self, stored: str) -> dict[Item, list[Figure]]:
        """The figures that stored noisy numbers stand for."""


def worded(
    settings: Settings,
    selection: Selection,
    release: Released,
    stored: str | None,
    *,
    charge: int | None = None,
    cost: int | float = 0,
    cached: bool = False,
    rehearsed: bool = False,
    strategy: str = "",
    estimated: Mapping[Item, Sequence[Figure]] | None = None,
    method: str = "",
    more: Sequence[str] = (),
) -> Answer:
    """The answer that stored noisy numbers stand for; None where there are none, since no row can satisfy it."""
    figures = release.nothing() if stored is None else release.figures(stored)
    columns = present(selection, figures, estimated)
    first = next((column.figures for column in columns if column.figures is not None), ())
    said = notes(selection, columns) if stored is None else (*release.notes, *notes(selection, columns))
    if stored is None and selection.statement.items:
        said = (*said, _NOTHING)
    if not selection.statement.items:
        said = (*said, "the groups are those that the domain declares, with rows or without: nothing was counted")
    if settings.person and not rehearsed:
        said = (*said, rows_taken(settings.rows_per_person))
    # What is said of estimates is said where there is one.
    said = (*said, *(one for one in more if one != NOTE or estimated is not None))
    return Answer(
        charge,
        columns,
        cost,
        _mean_error(first),
        cached,
        rehearsed,
        said,
        settings.measure.name,
        settings.rows_per_person,
        strategy,
        estimate_method=method,
    )


def derived_answer(
    settings: Settings,
    selection: Selection,
    derived: Derived,
    figures: Sequence[Figure],
    estimated: Sequence[Figure] | None = None,
    more: Sequence[str] = (),
) -> Answer:
    """The answer that follows from released ones, of figures that :class:`Derived` has worked out."""
    items = selection.statement.items
    columns = present(
        selection, dict.fromkeys(items, figures), None if estimated is None else dict.fromkeys(items, estimated)
    )
    first = next((column.figures for column in columns if column.figures is not None), ())
    said = (
        derived.note,
        *notes(selection, columns),
        *([rows_taken(settings.rows_per_person)] if settings.person else []),
        *more,
    )
    return Answer(
        None,
        columns,
        0,
        _mean_error(first),
        cached=False,
        notes=said,
        measure=settings.measure.name,
        rows_per_person=settings.rows_per_person,
        derived=True,
    )


def rows_taken(most: int) -> str:
    """Of how many rows of each person numbers are, where the settings name persons."""
    rows = "one row of each person was" if most == 1 else f"{most:,} rows of each person were"
    return f"at most {rows} taken; numbers are about these"


def _mean_error(figures: Sequence[Figure]) -> float | None:
    """The mean of the errors that are known; None if none is."""
    errors = {figure.error for figure in figures if figure.error is not None}
    if len(errors) == 1:
        return errors.pop()
    if not errors:
        return None
    return fmean(figure.error for figure in figures if figure.error is not None)

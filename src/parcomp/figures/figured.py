"""Answers as tables: columns of labels and of figures, released numbers with what is known of their error.

An answer is :class:`Figured`, whoever hands it out, a custodian or a server.  So it is a data frame, a table of text
and a picture, all of which follow from its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from parcomp.costs import SYMBOLS, short_up
from parcomp.errors import ArgumentError, one_line, shown
from parcomp.tabular import (
    Columns,
    Tabular,
    count_text,
    counted,
    decimals_beside,
    decimals_of,
    error_text,
    label_text,
    number_text,
    text_table,
)

__all__ = [
    "AnswerColumn",
    "Figure",
    "Figured",
    "Value",
    "columns_of",
    "figure_columns",
    "free_name",
    "growth_text",
    "interval_text",
    "unit_of",
    "whose",
]

Value: TypeAlias = str | int | bool | float | None
_REHEARSED = "rehearsed: from random rows of the domain, not from the data"
_TEXT_ROWS = 40
"""How many rows a table of text lists before the rest is only counted."""
_HARDLY = 1e-6
"""What grows by less than this part of a cost, and of 1, hardly grows at all."""


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


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """An item of the SELECT list over the rows of the answer: labels of groups, or figures.

    ``values`` are the labels, or the values of ``figures``.  ``estimates`` are what the answers of a batch say
    together, beside figures that stay as they are; their intervals are not guaranteed.  ``room`` is how many characters
    a value may take in JSON where noisy numbers decide which text it is, 0 where they do not.
    """

    name: str
    values: tuple[Value, ...]
    figures: tuple[Figure, ...] | None = None
    estimates: tuple[Figure, ...] | None = None
    room: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.estimates is not None and len(self.estimates) != len(self.values):
            raise ArgumentError(f"column {shown(self.name)} has an estimate for each of its figures, or none")
        if self.figures is not None and self.values != tuple(figure.value for figure in self.figures):
            raise ArgumentError(f"the values of column {shown(self.name)} are not those of its figures")

    @classmethod
    def of(cls, name: str, figures: Sequence[Figure]) -> AnswerColumn:
        """A column of figures."""
        return cls(name, tuple(figure.value for figure in figures), tuple(figures))

    @property
    def known(self) -> tuple[Figure, ...]:
        """The figures, of a column that has them."""
        assert self.figures is not None
        return self.figures

    @property
    def decimals(self) -> int | None:
        """How many decimals all its figures have: those of the steps of an attribute, or as many as they need."""
        figures = self.figures or ()
        steps = decimals_of(end for one in figures for end in (one.value, one.low, one.high))
        return self._needed if steps is None else steps

    @property
    def _needed(self) -> int | None:
        """How many decimals figures and estimates need that are worked out, so that they stand beside each other."""
        return decimals_beside(
            (one.value, one.low, one.high) for one in (*(self.figures or ()), *(self.estimates or ()))
        )

    def texts(self, most: int) -> tuple[list[str], list[str]]:
        """The values of the first figures and their intervals, as people read them."""
        figures, decimals = self.known[:most], self.decimals
        return [number_text(one.value, decimals) for one in figures], [interval_text(one, decimals) for one in figures]

    def estimated_texts(self, most: int) -> tuple[list[str], list[str]]:
        """The first estimates and their intervals, as people read them; a dash for each where there are none."""
        if self.estimates is None:
            return ["–"] * min(len(self.values), most), ["–"] * min(len(self.values), most)
        figures, decimals = self.estimates[:most], self._needed
        values = ["–" if one.value is None else count_text(one.value, decimals) for one in figures]
        return values, [_about(one, decimals) for one in figures]


class Figured(Tabular):
    """An answer: columns of equal length, in the order of the SELECT list."""

    __slots__ = ()

    charge: int | None
    columns: tuple[AnswerColumn, ...]
    cost: int | float
    expected_error: float | None
    cached: bool
    rehearsed: bool
    notes: tuple[str, ...]
    measure: str
    rows_per_person: int
    strategy: str
    derived: bool

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def __bool__(self) -> bool:
        # It is an answer, however many rows it has.
        return True

    @property
    def labels(self) -> tuple[AnswerColumn, ...]:
        """The columns that tell the groups apart."""
        return tuple(column for column in self.columns if column.figures is None)

    @property
    def measured(self) -> tuple[AnswerColumn, ...]:
        """The columns of figures."""
        return tuple(column for column in self.columns if column.figures is not None)

    @property
    def grouped(self) -> bool:
        """Whether it was asked for with GROUP BY."""
        return len(self) != 1 or bool(self.labels)

    @property
    def estimate(self) -> int | float | None:
        """What the answers of the batch say together of the number; None where no estimate was made."""
        told = self._estimated()
        return None if told is None else told.value

    @property
    def estimate_interval(self) -> tuple[int | float | None, int | float | None]:
        """Where the true number is about 95 times in 100, which is measured and not guaranteed."""
        told = self._estimated()
        return (None, None) if told is None else (told.low, told.high)

    @property
    def caution(self) -> str:
        """What everyone who sees the answer must know: that it was rehearsed; "" if there is nothing."""
        return _REHEARSED if self.rehearsed else ""

    @property
    def about(self) -> dict[str, Any]:
        """What holds for all rows: how it was paid for, and whether it was rehearsed."""
        about: dict[str, Any] = {name: getattr(self, name) for name in ("charge", "cost", "expected_error", "cached")}
        marks = {"rehearsed": self.rehearsed} | ({"derived": True} if self.derived else {})
        return {**about, **marks, "notes": list(self.notes)}

    @property
    def paid(self) -> str:
        """How it was paid for, in words."""
        if self.rehearsed:
            return "nothing was charged"
        if self.derived:
            return "free: it follows from what was released before"
        if self.charge is None:
            return "free: no row can satisfy this query" if self.measured else "free"
        if self.cached:
            return f"free: charge {self.charge} paid for it"
        if self.strategy and not self.cost:
            return f"charge {self.charge}, with the batch"
        return f"charge {self.charge}, {unit_of(self.measure)}{short_up(self.cost)}{whose(self.rows_per_person)[0]}"

    @property
    def off_by(self) -> str:
        """The mean error of each column of figures, and from where to where it goes in the groups; "" if none is."""
        told = []
        for column in self.measured:
            errors = [one.error for one in column.known if one.error is not None]
            if errors:
                least, mean, most = (error_text(one) for one in (min(errors), fmean(errors), max(errors)))
                spread = "" if least == most else f" on average over the groups, {least} to {most}"
                told.append(f"{'' if len(self.measured) == 1 else f'{one_line(column.name)} '}{mean}{spread}")
        return f"expected error{'s:' if len(self.measured) > 1 else ''} {', '.join(told)}" if told else ""

    def __repr__(self) -> str:
        figures = ", ".join(column.name for column in self.measured)
        if self.grouped:
            by = ", ".join(column.name for column in self.labels)
            what = f"{f'{figures} in ' if figures else ''}{counted(len(self), 'group')}{f' by {by}' if by else ''}"
        else:
            [value], [interval] = self.measured[0].texts(1)
            what = f"{figures}: {value}, 95 % interval {interval}"
        return f"<{type(self).__name__}, {what}{' (rehearsed)' if self.rehearsed else ''}>"

    def __str__(self) -> str:
        lines = [self.caution] if self.caution else []
        return "\n".join([*lines, *self.lines(), "; ".join(filter(None, (self.off_by, self.paid))), *self.notes])

    def plot(self, path: str | Path | None = None, *, column: str | None = None, axes: Any = None) -> Any:
        """Draw a column of figures, the first if none is named; returns matplotlib's axes.

        Groups are bars with their intervals; groups by two keys are a heat map; a single number is a point with its
        interval.  With a path the picture is written to a PNG file, without one it is drawn where pyplot draws.
        """
        from parcomp.figures.plots import plot_answer  # noqa: PLC0415  matplotlib is an extra

        return plot_answer(self, path, column, axes)

    def _columns(self) -> Columns:
        taken: dict[str, Sequence[Any]] = {}
        numbers = set()
        for column in self.labels:
            taken[free_name(column.name, taken)] = column.values
        for column in self.measured:
            names: tuple[str, ...] = ("value", "low", "high", "expected_error")
            if len(self.measured) > 1 or any(name in taken for name in names):
                names = tuple(f"{column.name}{ending}" for ending in ("", "_low", "_high", "_error"))
            listed = list(zip(names, figure_columns(column.known), strict=True))
            if column.estimates is not None:
                before = "" if names[0] == "value" else f"{column.name}_"
                endings = ("estimate", "estimate_low", "estimate_high")
                told = figure_columns(column.estimates)[:3]
                listed += zip((f"{before}{ending}" for ending in endings), told, strict=True)
            for name, values in listed:
                free = free_name(name, taken)
                taken[free] = values
                numbers.add(free)
        if self.rehearsed:
            taken[free_name("rehearsed", taken)] = (True,) * len(self)
        return Columns(taken, frozenset(numbers), self.about)

    def _estimated(self) -> Figure | None:
        """The first estimate of an answer without GROUP BY."""
        if self.grouped:
            raise AttributeError("an answer with GROUP BY has an estimate in each group")
        column = self.measured[0] if self.measured else None
        return None if column is None or column.estimates is None else column.estimates[0]

    def lines(self) -> list[str]:
        """The columns as lines of a table."""
        more = [f"… {len(self) - _TEXT_ROWS:,} more rows"] if len(self) > _TEXT_ROWS else []
        return [*self._text().splitlines(), *more]

    def _text(self) -> str:
        headings, columns, right = [], [], []
        for column in self.columns:
            headings.append(column.name)
            right.append(column.figures is not None)
            if column.figures is None:
                columns.append([label_text(value) for value in column.values[:_TEXT_ROWS]])
            else:
                columns += column.texts(_TEXT_ROWS)
                headings.append("95 % interval")
                right.append(True)
                if column.estimates is not None:
                    headings += ["estimate", "about 95 %"]
                    right += [True, True]
                    columns += column.estimated_texts(_TEXT_ROWS)
        return text_table(headings, list(zip(*columns, strict=True)), right)


def unit_of(measure: str) -> str:
    """What stands before an amount of a measure.

    >>> unit_of("zcdp"), unit_of("")
    ('ρ = ', 'cost ')
    """
    return f"{SYMBOLS[measure]} = " if measure in SYMBOLS else "cost "


def growth_text(unit: str, adds: int | float, cost: int | float) -> str:
    """By how much something grows that people are told of, at a cost: hardly anything is said to be so.

    >>> growth_text("μ = ", 0.25, 0.5), growth_text("μ = ", 8.33334e-10, 0.5), growth_text("", 8.33334e-10, 0.5)
    ('μ = 0.25', 'μ < 1e-6', '< 1e-6')
    """
    if 0 < adds < _HARDLY * min(1, cost):
        return f"{unit.removesuffix('= ')}< 1e-6"
    return f"{unit}{short_up(adds)}"


def whose(rows_per_person: int) -> tuple[str, str]:
    """What stands after an amount for one row, and after one for a person, where these are not the same.

    >>> whose(1), whose(3)
    (('', ''), (' for one row', ' for a person'))
    """
    return (" for one row", " for a person") if rows_per_person > 1 else ("", "")


def interval_text(figure: Figure, decimals: int | None = None) -> str:
    """The interval of a figure, as people read it."""
    if figure.low is None and figure.high is None:
        return "–"
    low, high = (number_text(end, decimals) for end in (figure.low, figure.high))
    return f"{'about ' if figure.approximate else ''}{low} to {high}"


def _about(estimate: Figure, decimals: int | None) -> str:
    """The interval of an estimated count."""
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"about {count_text(estimate.low, decimals)} to {count_text(estimate.high, decimals)}"


def figure_columns(figures: Sequence[Figure]) -> list[tuple[int | float | None, ...]]:
    """Values, lower ends, upper ends and errors."""
    return [tuple(getattr(figure, name) for figure in figures) for name in ("value", "low", "high", "error")]


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, with lines after it until no other column has it."""
    while name in taken:
        name += "_"
    return name


def columns_of(document: Mapping[str, Any]) -> tuple[AnswerColumn, ...]:
    """The columns of an answer that was told as JSON.

    Where there is one column of numbers, its values stand with their groups.
    """
    groups = document.get("groups")
    if groups is None:
        groups = [{"group": {}, "value": document["value"], "interval": document["interval"]}]
    errors = document["errors"]
    approximate = document.get("approximate") or [False] * len(errors)
    columns = []
    for place, name in enumerate(document["names"]):
        if errors[place] is None:
            values = document["columns"][place] if "columns" in document else [one["group"][name] for one in groups]
            columns.append(AnswerColumn(name, tuple(values)))
            continue
        if "columns" in document:
            numbers = zip(document["columns"][place], document["intervals"][place], errors[place], strict=True)
        else:
            numbers = zip(
                [one["value"] for one in groups], [one["interval"] for one in groups], errors[place], strict=True
            )
        figures = [Figure(value, low, high, error, approximate[place]) for value, (low, high), error in numbers]
        told = (document.get("estimates") or [None] * len(errors))[place]
        estimates = (
            None
            if told is None
            else tuple(Figure(value, low, high, None, approximate=True) for value, low, high in told)
        )
        columns.append(AnswerColumn(name, tuple(one.value for one in figures), tuple(figures), estimates))
    return tuple(columns)

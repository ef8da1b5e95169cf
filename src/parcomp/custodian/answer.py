"""What a custodian hands out: quotes before, answers after.

Both have columns, and so are data frames (``to_pandas``, ``to_polars``, ``to_arrow``), tables in a terminal (``str``),
tables with bars in a notebook and pictures (``plot``).  All of it follows from released numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parcomp.custodian.figure import Figure
from parcomp.custodian.shown import (
    REHEARSED,
    cell_text,
    figure_columns,
    free_name,
    interval_text,
    plain_fields,
    stacked_fields,
)
from parcomp.errors import ArgumentError, shown
from parcomp.model import Value
from parcomp.tabular import Columns, Tabular, error_text, label_text, number_text, text_table

__all__ = ["Answer", "AnswerColumn", "BatchQuote", "Group", "Quote"]

_TEXT_ROWS = 40
"""How many rows a table of text lists before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Quote(Tabular):
    """What asking would mean; all amounts are in the measure's parameter (ε, ρ or μ).

    ``adds`` is by how much the dataset's proven loss would grow, often 0.  ``remaining`` is the most that a query on
    these rows may cost, and ``fits`` whether this one may be asked.  ``expected_error`` is the mean absolute error of
    the answer's first number, ``errors`` has those of all items by the names of their columns, and ``best_error`` is
    that of the most accurate answer still affordable; they are None where they depend on how many rows there are
    (averages), or nothing is affordable; ``error_by_rows`` then has it for some numbers of rows, and
    ``errors_by_rows`` that of each item for which it is so.
    ``reason`` says why it does not fit, "" if it does.

    ``limit`` is what leaves least on these rows, ``"budget"`` or ``"quota of NAME"``, and "" where asking is free;
    ``left`` is what each limit leaves there.  With a budget of (ε, δ), ``delta`` is its δ, and ``epsilon`` what
    ``cost`` and ``remaining`` are as an ε at that δ.
    """

    cost: int | float
    adds: int | float
    remaining: int | float
    fits: bool
    expected_error: float | None
    best_error: float | None
    cached: bool
    reason: str
    limit: str = ""
    left: Mapping[str, int | float] = field(default_factory=dict)
    delta: float | None = None
    epsilon: Mapping[str, float] = field(default_factory=dict)
    error_by_rows: Mapping[int, float] = field(default_factory=dict)
    errors: Mapping[str, float | None] = field(default_factory=dict)
    errors_by_rows: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The quote as the command line's ``--json`` prints it."""
        names = ("cost", "adds", "remaining", "fits", "expected_error", "limit")
        quoted = {name: getattr(self, name) for name in names} | {"left": dict(self.left)}
        if self.error_by_rows:
            quoted["error_by_rows"] = dict(self.error_by_rows)
        if len(self.errors) > 1:
            quoted["expected_errors"] = dict(self.errors)
            if self.errors_by_rows:
                quoted["errors_by_rows"] = {name: dict(told) for name, told in self.errors_by_rows.items()}
        if self.delta is not None:
            quoted |= {"delta": self.delta, "epsilon": dict(self.epsilon)}
        return quoted

    def __str__(self) -> str:
        return text_table(
            ("", ""), [(name, cell_text(value)) for name, value in plain_fields(self).items()], (False, False)
        )

    def _columns(self) -> Columns:
        return _stacked([self])

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import quote_html  # noqa: PLC0415  only a notebook asks for it

        return quote_html(self)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw what it costs beside what remains, to a PNG file if a path is given; returns matplotlib's axes."""
        from parcomp.custodian.plots import plot_quotes  # noqa: PLC0415  matplotlib is an extra

        return plot_quotes([self], path, axes)


@dataclass(frozen=True, slots=True)
class BatchQuote(Tabular):
    """What asking a batch would mean: a quote for each statement after those before it, and for all together."""

    quotes: tuple[Quote, ...]
    adds: int | float
    fits: bool

    def __str__(self) -> str:
        columns = self._columns().values
        names = [
            name
            for name, values in columns.items()
            if name != "reason" and any(one not in (None, "") for one in values)
        ]
        rows = [[cell_text(columns[name][place]) for name in names] for place in range(len(self.quotes))]
        verdict = "fits" if self.fits else "does not fit: nothing would be charged"
        return f"{text_table(names, rows, [True] * len(names))}\ntogether: adds {number_text(self.adds)}; {verdict}"

    def _columns(self) -> Columns:
        quoted = _stacked(self.quotes)
        return Columns(
            {"statement": tuple(range(1, len(self.quotes) + 1)), **quoted.values},
            quoted.numbers,
            {"adds": self.adds, "fits": self.fits},
        )

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import batch_quote_html  # noqa: PLC0415  only a notebook asks for it

        return batch_quote_html(self)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw what each costs beside what remains, to a PNG file if a path is given; returns matplotlib's axes."""
        from parcomp.custodian.plots import plot_quotes  # noqa: PLC0415  matplotlib is an extra

        return plot_quotes(self.quotes, path, axes)


@dataclass(frozen=True, slots=True)
class Group:
    """The first figure of one group: its labels by name, and the noisy number with its 95 % interval.

    Without GROUP BY the whole is a group, with no labels.
    """

    row: dict[str, Value]
    value: int | float | None
    interval: tuple[int | float | None, int | float | None]


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """An item of the SELECT list over the rows of the answer: labels of groups, or figures.

    ``values`` are the labels, or the values of ``figures``.
    """

    name: str
    values: tuple[Value, ...]
    figures: tuple[Figure, ...] | None = None

    def __post_init__(self) -> None:
        if self.figures is not None and self.values != tuple(figure.value for figure in self.figures):
            raise ArgumentError(f"the values of column {shown(self.name)} are not those of its figures")

    @classmethod
    def of(cls, name: str, figures: Sequence[Figure]) -> AnswerColumn:
        """A column of figures."""
        return cls(name, tuple(figure.value for figure in figures), tuple(figures))


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Tabular):
    """A released answer.

    ``charge`` is the number of the charge that paid for it, None if there was nothing to pay; ``cost`` is what asking
    cost this time, 0 for an answer that was ``cached``.  ``columns`` are the items of the SELECT list.  Without GROUP
    BY there is one row, and :attr:`value` is its first figure.  ``expected_error`` is the mean absolute error of the
    first column of figures, None where there is none to tell; an interval holds the true number in 95 of 100 answers.
    ``rehearsed`` says that it is from random rows of the domain, not from the data.
    """

    charge: int | None
    columns: tuple[AnswerColumn, ...]
    cost: int | float
    expected_error: float | None
    cached: bool
    rehearsed: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise ArgumentError("an answer has a column at least")
        if len({len(column.values) for column in self.columns}) != 1:
            raise ArgumentError("the columns of an answer have a value for each row, all of them")

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
    def caution(self) -> str:
        """What everyone who sees the answer must know: that it was rehearsed; "" if there is nothing."""
        return REHEARSED if self.rehearsed else ""

    @property
    def value(self) -> int | float | None:
        """The number, of an answer without GROUP BY: that of the first figure, if there are several."""
        return self._whole("groups, not one value").value

    @property
    def interval(self) -> tuple[int | float | None, int | float | None]:
        """The 95 % interval of the number, of an answer without GROUP BY."""
        return self._whole("an interval in each group").interval

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups with their first figure; with none where only groups were asked for."""
        if not self.measured:
            return tuple(Group(row, None, (None, None)) for row in self._label_rows())
        return tuple(
            Group(row, figure.value, (figure.low, figure.high))
            for row, figure in zip(self._label_rows(), _figures(self.measured[0]), strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """The answer as the command line's ``--json`` prints it."""
        if self.grouped:
            groups = [{"group": g.row, "value": g.value, "interval": list(g.interval)} for g in self.groups]
            numbers: dict[str, Any] = {"groups": groups}
        else:
            numbers = {"value": self.value, "interval": list(self.interval)}
        paid = {name: getattr(self, name) for name in ("cost", "expected_error", "cached")}
        more: dict[str, Any] = {"names": [column.name for column in self.columns]}
        if len(self.measured) > 1:
            more["columns"] = [list(column.values) for column in self.columns]
            more["intervals"] = [
                None if column.figures is None else [[figure.low, figure.high] for figure in column.figures]
                for column in self.columns
            ]
        if self.notes:
            more["notes"] = list(self.notes)
        if self.rehearsed:
            more["rehearsed"] = True
        return {"charge": self.charge, **numbers, **paid, **more}

    def __repr__(self) -> str:
        figures = ", ".join(column.name for column in self.measured)
        if self.grouped:
            by = ", ".join(column.name for column in self.labels)
            what = f"{f'{figures} in ' if figures else ''}{len(self):,} groups{f' by {by}' if by else ''}"
        else:
            first = _figures(self.measured[0])[0]
            what = f"{figures}: {number_text(first.value)}, 95 % interval {interval_text(first)}"
        return f"<Answer, {what}{' (rehearsed)' if self.rehearsed else ''}>"

    def __str__(self) -> str:
        lines = [self.caution] if self.caution else []
        lines.append(self._text())
        if len(self) > _TEXT_ROWS:
            lines.append(f"… {len(self) - _TEXT_ROWS:,} more rows")
        if self.expected_error is not None:
            lines.append(f"expected error {error_text(self.expected_error)}")
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import answer_html  # noqa: PLC0415  only a notebook asks for it

        return answer_html(self)

    def plot(self, path: str | Path | None = None, *, column: str | None = None, axes: Any = None) -> Any:
        """Draw a column of figures, the first if none is named; returns matplotlib's axes.

        Groups are bars with their intervals; groups by two keys are a heat map; a single number is a point with its
        interval.  With a path the picture is written to a PNG file, without one it is drawn where pyplot draws.
        """
        from parcomp.custodian.plots import plot_answer  # noqa: PLC0415  matplotlib is an extra

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
            for name, values in zip(names, figure_columns(_figures(column)), strict=True):
                free = free_name(name, taken)
                taken[free] = values
                numbers.add(free)
        if self.rehearsed:
            taken[free_name("rehearsed", taken)] = (True,) * len(self)
        return Columns(taken, frozenset(numbers), self.about)

    @property
    def about(self) -> dict[str, Any]:
        """What holds for all rows: how it was paid for, and whether it was rehearsed."""
        about: dict[str, Any] = {name: getattr(self, name) for name in ("charge", "cost", "expected_error", "cached")}
        return {**about, "rehearsed": self.rehearsed, "notes": list(self.notes)}

    def _text(self) -> str:
        headings, columns, right = [], [], []
        for column in self.columns:
            headings.append(column.name)
            right.append(column.figures is not None)
            if column.figures is None:
                columns.append([label_text(value) for value in column.values[:_TEXT_ROWS]])
            else:
                columns.append([number_text(figure.value) for figure in column.figures[:_TEXT_ROWS]])
                headings.append("95 % interval")
                right.append(True)
                columns.append([interval_text(figure) for figure in column.figures[:_TEXT_ROWS]])
        return text_table(headings, list(zip(*columns, strict=True)), right)

    def _label_rows(self) -> Iterator[dict[str, Value]]:
        labels = self.labels
        for place in range(len(self)):
            yield {column.name: column.values[place] for column in labels}

    def _whole(self, instead: str) -> Group:
        if self.grouped:
            raise AttributeError(f"an answer with GROUP BY has {instead}")
        return self.groups[0]


def _figures(column: AnswerColumn) -> tuple[Figure, ...]:
    assert column.figures is not None
    return column.figures


def _stacked(quotes: Sequence[Quote]) -> Columns:
    """What quotes say, as columns."""
    columns = stacked_fields(quotes)
    return Columns(columns, frozenset(columns) - {"fits", "cached", "reason", "limit"})

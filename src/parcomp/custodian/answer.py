"""What a custodian hands out: quotes before, answers after.

Both have columns, and so are data frames (``to_pandas``, ``to_polars``, ``to_arrow``), tables in a terminal (``str``),
tables with bars in a notebook and pictures (``plot``).  All of it follows from released numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parcomp.custodian.shown import added_in_words, fields_in_words, stacked_fields, stacked_in_words
from parcomp.errors import ArgumentError
from parcomp.figures import AnswerColumn, Figured, columns_of
from parcomp.model import Value
from parcomp.tabular import Columns, Tabular, text_table

__all__ = ["Answer", "AnswerColumn", "BatchQuote", "Group", "Quote"]

_QUOTED = (
    "cost",
    "adds",
    "remaining",
    "fits",
    "expected_error",
    "limit",
    "best_error",
    "cached",
    "reason",
    "measure",
    "rows_per_person",
)
"""What every quote tells, in order."""


@dataclass(frozen=True, slots=True)
class Quote(Tabular):
    """What asking would mean; all amounts are in the measure's parameter (ε, ρ or μ).

    ``adds`` is by how much the dataset's proven loss would grow, often 0.  ``remaining`` is the most that a query on
    these rows may cost, and ``fits`` whether this one may be asked.  ``expected_error`` is the mean absolute error of
    the answer's first number, ``errors`` has those of all columns of numbers by their names, and ``best_error`` is
    that of the most accurate answer still affordable; they are None where they depend on how many rows there are
    (averages), where a number is worked out from others, or nothing is affordable; ``error_by_rows`` then has it for
    some numbers of rows, and ``errors_by_rows`` that of each column for which it is so.
    ``reason`` says why it does not fit, "" if it does.

    ``limit`` is what leaves least on these rows, ``"budget"`` or ``"quota of NAME"``, and "" where asking is free;
    ``left`` is what each limit leaves there.  With a budget of (ε, δ), ``delta`` is its δ, and ``epsilon`` what
    ``cost`` and ``remaining`` are as an ε at that δ.  Amounts are of ``measure``, and for one row of the
    ``rows_per_person`` that someone may have; ``adds`` and ``epsilon`` are for all rows of a person.

    ``derivable`` says whether the answer follows from what was released to whoever asks, and can be had for nothing
    (``ask`` with ``derive``); its error is then ``derived_error``.  It is None where it was not looked at: of what is
    free in a batch, and beyond its first 50 statements.

    ``strategy`` says what is measured for all statements of a batch together; "" where each has noise of its own.  Such
    a batch is paid for as a whole, which the first quote tells.
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
    measure: str = ""
    rows_per_person: int = 1
    strategy: str = ""
    derivable: bool | None = None
    derived_error: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The quote as the command line's ``--json`` prints it."""
        quoted = {name: getattr(self, name) for name in _QUOTED} | {"left": dict(self.left)}
        if self.error_by_rows:
            quoted["error_by_rows"] = dict(self.error_by_rows)
        quoted["expected_errors"] = dict(self.errors)
        if len(self.errors) > 1 and self.errors_by_rows:
            quoted["errors_by_rows"] = {name: dict(told) for name, told in self.errors_by_rows.items()}
        if self.derivable is not None:
            quoted |= {"derivable": self.derivable, "derived_error": self.derived_error}
        if self.delta is not None:
            quoted |= {"delta": self.delta, "epsilon": dict(self.epsilon)}
        if self.strategy:
            quoted["strategy"] = self.strategy
        return quoted

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Quote:
        """The quote that :meth:`as_json` has told."""
        errors, by_rows = document["expected_errors"], _by_rows(document.get("error_by_rows", {}))
        # What is told of a single item is told once.
        told = document.get("errors_by_rows") or ({next(iter(errors)): by_rows} if by_rows else {})
        return cls(
            **{name: document[name] for name in _QUOTED},
            left=document["left"],
            delta=document.get("delta"),
            epsilon=document.get("epsilon", {}),
            error_by_rows=by_rows,
            errors=errors,
            errors_by_rows={name: _by_rows(one) for name, one in told.items()},
            strategy=document.get("strategy", ""),
            derivable=document.get("derivable"),
            derived_error=document.get("derived_error"),
        )

    def __str__(self) -> str:
        return text_table(("", ""), list(fields_in_words(self).items()), (False, False))

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
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The quotes as the service tells them."""
        told = {"quotes": [quote.as_json() for quote in self.quotes], "adds": self.adds, "fits": self.fits}
        return {**told, "notes": list(self.notes)} if self.notes else told

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> BatchQuote:
        """The quotes that :meth:`as_json` has told."""
        notes = tuple(document.get("notes", ()))
        return cls(tuple(map(Quote.read, document["quotes"])), document["adds"], document["fits"], notes)

    def __str__(self) -> str:
        names, rows = stacked_in_words(self.quotes)
        verdict = "fits" if self.fits else "does not fit: nothing would be charged"
        together = f"together: adds {added_in_words(self)}; {verdict}"
        return "\n".join([text_table(names, rows, [True] * len(names)), together, *self.notes])

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


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Figured):
    """A released answer.

    ``charge`` is the number of the charge that paid for it, None if there was nothing to pay; ``cost`` is what asking
    cost this time, 0 for an answer that was ``cached``.  ``columns`` are the items of the SELECT list.  Without GROUP
    BY there is one row, and :attr:`value` is its first figure.  ``expected_error`` is the mean absolute error of the
    first column of figures, None where there is none to tell; an interval holds the true number in 95 of 100 answers.
    ``rehearsed`` says that it is from random rows of the domain, not from the data, and ``derived`` that it was worked
    out, for nothing, from answers that were released before, which ``notes`` name.  The cost is of ``measure``, and
    for one row of the ``rows_per_person`` that someone may have.

    ``strategy`` says what was measured for all statements of a batch together; "" where each has noise of its own.
    Such a batch is paid for as a whole: the first answer has its cost.  The columns of an answer that was asked for
    with ``estimate`` have estimates beside their figures, and ``estimate_method`` says what these are, as the methods
    of :class:`parcomp.estimation.Estimate` do; a *partial projection* is what was proven when the time was up.
    """

    charge: int | None
    columns: tuple[AnswerColumn, ...]
    cost: int | float
    expected_error: float | None
    cached: bool
    rehearsed: bool = False
    notes: tuple[str, ...] = ()
    measure: str = ""
    rows_per_person: int = 1
    strategy: str = ""
    derived: bool = False
    estimate_method: str = ""

    def __post_init__(self) -> None:
        if not self.columns:
            raise ArgumentError("an answer has a column at least")
        if len({len(column.values) for column in self.columns}) != 1:
            raise ArgumentError("the columns of an answer have a value for each row, all of them")

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
            for row, figure in zip(self._label_rows(), self.measured[0].known, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """The answer as the command line's ``--json`` prints it."""
        if self.grouped:
            groups = [{"group": g.row, "value": g.value, "interval": list(g.interval)} for g in self.groups]
            numbers: dict[str, Any] = {"groups": groups}
        else:
            numbers = {"value": self.value, "interval": list(self.interval)}
            if self._estimated() is not None:
                numbers |= {"estimate": self.estimate, "estimate_interval": list(self.estimate_interval)}
        paid = {name: getattr(self, name) for name in ("cost", "expected_error", "cached")}
        more: dict[str, Any] = {
            "names": [column.name for column in self.columns],
            "errors": [
                None if column.figures is None else [figure.error for figure in column.figures]
                for column in self.columns
            ],
            # What makes an interval approximate is what was asked for, so all of a column are or none is.
            "approximate": [any(figure.approximate for figure in column.figures or ()) for column in self.columns],
            "measure": self.measure,
            "rows_per_person": self.rows_per_person,
        }
        if len(self.measured) > 1:
            more["columns"] = [list(column.values) for column in self.columns]
            more["intervals"] = [
                None if column.figures is None else [[figure.low, figure.high] for figure in column.figures]
                for column in self.columns
            ]
        if any(column.estimates is not None for column in self.measured):
            more["estimates"] = [
                None if column.estimates is None else [[one.value, one.low, one.high] for one in column.estimates]
                for column in self.columns
            ]
            if self.estimate_method:
                more["estimate_method"] = self.estimate_method
        if self.strategy:
            more["strategy"] = self.strategy
        if self.notes:
            more["notes"] = list(self.notes)
        if self.rehearsed:
            more["rehearsed"] = True
        if self.derived:
            more["derived"] = True
        return {"charge": self.charge, **numbers, **paid, **more}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Answer:
        """The answer that :meth:`as_json` has told, but for which of its intervals are cautious."""
        paid = ("charge", "cost", "expected_error", "cached", "measure", "rows_per_person")
        return cls(
            columns=columns_of(document),
            rehearsed=document.get("rehearsed", False),
            notes=tuple(document.get("notes", ())),
            strategy=document.get("strategy", ""),
            derived=document.get("derived", False),
            estimate_method=document.get("estimate_method", ""),
            **{name: document[name] for name in paid},
        )

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import answer_html  # noqa: PLC0415  only a notebook asks for it

        return answer_html(self)

    def _label_rows(self) -> Iterator[dict[str, Value]]:
        labels = self.labels
        for place in range(len(self)):
            yield {column.name: column.values[place] for column in labels}

    def _whole(self, instead: str) -> Group:
        if self.grouped:
            raise AttributeError(f"an answer with GROUP BY has {instead}")
        return self.groups[0]


def _stacked(quotes: Sequence[Quote]) -> Columns:
    """What quotes say, as columns."""
    columns = stacked_fields(quotes)
    return Columns(
        columns, frozenset(columns) - {"fits", "cached", "reason", "limit", "measure", "strategy", "derivable"}
    )


def _by_rows(told: Mapping[Any, float]) -> dict[int, float]:
    """Errors for some numbers of rows; names in JSON are strings."""
    return {int(rows): error for rows, error in told.items()}

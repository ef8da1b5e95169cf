"""What the service sends, as values: quotes and answers, and an answer's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parcomp.costs import short_down, short_up
from parcomp.errors import ServiceError
from parcomp.figures import (
    AnswerColumn,
    EstimatedCount,
    Estimates,
    Figured,
    FiguredBatch,
    Value,
    columns_of,
    growth_text,
    unit_of,
    whose,
)
from parcomp.tabular import error_text, text_table

__all__ = [
    "EstimatedCount",
    "Estimates",
    "ServedAnswer",
    "ServedBatch",
    "ServedBatchQuote",
    "ServedQuote",
    "estimates_read",
]


@dataclass(frozen=True, slots=True)
class ServedQuote:
    """What asking would mean; all amounts are in the measure's parameter (ε, ρ or μ).

    ``adds`` is by how much the dataset's loss would grow, ``remaining`` the most that a query on these rows may cost,
    and ``fits`` whether this one may be asked.  ``document`` is all that was sent.
    """

    cost: int | float
    adds: int | float
    remaining: int | float
    fits: bool
    expected_error: float | None
    document: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @classmethod
    def read(cls, document: Any) -> ServedQuote:
        """The quote that the service sent."""
        names = ("cost", "adds", "remaining", "fits", "expected_error")
        return cls(**{name: _member(document, name) for name in names}, document=document)

    def as_json(self) -> dict[str, Any]:
        """The quote as it was sent."""
        return dict(self.document)

    def __str__(self) -> str:
        unit = unit_of(self.document.get("measure", ""))
        of_row, of_person = whose(self.document.get("rows_per_person", 1))
        free = "free: it was bought before, at least as accurately" if self.document.get("cached") else ""
        rows = [
            ("verdict", free or ("fits" if self.fits else f"does not fit: {self.document.get('reason', '')}")),
            ("cost", f"{unit}{short_up(self.cost)}{of_row}"),
            ("adds", f"{growth_text(unit, self.adds, self.cost)}{of_person}"),
            ("remaining", f"{unit}{short_down(self.remaining)}{of_row}"),
        ]
        if self.expected_error is not None:
            rows.append(("expected error", error_text(self.expected_error)))
        if self.document.get("derivable"):
            rows.append(("derivable", f"free, {error_text(self.document['derived_error'])}"))
        return text_table(("", ""), rows, (False, False))


@dataclass(frozen=True, slots=True)
class ServedBatchQuote:
    """What asking a batch would mean: a quote for each statement after those before it, and for all together."""

    quotes: tuple[ServedQuote, ...]
    adds: int | float
    fits: bool

    @classmethod
    def read(cls, document: Any) -> ServedBatchQuote:
        """The quotes that the service sent."""
        quotes = tuple(map(ServedQuote.read, _member(document, "quotes")))
        return cls(quotes, _member(document, "adds"), _member(document, "fits"))

    def as_json(self) -> dict[str, Any]:
        """The quotes as they were sent."""
        return {"quotes": [quote.as_json() for quote in self.quotes], "adds": self.adds, "fits": self.fits}

    def __str__(self) -> str:
        verdict = "fits" if self.fits else "does not fit: nothing would be charged"
        each = "\n\n".join(f"statement {number:,}\n{quote}" for number, quote in enumerate(self.quotes, 1))
        about: Mapping[str, Any] = self.quotes[0].document if self.quotes else {}
        dearest = max((quote.cost for quote in self.quotes), default=0)
        growth = growth_text(unit_of(about.get("measure", "")), self.adds, dearest)
        adds = f"{growth}{whose(about.get('rows_per_person', 1))[1]}"
        return f"{each}\n\ntogether: adds {adds}; {verdict}"


@dataclass(frozen=True, slots=True, repr=False)
class ServedAnswer(Figured):
    """An answer: ``names`` of its columns, and ``rows`` of values in their order.

    ``charge`` is the number of the charge that paid for it, ``cost`` what asking cost this time, 0 for one that was
    ``cached``.  ``intervals`` has for each row the 95 % interval of its first number, and ``columns`` all figures, with
    estimates beside them where they were asked for.  It is a data frame too (``to_pandas()``, ``to_polars()`` and
    ``to_arrow()``), a table in a terminal (``str``) and a picture (``plot()``), as an answer of a custodian is.
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
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, document: Any) -> ServedAnswer:
        """The answer that the service sent."""
        _member(document, "errors")
        paid = ("charge", "cost", "expected_error", "cached", "measure", "rows_per_person")
        return cls(
            columns=columns_of(document),
            rehearsed=document.get("rehearsed", False),
            notes=tuple(document.get("notes", ())),
            strategy=document.get("strategy", ""),
            derived=document.get("derived", False),
            **{name: _member(document, name) for name in paid},
            document=document,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]:
        """The values, row by row."""
        return tuple(zip(*(column.values for column in self.columns), strict=True))

    @property
    def intervals(self) -> tuple[tuple[Any, ...], ...]:
        """The 95 % interval of the first number of each row."""
        if not self.measured:
            return ((None, None),) * len(self)
        return tuple((figure.low, figure.high) for figure in self.measured[0].known)

    @property
    def value(self) -> Value:
        """The number, of an answer without GROUP BY: the first one, if there are several."""
        if self.grouped:
            raise AttributeError("an answer with GROUP BY has rows, not one value")
        return self.measured[0].values[0]

    @property
    def interval(self) -> tuple[Any, ...]:
        """The 95 % interval of the number, of an answer without GROUP BY."""
        if self.grouped:
            raise AttributeError("an answer with GROUP BY has intervals, one for each row")
        return self.intervals[0]

    def as_json(self) -> dict[str, Any]:
        """The answer as it was sent."""
        return dict(self.document)


@dataclass(frozen=True, slots=True, repr=False)
class ServedBatch(FiguredBatch[ServedAnswer]):
    """Answers in the order of their statements: a list of them, and one data frame, as those of a custodian are."""

    @classmethod
    def read(cls, document: Any, statements: Sequence[str | Mapping[str, Any]]) -> ServedBatch:
        """The answers that the service sent to statements, which are SQL or have it."""
        told = tuple(map(ServedAnswer.read, _member(document, "answers")))
        return cls(told, tuple(one if isinstance(one, str) else str(one["sql"]) for one in statements))

    def as_json(self) -> list[dict[str, Any]]:
        """The answers as they were sent."""
        return [answer.as_json() for answer in self.answers]


def estimates_read(document: Any) -> Estimates:
    """The estimates that the service sent."""
    for name in ("confidence", "left_out", "estimates"):
        _member(document, name)
    return Estimates.read(document)


def _member(document: Any, name: str) -> Any:
    if not isinstance(document, dict) or name not in document:
        raise ServiceError(
            f"the server's answer has no {name}; is it a server of Parcomp, of this version?", status=200
        )
    return document[name]

"""What the service sends, as values: quotes and answers, and an answer's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parcomp.errors import ServiceError
from parcomp.tabular import Columns, Tabular

__all__ = ["ServedAnswer", "ServedQuote"]

Value: TypeAlias = str | int | bool | float | None


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


@dataclass(frozen=True, slots=True)
class ServedAnswer(Tabular):
    """An answer: ``names`` of its columns, and ``rows`` of values in their order.

    ``charge`` is the number of the charge that paid for it, ``cost`` what asking cost this time, 0 for one that was
    ``cached``.  ``intervals`` has for each row the 95 % interval of its first number.  It is a data frame too:
    ``to_pandas()``, ``to_polars()`` and ``to_arrow()``.
    """

    charge: int | None
    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    intervals: tuple[tuple[Any, ...], ...]
    cost: int | float
    expected_error: float | None
    cached: bool
    document: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @classmethod
    def read(cls, document: Any) -> ServedAnswer:
        """The answer that the service sent."""
        groups = document.get("groups") if isinstance(document, dict) else None
        if groups is None:
            groups = [{"group": {}, "value": _member(document, "value"), "interval": _member(document, "interval")}]
        if "columns" in document:
            names = tuple(document["names"])
            rows = tuple(zip(*document["columns"], strict=True))
        else:
            labels = tuple(groups[0]["group"]) if groups else ()
            # In the order of the SELECT list, under the names that it gives.
            names = tuple(document.get("names") or (*labels, "value"))
            rows = tuple(tuple(one["group"].get(name, one["value"]) for name in names) for one in groups)
        return cls(
            _member(document, "charge"),
            names,
            rows,
            tuple(tuple(one["interval"]) for one in groups),
            _member(document, "cost"),
            _member(document, "expected_error"),
            _member(document, "cached"),
            document,
        )

    @property
    def grouped(self) -> bool:
        """Whether it was asked for with GROUP BY."""
        return "groups" in self.document

    def items(self) -> list[tuple[str, tuple[Value, ...], tuple[tuple[Any, ...], ...] | None]]:
        """The columns: the name, the values, and the 95 % interval of each, None where they are labels."""
        values = list(zip(*self.rows, strict=True)) or [()] * len(self.names)
        if "columns" in self.document:
            told = [None if one is None else tuple(map(tuple, one)) for one in self.document["intervals"]]
        else:
            labels = self.document["groups"][0]["group"] if self.document.get("groups") else {}
            told = [None if name in labels else self.intervals for name in self.names]
        return list(zip(self.names, values, told, strict=True))

    @property
    def value(self) -> Value:
        """The number, of an answer without GROUP BY: the first one, if there are several."""
        if self.grouped:
            raise AttributeError("an answer with GROUP BY has rows, not one value")
        first: Value = self.document["value"]
        return first

    @property
    def interval(self) -> tuple[Any, ...]:
        """The 95 % interval of the number, of an answer without GROUP BY."""
        if self.grouped:
            raise AttributeError("an answer with GROUP BY has intervals, one for each row")
        return self.intervals[0]

    def as_json(self) -> dict[str, Any]:
        """The answer as it was sent."""
        return dict(self.document)

    def _columns(self) -> Columns:
        """The columns of the answer, and the ends of the interval of its first number as ``low`` and ``high``.

        A single number stands under ``value``, as in an answer of a custodian.
        """
        named = [name for name, _, _ in self.items()]
        if "columns" not in self.document:
            named = [name if intervals is None else "value" for name, _, intervals in self.items()]
        names = _distinct([*named, "low", "high"])
        values = [*zip(*self.rows, strict=True)] or [()] * len(self.names)
        ends = [*zip(*self.intervals, strict=True)] or [(), ()]
        paid = {name: getattr(self, name) for name in ("charge", "cost", "expected_error", "cached")}
        return Columns(dict(zip(names, [*values, *ends], strict=True)), frozenset(names[-3:]), paid)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that were there before."""
    found: list[str] = []
    for name in names:
        free, number = name, 1
        while free in found:
            number += 1
            free = f"{name} {number}"
        found.append(free)
    return found


def _member(document: Any, name: str) -> Any:
    if not isinstance(document, dict) or name not in document:
        raise ServiceError(
            f"the server's answer has no {name}; is it a server of Parcomp, of this version?", status=200
        )
    return document[name]

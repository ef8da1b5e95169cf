"""What a custodian hands out: quotes before, answers after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parcomp.model import Value

__all__ = ["Answer", "BatchQuote", "Group", "Quote"]


@dataclass(frozen=True, slots=True)
class Quote:
    """What asking would mean; all amounts are in the measure's parameter (ε, ρ or μ).

    ``adds`` is by how much the dataset's proven loss would grow, often 0.  ``remaining`` is the most that a query on
    these rows may cost, and ``fits`` whether this one may be asked.  ``expected_error`` is the mean absolute error
    of the answer, and ``best_error`` that of the most accurate answer still affordable; None where they depend on how
    many rows there are (averages), or nothing is affordable.  ``reason`` says why it does not fit, "" if it does.
    """

    cost: int | float
    adds: int | float
    remaining: int | float
    fits: bool
    expected_error: float | None
    best_error: float | None
    cached: bool
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The quote as the command line's ``--json`` prints it."""
        return {name: getattr(self, name) for name in ("cost", "adds", "remaining", "fits", "expected_error")}


@dataclass(frozen=True, slots=True)
class BatchQuote:
    """What asking a batch would mean: a quote for each statement after those before it, and for all together."""

    quotes: tuple[Quote, ...]
    adds: int | float
    fits: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The answer for one group: its values by attribute, and the noisy number with its 95 % interval.

    Without GROUP BY the whole is a group, with no attributes.
    """

    row: dict[str, Value]
    value: int | float
    interval: tuple[int | float, int | float]


@dataclass(frozen=True, slots=True)
class Answer:
    """A released answer.

    ``charge`` is the number of the charge that paid for it, None if there was nothing to pay; ``cost`` is what asking
    cost this time, 0 for an answer that was ``cached``.  Without GROUP BY there is one group, and :attr:`value` is its.
    ``expected_error`` is the mean absolute error of each number; ``interval`` holds the true one in 95 of 100 answers.
    """

    charge: int | None
    groups: tuple[Group, ...]
    cost: int | float
    expected_error: float
    cached: bool

    @property
    def grouped(self) -> bool:
        """Whether it was asked for with GROUP BY."""
        return len(self.groups) != 1 or bool(self.groups[0].row)

    @property
    def value(self) -> int | float:
        """The number, of an answer without GROUP BY."""
        return self._whole("groups, not one value").value

    @property
    def interval(self) -> tuple[int | float, int | float]:
        """The 95 % interval of the number, of an answer without GROUP BY."""
        return self._whole("an interval in each group").interval

    def as_json(self) -> dict[str, Any]:
        """The answer as the command line's ``--json`` prints it."""
        if self.grouped:
            groups = [{"group": g.row, "value": g.value, "interval": list(g.interval)} for g in self.groups]
            numbers: dict[str, Any] = {"groups": groups}
        else:
            numbers = {"value": self.value, "interval": list(self.interval)}
        paid = {name: getattr(self, name) for name in ("cost", "expected_error", "cached")}
        return {"charge": self.charge, **numbers, **paid}

    def _whole(self, instead: str) -> Group:
        if self.grouped:
            raise AttributeError(f"an answer with GROUP BY has {instead}")
        return self.groups[0]

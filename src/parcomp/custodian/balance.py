"""What was spent of a budget, and by whom, in the numbers that people read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parcomp.custodian.books import Books
from parcomp.custodian.settings import Settings
from parcomp.privacy import MeasureName

__all__ = ["Balance", "Share", "balance_of"]


@dataclass(frozen=True, slots=True)
class Share:
    """What one analyst may spend and has spent, in the measure's parameter.

    ``quota`` is None where only the budget bounds the analyst, and so is then ``remaining``.  ``spent`` is proven: the
    loss of the analyst's own charges is never above it.  ``remaining`` is what the quota leaves where most is spent.
    ``epsilon`` has the same amounts as an ε, if the budget is one of (ε, δ).
    """

    quota: int | float | None
    spent: int | float
    remaining: int | float | None
    charges: int
    epsilon: Mapping[str, float | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The share as the command line's ``--json`` prints it."""
        epsilon = {"epsilon": _finite(self.epsilon)} if self.epsilon else {}
        return {"quota": self.quota, "spent": self.spent, **epsilon}


@dataclass(frozen=True, slots=True)
class Balance:
    """What was spent so far, in the measure's parameter.

    ``loss`` is proven and never above ``budget``; ``sequential`` is what the same charges would cost without regard to
    overlap.  ``remaining`` is what is left on the rows on which most was spent; others have more left.  ``analysts``
    are those that the settings declare and those that have charges.

    With a budget of (ε, δ), ``delta`` is its δ, and ``epsilon`` has the amounts as an ε at that δ: what was spent
    rounded up, what is left rounded down.
    """

    measure: MeasureName
    budget: int | float
    loss: int | float
    sequential: int | float
    remaining: int | float
    charges: int
    analysts: Mapping[str, Share] = field(default_factory=dict)
    delta: float | None = None
    epsilon: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def spent(self) -> int | float:
        """What was spent: the proven loss."""
        return self.loss

    def as_json(self) -> dict[str, Any]:
        """The balance as ``parcomp budget --json`` prints it."""
        approximate = {} if self.delta is None else {"delta": self.delta, "epsilon": _finite(self.epsilon)}
        return {
            "measure": self.measure,
            "budget": self.budget,
            "spent": self.spent,
            "sequential": self.sequential,
            "charges": self.charges,
            "analysts": {name: share.as_json() for name, share in self.analysts.items()},
            **approximate,
        }


def balance_of(settings: Settings, books: Books, analyst: str | None = None) -> Balance:
    """The balance by the books, with the shares of all analysts or of one of them."""
    counted = books.counted()
    if analyst is None:
        shown = [*dict.fromkeys([*settings.quotas, *sorted(name for name in counted if name)])]
    else:
        settings.check_analyst(analyst)
        shown = [analyst] if analyst else []
    measure, rows = settings.measure, settings.rows_per_person
    budget, loss, sequential = (
        settings.budget_units,
        measure.group(books.dataset.loss, rows),
        measure.group(books.dataset.sequential, rows),
    )
    shares = {
        name: _share(settings, name, measure.group(units, rows), counted[name])
        for name, units in books.spent_by(shown).items()
    }
    epsilon: dict[str, float | None] = {}
    if settings.approximate is not None:
        stated = settings.approximate
        epsilon = {
            "budget": stated.epsilon,
            "spent": stated.epsilon_up(loss),
            "sequential": stated.epsilon_up(sequential),
            "remaining": stated.epsilon_down(budget - loss),
        }
    return Balance(
        measure=measure.name,
        budget=measure.parameter_down(budget),
        loss=measure.parameter_up(loss),
        sequential=measure.parameter_up(sequential),
        remaining=measure.parameter_down(budget - loss),
        charges=books.charges,
        analysts=shares,
        delta=None if settings.approximate is None else settings.approximate.delta,
        epsilon=epsilon,
    )


def _share(settings: Settings, analyst: str, spent: int, charges: int) -> Share:
    measure, quota, stated = settings.measure, settings.quotas.get(analyst), settings.approximate
    # A quota that was lowered may be below what was spent.
    left = None if quota is None else max(quota - spent, 0)
    epsilon: dict[str, float | None] = {}
    if stated is not None:
        epsilon = {
            "quota": None if quota is None else settings.epsilon_down(quota),
            "spent": stated.epsilon_up(spent),
            "remaining": None if left is None else settings.epsilon_down(left),
        }
    return Share(
        quota=None if quota is None else measure.parameter_down(quota),
        spent=measure.parameter_up(spent),
        remaining=None if left is None else measure.parameter_down(left),
        charges=charges,
        epsilon=epsilon,
    )


def _finite(amounts: Mapping[str, float | None]) -> dict[str, float | None]:
    """Amounts as JSON has them, which knows no infinity."""
    return {name: None if amount is None or math.isinf(amount) else amount for name, amount in amounts.items()}

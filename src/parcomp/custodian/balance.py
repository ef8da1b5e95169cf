"""What was spent of a budget, and by whom, in the numbers that people read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from parcomp.costs import short_down, short_up
from parcomp.custodian.books import Books
from parcomp.custodian.settings import Settings
from parcomp.errors import one_line
from parcomp.privacy import MeasureName, Neighbours, find_measure, guarantee_in_words
from parcomp.tabular import counted, text_table

__all__ = ["Balance", "Share", "balance_of"]

_ABOUT = ("dataset", "version", "guarantee", "rows_per_person")


@dataclass(frozen=True, slots=True)
class Share:
    """What one analyst may spend and has spent, in the measure's parameter.

    ``quota`` is None where only the budget bounds the analyst, and so is then ``remaining``.  ``spent`` is proven: the
    loss of the analyst's own charges is never above it.  ``remaining`` is what the quota leaves where most is spent.
    ``epsilon`` has the same amounts as an ε, at the δ of the budget if that is one of (ε, δ).
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

    def document(self) -> dict[str, Any]:
        """The share as the service tells it."""
        return {**self.as_json(), "remaining": self.remaining, "charges": self.charges}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Share:
        """The share that :meth:`document` has told."""
        amounts = {name: document[name] for name in ("quota", "spent", "remaining")}
        return cls(**amounts, charges=document["charges"], epsilon=_infinite(document.get("epsilon", {}), amounts))


@dataclass(frozen=True, slots=True, repr=False)
class Balance:
    """What was spent so far, in the measure's parameter.

    ``loss`` is proven and never above ``budget``; ``sequential`` is what the same charges would cost without regard to
    overlap.  ``remaining`` is what is left on the rows on which most was spent; others have more left.  ``analysts``
    are those that the settings declare and those that have charges.

    With a budget of (ε, δ), ``delta`` is its δ, and ``epsilon`` has the amounts as an ε at that δ: what was spent
    rounded up, what is left rounded down.  ``guarantee`` says in words what was spent, and against what; all amounts
    are for all ``rows_per_person`` rows of a person, and ``bounded`` says that no more were taken of anyone.
    ``neighbours`` is what two neighboring tables differ by.
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
    dataset: str = ""
    version: str = ""
    guarantee: str = ""
    rows_per_person: int = 1
    bounded: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE

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

    def document(self) -> dict[str, Any]:
        """The balance as the service tells it: with what is left, and what all of it is about."""
        more = {name: getattr(self, name) for name in ("remaining", *_ABOUT, "bounded", "neighbours")}
        return {**self.as_json(), "analysts": {name: one.document() for name, one in self.analysts.items()}, **more}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Balance:
        """The balance that :meth:`document` has told."""
        amounts = {name: document[name] for name in ("budget", "spent", "sequential", "remaining")}
        return cls(
            document["measure"],
            loss=amounts.pop("spent"),
            **amounts,
            charges=document["charges"],
            analysts={name: Share.read(one) for name, one in document["analysts"].items()},
            delta=document.get("delta"),
            epsilon=_infinite(document.get("epsilon", {}), document),
            **{name: document[name] for name in _ABOUT},
            bounded=document.get("bounded", False),
            neighbours=Neighbours(document.get("neighbours", Neighbours.ADD_REMOVE)),
        )

    def __repr__(self) -> str:
        symbol = find_measure(self.measure).symbol
        spent = f"{symbol} = {short_up(self.spent)} of {symbol} = {short_down(self.budget)} spent"
        return f"<Balance of {one_line(self.dataset)} {one_line(self.version)}: {spent}>"

    def __str__(self) -> str:
        symbol, at = find_measure(self.measure).symbol, "" if self.delta is None else f" at δ = {short_up(self.delta)}"
        rows = []
        for name, short in (
            ("budget", short_down),
            ("spent", short_up),
            ("remaining", short_down),
            ("sequential", short_up),
        ):
            epsilon = self.epsilon.get(name)
            also = "" if epsilon is None else f" (ε = {short(epsilon)}{at})"
            rows.append((name, f"{symbol} = {short(getattr(self, name))}{also}"))
        for name, share in self.analysts.items():
            quota = "" if share.quota is None else f" of a quota of {symbol} = {short_down(share.quota)}"
            rows.append((f"spent by {one_line(name)}", f"{symbol} = {short_up(share.spent)}{quota}"))
        lines = [text_table(("", ""), rows, (False, False)), *([self.squares] if self.squares else []), self.title]
        if self.rows_per_person > 1:
            lines.append(f"these amounts are for a person, who may have {self.rows_per_person:,} rows")
        return "\n".join(lines)

    @property
    def squares(self) -> str:
        """How what was spent and what is left make up a budget of Gaussian DP; "" where they just add up.

        Amounts are rounded as they are told, so that the squares may be off by a little.
        """
        if self.measure != "gdp" or not self.spent:
            return ""
        spent, left, budget = short_up(self.spent), short_down(self.remaining), short_down(self.budget)
        squares = [Decimal(amount.replace(",", "")) ** 2 for amount in (spent, left, budget)]
        exact = squares[0] + squares[1] == squares[2]
        return f"μ adds up as squares: {spent}² + {left}² {'=' if exact else '≈'} {budget}²"

    @property
    def title(self) -> str:
        """The dataset, how many charges there are, and the guarantee."""
        return f"{one_line(self.dataset)} {one_line(self.version)}, {counted(self.charges, 'charge')}: {self.guarantee}"


def balance_of(settings: Settings, books: Books, analyst: str | None = None) -> Balance:
    """The balance by the books, with the shares of all analysts or of one of them."""
    charged = books.counted()
    if analyst is None:
        shown = [*dict.fromkeys([*settings.quotas, *sorted(name for name in charged if name)])]
    else:
        settings.check_analyst(analyst)
        shown = [analyst] if analyst else []
    measure, rows = settings.measure, settings.rows_per_person
    implied = ""
    budget, loss, sequential = (
        settings.budget_units,
        measure.group(books.dataset.loss, rows),
        measure.group(books.dataset.sequential, rows),
    )
    shares = {
        name: _share(settings, name, measure.group(units, rows), charged[name])
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
        implied = f"ε = {short_up(stated.epsilon_up(loss))} at δ = {short_up(stated.delta)}"
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
        dataset=settings.name,
        version=settings.version,
        guarantee=guarantee_in_words(
            measure.name,
            measure.parameter_up(loss),
            settings.neighbours,
            rows,
            bounded=bool(settings.person),
            implied=implied,
        ),
        rows_per_person=rows,
        neighbours=settings.neighbours,
        bounded=bool(settings.person),
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


def _infinite(epsilon: Mapping[str, float | None], amounts: Mapping[str, Any]) -> dict[str, float | None]:
    """What JSON has of amounts as an ε: it is infinite where there is an amount and no ε."""
    return {name: math.inf if one is None and amounts[name] is not None else one for name, one in epsilon.items()}

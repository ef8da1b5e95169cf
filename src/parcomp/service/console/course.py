"""How the spending went, charge by charge: what had been lost after each, what it added, and why.

*What it added.*  The ledger keeps with each charge a proven bound of the most that any row has paid.  The loss follows
from it by the neighbor relation (:mod:`parcomp.custodian.accountant`): it is that bound, or against replacing a row
twice the bound or the sum of what replacing a row costs in each charge, whichever is less.

*Why.*  All rows that a charge covers pay for it.  So the most that one of them has paid after it is the most that one
had paid before, plus its cost; charges before it that make that maximum, and a row that pays for all of them, show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from parcomp.custodian import Custodian, Settings, charge_graph
from parcomp.custodian.accountant import Expense
from parcomp.ledger import Charge
from parcomp.privacy import Neighbours, neighbor_units

__all__ = ["Step", "course_of", "left_on_rows", "loss_found", "reason_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """A charge, what was lost before and after it, and what all up to it would have cost one by one.

    In additive units, for all rows of one person.
    """

    charge: Charge
    former: int
    loss: int
    sequential: int


def course_of(custodian: Custodian) -> list[Step]:
    """All charges in their order; loads of the table are none."""
    settings = custodian.settings
    replacing = settings.neighbours == Neighbours.REPLACE_ONE
    steps: list[Step] = []
    former, total, replaced = 0, 0, 0

    def of_a_person(units: int) -> int:
        return settings.measure.group(units, settings.rows_per_person)

    for charge, expense in custodian.spending():
        total += expense.units
        replaced += expense.replaced_units
        loss = min(2 * charge.upper, replaced) if replacing else charge.upper
        sequential = replaced if replacing else total
        steps.append(Step(charge, of_a_person(former), of_a_person(loss), of_a_person(sequential)))
        former = loss
    return steps


def loss_found(custodian: Custodian) -> int:
    """What the loss is if no row has paid more than the one that was found to have paid most; for a person, in units.

    It is never above the loss that the books have proven, and equal to it where that is exact.
    """
    settings = custodian.settings
    replaced = sum(expense.replaced_units for _, expense in custodian.spending())
    found = neighbor_units(custodian.overlook.graph(1).lower, replaced, settings.neighbours)
    return settings.measure.group(found, settings.rows_per_person)


def left_on_rows(settings: Settings, upper: int) -> int:
    """What an answer may still cost on rows that have paid at most ``upper``, by the budget; never too much."""
    replacing = settings.neighbours == Neighbours.REPLACE_ONE
    return max((settings.row_budget // 2 if replacing else settings.row_budget) - upper, 0)


def reason_of(custodian: Custodian, number: int) -> dict[str, Any]:
    """Why a charge added what it added: what one row of its own had paid before it, and for what.

    Amounts are what one row pays, in the measure's parameter.
    """
    settings = custodian.settings
    spending = custodian.spending()
    own = next(expense for charge, expense in spending if charge.number == number)
    graph = charge_graph(settings, _meeting(spending, own, number), 1)
    up = settings.measure.parameter_up
    earlier = [charge for charge, _ in spending if charge.number < number]
    after = next(charge.upper for charge, _ in spending if charge.number == number)
    return {
        **graph.as_json(settings)["maximum"],
        "meets": graph.total,
        "with_it": up(graph.upper + own.units),
        "most_before": up(earlier[-1].upper if earlier else 0),
        "most_after": up(after),
    }


def _meeting(spending: Sequence[tuple[Charge, Expense]], own: Expense, number: int) -> list[tuple[Charge, Expense]]:
    """The charges before one that its rows pay for, restricted to these rows."""
    met = (
        (charge, replace(expense, query=expense.query & own.query))
        for charge, expense in spending
        if charge.number < number
    )
    return [(charge, expense) for charge, expense in met if not expense.query.is_contradiction]

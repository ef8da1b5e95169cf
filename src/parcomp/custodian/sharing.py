"""How a batch's budget is shared out among its statements.

The budget B is the most that the batch may disclose as the dataset's guarantee states it.  Against a person of k rows
the loss is k times (pure) or k² times (zCDP, GDP) that against a single row, so a row may spend R = ⌊B/k⌋ or ⌊B/k²⌋.
Let c be the costs of the statements, f = 2 for those with GROUP BY and f = 1 for the others
(:mod:`parcomp.custodian.accountant`).

*Adding or removing a row*: the loss is the maximum overlap γ.  The plan has γ ≤ R, which :func:`parcomp.plan` proves.

*Replacing a row*: the loss is min(2γ, Σ f·c), so it is at most R if and only if either term is.  There are two plans,
and the one with the lower mean expected error is taken:

* *by overlap*: γ ≤ ⌊R/2⌋, hence 2γ ≤ R;
* *by sum*: errors fall as c^(−p), and Σ w·c^(−p) is least under Σ f·c ≤ R where c is proportional to
  r = (w/f)^(1/(1+p)).  With r as integers and T = Σ f·r, each cost is ⌊R·r/T⌋, and Σ f·⌊R·r/T⌋ ≤ R·Σ f·r/T = R
  whatever r is.

In both cases, what is booked is at most what was planned, and every statement is charged once at most: equal statements
are planned as one, which matters as often as it is asked; contradictions are free; what was bought before is free or
paid for anew.  So the batch spends at most what was planned.

*What is least* is the sum of the errors of all noisy numbers, as often as items use them, where each statement divides
its own cost for the least (:mod:`parcomp.custodian.division`): a search of L numbers weighs more than a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from parcomp.costs import MAX_UNITS, Amount
from parcomp.custodian.division import weight_of
from parcomp.custodian.release import Release
from parcomp.custodian.settings import Settings
from parcomp.errors import CostError, shown
from parcomp.model import Statement, Workload
from parcomp.planning import error_exponent, expected_errors, plan
from parcomp.privacy import Neighbours

__all__ = ["share_out"]

_DIGITS = 2**40
"""The optimum by sum is worked out to this fraction of the largest cost."""


def share_out(settings: Settings, statements: Sequence[Statement], budget: Amount) -> list[Release]:
    """Each statement with the noise that its part of the budget buys, where the mean expected error is least.

    Errors are weighed in what one row can contribute: a sum of incomes must not outweigh every count.  A statement
    matters as the numbers that are measured for its items do.  Raises :class:`~parcomp.errors.CostError` if the budget
    is too small for all.
    """
    distinct = {one.text: one for one in statements if not one.query.is_contradiction}
    asked = Counter(one.text for one in statements if one.text in distinct)
    priced: dict[str, Release] = {}
    if distinct:
        units = settings.measure.budget_down(budget)
        row_budget = units // settings.measure.group(1, settings.rows_per_person)
        shared = [(one, asked[text] * weight_of(settings.measure, one)) for text, one in distinct.items()]
        priced = _best_that_can_be_drawn(settings, shared, row_budget, budget)
    return [priced[one.text] if one.text in priced else _nothing_to_pay(settings, one) for one in statements]


def _best_that_can_be_drawn(
    settings: Settings, shared: Sequence[tuple[Statement, float]], row_budget: int, budget: Amount
) -> dict[str, Release]:
    """The plan with the least mean error of those whose every cost buys noise that can be drawn."""
    reasons: list[str] = []
    plans: list[tuple[float, list[int]]] = []
    for costs in _plans(settings, shared, row_budget, reasons):
        errors = expected_errors(settings.measure, np.array(costs, np.int64))
        plans.append((float(np.dot([weight for _, weight in shared], errors)), costs))
    for _, costs in sorted(plans):
        try:
            releases = [Release.plan(settings, one, cost) for (one, _), cost in zip(shared, costs, strict=True)]
        except CostError as error:
            reasons.append(str(error))
        else:
            return {release.statement.text: release for release in releases}
    raise CostError(
        f"a budget of {shown(budget)} is too small to be shared out among {len(shared):,} statements: "
        f"{reasons[0]}; give the batch more, or ask fewer statements at once"
    )


def _plans(
    settings: Settings, shared: Sequence[tuple[Statement, float]], row_budget: int, reasons: list[str]
) -> Iterator[list[int]]:
    """The costs of each plan that gives every statement a unit at least; ``reasons`` says why another one does not."""
    replacing = settings.neighbours == Neighbours.REPLACE_ONE
    overlap_budget = row_budget // 2 if replacing else row_budget
    if overlap_budget:
        workload = Workload(settings.domain, [one.query for one, _ in shared])
        importance = [weight for _, weight in shared]
        try:
            shared_out = plan(workload, settings.measure.name, budget_units=overlap_budget, importance=importance)
            yield shared_out.units.tolist()
        except CostError as error:
            reasons.append(str(error))
    if replacing:
        by_sum = _by_sum(settings, shared, row_budget)
        if min(by_sum) >= 1:
            yield by_sum
    if not reasons:
        reasons.append("one of them would cost less than a unit of 1e-9")


def _by_sum(settings: Settings, shared: Sequence[tuple[Statement, float]], row_budget: int) -> list[int]:
    """The costs with the least mean error such that what replacing a row discloses through each adds up to R."""
    exponent = error_exponent(settings.measure)
    factors = [one.touched for one, _ in shared]
    shares = [(weight / factor) ** (1 / (1 + exponent)) for factor, (_, weight) in zip(factors, shared, strict=True)]
    whole = [max(1, round(_DIGITS * share / max(shares))) for share in shares]
    total = sum(factor * share for factor, share in zip(factors, whole, strict=True))
    return [row_budget * share // total for share in whole]


def _nothing_to_pay(settings: Settings, statement: Statement) -> Release:
    """A contradiction, at the least cost that stands for some noise: none is drawn, and nothing is charged."""
    units = len(statement.aggregates)
    while True:
        try:
            return Release.plan(settings, statement, units)
        except CostError:
            if units > MAX_UNITS // 2:
                raise
            units *= 2

"""From fractions of a budget to whole units that no row exceeds.

Fractions are rounded down to units.  What the heaviest row then costs, or a proven bound U of it, is found exactly.
If it is above the budget B, costs are moved towards the least costs l that they must keep: with U_l ≤ B a proven
bound for the least costs alone, and θ = (B − U_l)/(U − U_l), every row x satisfies

    Σ (l + θ·(c − l)) = (1 − θ)·Σ l + θ·Σ c ≤ (1 − θ)·U_l + θ·U = B.

Without least costs this is a plain scaling by B/U.  It is done in integers and rounded down, so the argument needs no
floating point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from parcomp.overlap import Bracket, Engine, keep_queries
from parcomp.planning.problem import AllocationProblem, Floats, Units
from parcomp.planning.rows import EveryRow, RowSource
from parcomp.slices import run

__all__ = ["book", "shrink", "shrink_rows", "weigh"]


def book(problem: AllocationProblem, cost: Floats) -> Units:
    """What each query of a class costs in units: its fraction of the budget, rounded down, or its least cost."""
    return np.maximum(np.floor(cost * problem.budget).astype(np.int64), problem.least_units)


def weigh(
    problem: AllocationProblem, source: RowSource, units: Units, deadline: float, enough: int | None = None
) -> Bracket:
    """Bracket what the heaviest row costs, exactly or until the deadline; its ``row`` is which groups the row covers.

    With ``enough`` it need only be found out whether the heaviest row costs more than that.
    """
    weights = problem.spread_units(units)
    if isinstance(source, EveryRow):
        load = source.weigh(weights)
        heaviest = int(load.argmax())
        return Bracket(int(load[heaviest]), int(load[heaviest]), source.rows[heaviest])
    # The engine takes positive weights only.
    paid = np.flatnonzero(weights)
    compiled = keep_queries(replace(problem.reduced, weights=weights), paid)
    engine = Engine(compiled)

    def decided() -> bool:
        if enough is None:
            return False
        bracket = engine.bracket()
        return not bracket.lower <= enough < bracket.upper

    if not decided():
        run(engine, deadline, decided)
    bracket = engine.bracket()
    assert bracket.row is not None
    row = np.zeros(problem.group_count, np.bool_)
    row[problem.reduced.members(bracket.row)] = True
    return Bracket(bracket.lower, bracket.upper, row)


def shrink(problem: AllocationProblem, units: Units, upper: int, least_upper: int) -> Units:
    """Costs that fit the budget, given proven bounds of the heaviest row at ``units`` and at the least costs."""
    if upper <= problem.budget:
        return units
    return _towards_least(
        problem, units, np.ones(len(units), np.bool_), problem.budget - least_upper, upper - least_upper
    )


def shrink_rows(problem: AllocationProblem, source: EveryRow, units: Units) -> Units:
    """The same where all rows are written out: only what a row above the budget covers is moved, row after row."""
    least = source.weigh(problem.spread_units(problem.least_units))
    load = source.weigh(problem.spread_units(units))
    while (row := int(load.argmax())) >= 0 and load[row] > problem.budget:
        inside = source.rows[row][problem.group]
        part, whole = problem.budget - int(least[row]), int(load[row] - least[row])
        units = _towards_least(problem, units, inside, part, whole)
        load = source.weigh(problem.spread_units(units))
    return units


def _towards_least(
    problem: AllocationProblem, units: Units, chosen: npt.NDArray[np.bool_], part: int, whole: int
) -> Units:
    """Keep only ``part`` of ``whole`` of what the chosen classes cost above their least cost."""
    # In Python's integers, which do not overflow.
    moved = units.copy()
    for k in np.flatnonzero(chosen).tolist():
        low = int(problem.least_units[k])
        moved[k] = low + (int(units[k]) - low) * part // whole
    return moved

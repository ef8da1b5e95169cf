"""A plan: what each query costs, what is measured, and how far the answers will be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from parcomp.costs import UNITS_PER_ONE, amount_down, amount_up, short_up
from parcomp.errors import ArgumentError
from parcomp.model import Workload
from parcomp.planning.accuracy import Floats, Units, parameter_units
from parcomp.planning.strategies.charge import Matrix
from parcomp.planning.strategies.found import Histogram
from parcomp.planning.views import plan_html, plot_plan
from parcomp.privacy import Measure
from parcomp.tabular import Columns, Tabular

__all__ = ["Objective", "Plan"]

Objective: TypeAlias = Literal["mean", "max", "uniform"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Tabular):
    """What each query costs and how large its error will be.

    ``units`` are in the measure's additive unit, 0 for contradictions: their answer is 0 without noise.  No row costs
    more than ``loss_units``, which is proven and at most ``budget_units``.  Mean errors are weighted by importance
    where it was given; ``uniform_mean_error`` is that of one cost for all, budget/γ (paper §3), and
    ``sequential_mean_error`` that of budget/t.  ``gap`` bounds how far the objective is from the optimum, as a
    fraction, for errors that fall as a power of the cost; None where no bound was found.

    ``strategy`` says what is measured: each query by itself (``independent``), combinations of them (``correlated``) or
    the classes of rows that no query tells apart (``atoms``); several names, joined by a plus, where parts of the
    workload differ.  A strategy is charged as a whole, by ``loss``.  Its ``units`` say what noise of its own would cost
    that has the same expected error.  Of a correlated strategy, ``matrix`` is H, with a column for each query and
    integers in 64 bits, and ``sigma`` the σ of the discrete Gaussian noise on each coordinate of H·counts.  The queries
    of ``histograms`` are sums of atoms.  No plan of the kind that was looked for has a mean error below
    ``lower_bound``: of independent noise, or of a correlated strategy Gaussian noise of any covariance; None where no
    bound is known.

    ``left_out`` has each strategy that was asked for or to be compared and was not, with why, in words.
    ``independent_mean_error`` is that of noise on each query at the same budget, where it was planned too.
    """

    workload: Workload
    measure: Measure
    objective: Objective
    budget_units: int
    units: Units
    expected_errors: Floats
    mean_error: float
    uniform_mean_error: float
    sequential_mean_error: float
    loss_units: int
    gap: float | None
    rounds: int
    seconds: float
    strategy: str = "independent"
    lower_bound: float | None = None
    matrix: Matrix | None = None
    sigma: float | None = None
    histograms: tuple[Histogram, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    independent_mean_error: float | None = None

    def __repr__(self) -> str:
        return (
            f"<Plan of {len(self.workload):,} queries, {self.objective}: "
            f"{self.measure.symbol} = {short_up(self.loss)}, mean error {self.mean_error:,.4g} "
            f"(uniform {self.uniform_mean_error:,.4g}, sequential {self.sequential_mean_error:,.4g})>"
        )

    @property
    def costs(self) -> list[int | float]:
        """What each query costs, in the measure's parameter: ε, ρ or μ."""
        return [amount_down(units) for units in self._parameter_units().tolist()]

    @property
    def loss(self) -> int | float:
        """What the whole workload spends, in the measure's parameter."""
        if self.measure.power == 1:
            return amount_up(self.loss_units)
        # Rounded up; as budget_units is at most the squared budget, this is at most the budget.
        square = self.loss_units * UNITS_PER_ONE
        return amount_up(math.isqrt(square - 1) + 1 if square else 0)

    @property
    def title(self) -> str:
        """What kind of plan it is, in a word or two."""
        return self.objective if self.strategy == "independent" else self.strategy

    @property
    def cost_title(self) -> str:
        """What its costs are, in a word or two: of a strategy, those of noise on each query with the same error."""
        return f"{'' if self.strategy == 'independent' else 'like '}cost {self.measure.symbol}"

    def mean_errors(self) -> list[tuple[str, float]]:
        """The mean errors of simpler plans and of this one, each with its name."""
        alone = None if self.strategy == "independent" else self.independent_mean_error
        return [
            ("sequential", self.sequential_mean_error),
            ("uniform", self.uniform_mean_error),
            *([] if alone is None else [("independent", alone)]),
            (f"{self.title} plan", self.mean_error),
        ]

    @property
    def worst_error(self) -> float:
        """The largest expected error."""
        return float(self.expected_errors.max(initial=0.0))

    def priced(self) -> Workload:
        """The workload with the plan's costs; a contradiction costs one unit, which no row ever pays."""
        if self.strategy != "independent":
            raise ArgumentError("a strategy is charged as a whole, by its loss; its queries have no costs of their own")
        return self.workload.with_costs(np.maximum(self._parameter_units(), 1), self.measure.parameter)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw how the expected errors are distributed, to a PNG file if a path is given; returns matplotlib's axes."""
        return plot_plan(self, path, axes)

    def _repr_html_(self) -> str:
        return plan_html(self)

    def _columns(self) -> Columns:
        costs = {"id": list(self.workload.ids), "cost": self.costs, "expected_error": self.expected_errors.tolist()}
        return Columns(costs, frozenset({"cost", "expected_error"}), self._about())

    def _about(self) -> dict[str, Any]:
        """What the last line of ``parcomp plan --json`` says."""
        means = ("mean_error", "uniform_mean_error", "sequential_mean_error", "loss", "strategy", "lower_bound")
        return {"measure": self.measure.name, **{name: getattr(self, name) for name in means}}

    def _parameter_units(self) -> Units:
        return parameter_units(self.measure, self.units)

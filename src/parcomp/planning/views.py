"""Plans as a notebook shows them, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parcomp.costs import short_up
from parcomp.markup import bar, block, emphasized, table
from parcomp.picture import drawing
from parcomp.tabular import rounded_text

if TYPE_CHECKING:
    from parcomp.planning.result import Plan

__all__ = ["plan_html", "plot_plan"]

_COLORS = {"independent": "#0969da", "uniform": "#bf8700", "sequential": "#cf222e"}
"""Of the lines for simpler plans."""

_ROWS = 50
"""How many queries are listed before the rest is only counted."""


def plan_html(plan: Plan) -> str:
    """What a plan achieves beside the simpler ones, and what each query costs."""
    symbol = plan.measure.symbol
    # Sequential composition is often so far off that the other bars would vanish beside it.
    simple = plan.mean_errors()
    longest = max(error for _, error in simple[1:]) or 1.0
    means = [(emphasized(f"mean error, {name}"), f"{error:,.4g}", bar(error, longest)) for name, error in simple]
    errors, costs = plan.expected_errors, plan.costs[:_ROWS]
    worst = plan.worst_error or 1.0
    listed = [
        (str(plan.workload.id_of(place)), short_up(cost), f"{errors[place]:,.4g}", bar(errors[place], worst))
        for place, cost in enumerate(costs)
    ]
    count = len(plan.workload)
    return block(
        emphasized(f"{plan.title} plan for {count:,} queries: {symbol} = {short_up(plan.loss)} on the heaviest row"),
        table(("", "", ""), means, (False, True, False)),
        table(("query", plan.cost_title, "expected error", ""), listed, (False, True, True, False)),
        f"… {count - _ROWS:,} more queries; to_pandas() has all" if count > _ROWS else "",
    )


def plot_plan(plan: Plan, path: str | Path | None, axes: Any) -> Any:
    """Draw the distribution of the expected errors beside the mean errors of simpler plans."""
    errors = np.sort(plan.expected_errors[plan.expected_errors > 0])
    share = np.arange(1, len(errors) + 1) / max(1, len(errors))
    label = f"{plan.title} plan, mean {plan.mean_error:.4g}"
    with drawing(path, axes, figsize=(8, 4.8)) as drawn:
        drawn.step(errors, share, where="post", color="#1a7f37", label=label)
        for name, value in reversed(plan.mean_errors()[:-1]):
            # Those of independent noise differ from query to query.
            what = "mean" if name == "independent" else "all"
            drawn.axvline(value, color=_COLORS[name], linestyle="--", label=f"{name}, {what} {value:.4g}")
        drawn.set(
            xscale="log" if len(errors) else "linear",
            ylim=(0, 1.02),
            xlabel="expected absolute error of an answer",
            ylabel="share of the queries with at most this error",
            title=f"{len(plan.workload):,} queries at {plan.measure.symbol} = {short_up(plan.loss)}",
        )
        # Beneath, where it lies over no line; four entries are too many for a row.
        columns = 3 if len(plan.mean_errors()) < 4 else 2
        drawn.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False)
        if len(errors):
            _plain_ticks(drawn.xaxis)
    return drawn


def _plain_ticks(axis: Any) -> None:
    """Numbers as people write them on an axis by powers of ten: 2 and not 2 × 10⁰."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: PLC0415  an optional dependency

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: rounded_text(number, 3)))
    axis.set_minor_locator(NullLocator())

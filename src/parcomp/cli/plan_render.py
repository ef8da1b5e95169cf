"""Plans as people read them: tables and a chart in the terminal, and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parcomp.errors import ParcompError
from parcomp.planning.plan import Plan

__all__ = ["print_plan", "save_errors"]

_SHOWN = 5
"""How many of the cheapest and of the dearest queries are listed."""

_BAR = 40
"""Characters of the longest bar."""

_BINS = 12
"""Bars of the chart of errors."""


def print_plan(title: str, answer: Plan) -> None:
    """Print what the plan achieves, how errors are distributed, and the queries at both ends."""
    console = Console(highlight=False)
    console.print(Text(title, style="bold underline"))
    symbol = answer.measure.symbol
    spent = f"{symbol} = {answer.loss:,.6g} on the heaviest row"
    near = "" if answer.gap is None else f", within {max(answer.gap, 1e-4):.2%} of the optimum"
    console.print(
        f"{answer.objective} plan for {len(answer.workload):,} queries: {spent}{near}  ({answer.seconds:.2f} s)"
    )
    console.print()
    console.print(_means(answer))
    if len(answer.workload):
        console.print("\nqueries by expected error")
        console.print(_distribution(answer))
        console.print()
        console.print(_ends(answer))


def _means(answer: Plan) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    rows = (
        ("mean error, sequential", answer.sequential_mean_error, "red"),
        ("mean error, uniform", answer.uniform_mean_error, "yellow"),
        (f"mean error, {answer.objective} plan", answer.mean_error, "green"),
    )
    # Sequential composition is often so far off that the other bars would vanish beside it.
    longest = max(answer.uniform_mean_error, answer.mean_error) or 1.0
    for name, error, color in rows:
        bar = "█" * max(1, round(_BAR * min(1.0, error / longest))) + ("▶" if error > 1.005 * longest else "")
        table.add_row(name, f"{error:,.4g}", Text(bar, style=color))
    return table


def _distribution(answer: Plan) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    errors = answer.expected_error
    counts, edges = np.histogram(errors, bins=_BINS if errors.max() > 1.001 * errors.min() else 1)
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        bar = "█" * max(1 if count else 0, round(_BAR * count / counts.max()))
        table.add_row(f"{low:,.3g} – {high:,.3g}", Text(bar, style="green"), f"{count:,}")
    return table


def _ends(answer: Plan) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("query")
    table.add_column(f"cost {answer.measure.symbol}", justify="right")
    table.add_column("expected error", justify="right")
    order = np.argsort(answer.units, kind="stable")
    costs = answer.costs
    cheapest, dearest = order[:_SHOWN].tolist(), order[_SHOWN:][-_SHOWN:].tolist()
    for position in cheapest + ([-1] if len(order) > 2 * _SHOWN else []) + dearest:
        if position < 0:
            table.add_row("…", "…", "…")
        else:
            error = answer.expected_error[position]
            table.add_row(Text(str(answer.workload.id_of(position))), f"{costs[position]:,.6g}", f"{error:,.4g}")
    return table


def save_errors(path: Path, answer: Plan) -> None:
    """Draw the distribution of the expected errors beside the errors of the sequential and the uniform plan."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  an optional dependency
    except ImportError as error:
        raise ParcompError("a picture needs matplotlib: pip install 'parcomp[plot]'") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415  only after the backend is chosen

    errors = np.sort(answer.expected_error[answer.expected_error > 0])
    figure, axes = plt.subplots(figsize=(8, 4.8), dpi=120, layout="constrained")
    share = np.arange(1, len(errors) + 1) / max(1, len(errors))
    axes.step(
        errors, share, where="post", color="#1a7f37", label=f"{answer.objective} plan, mean {answer.mean_error:.4g}"
    )
    for name, value, color in (
        ("uniform", answer.uniform_mean_error, "#bf8700"),
        ("sequential", answer.sequential_mean_error, "#cf222e"),
    ):
        axes.axvline(value, color=color, linestyle="--", label=f"{name}, all {value:.4g}")
    axes.set(
        xscale="log" if len(errors) else "linear",
        ylim=(0, 1.02),
        xlabel="expected absolute error of an answer",
        ylabel="share of the queries with at most this error",
        title=f"{len(answer.workload):,} queries at {answer.measure.symbol} = {answer.loss:.4g}",
    )
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)

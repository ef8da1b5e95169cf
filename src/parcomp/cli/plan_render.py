"""Plans as people read them: tables and a chart."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import bar, new_console, plain_table
from parcomp.costs import short_up
from parcomp.planning import Plan
from parcomp.tabular import counted, decimals_beside, number_text, rounded_text

__all__ = ["print_plan"]

_SHOWN = 5
"""How many of the cheapest and of the dearest queries are listed."""

_BAR = 40
"""Characters of the longest bar."""

_BINS = 12
"""Bars of the chart of errors."""


def print_plan(title: str, answer: Plan, asked: str) -> None:
    """Print what the plan achieves, how errors are distributed, and the queries at both ends.

    ``asked`` is the strategy that was asked for.
    """
    console = new_console(title)
    spent = f"{answer.measure.symbol} = {short_up(answer.loss)} on the heaviest row"
    near = "" if answer.gap is None else f", within {max(answer.gap, 1e-4):.2%} of the optimum"
    if answer.lower_bound and answer.matrix is not None:
        near = f", within {max(answer.mean_error / answer.lower_bound - 1, 1e-4):.2%} of the best Gaussian noise"
    queries = counted(len(answer.workload), "query", "queries")
    console.print(f"{answer.title} plan for {queries}: {spent}{near}  ({answer.seconds:.2f} s)")
    if asked != "independent":
        console.print(f"strategy  {answer.strategy}{_left_out(answer)}")
    console.print()
    console.print(_means(answer))
    if len(answer.workload):
        console.print("\nqueries by expected error")
        console.print(_distribution(answer))
        console.print()
        console.print(_ends(answer))


def _left_out(answer: Plan) -> str:
    """Why there is no other strategy, where there is a reason."""
    if answer.left_out:
        return f" ({'; '.join(f'{name}: {reason}' for name, reason in answer.left_out)})"
    return " (no other strategy has less error)" if answer.strategy == "independent" else ""


def _means(answer: Plan) -> Table:
    table = plain_table("", ">", "", names=True)
    colors = ("red", "yellow", "cyan", "green")
    rows = answer.mean_errors()
    # Sequential composition is often so far off that the other bars would vanish beside it.
    longest = max(error for _, error in rows[1:]) or 1.0
    for (name, error), color in zip(rows, colors if len(rows) > 3 else (*colors[:2], colors[3]), strict=True):
        table.add_row(f"mean error, {name}", rounded_text(error, 4), bar(error, longest, _BAR, color))
    return table


def _distribution(answer: Plan) -> Table:
    table = plain_table(">", ">", "", ">")
    errors = answer.expected_errors
    counts, edges = np.histogram(errors, bins=_BINS if errors.max() > 1.001 * errors.min() else 1)
    # As many decimals in each row, so that the ends of bins stand beneath each other.
    decimals = decimals_beside([(None, float(edges[0]), float(edges[1]))])
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        table.add_row(
            number_text(low, decimals),
            f"– {number_text(high, decimals)}",
            bar(count, int(counts.max()), _BAR, "green"),
            f"{count:,}",
        )
    return table


def _ends(answer: Plan) -> Table:
    table = plain_table("query", f">{answer.cost_title}", ">expected error")
    order = np.argsort(answer.units, kind="stable")
    costs = answer.costs
    cheapest, dearest = order[:_SHOWN].tolist(), order[_SHOWN:][-_SHOWN:].tolist()
    for position in cheapest + ([-1] if len(order) > 2 * _SHOWN else []) + dearest:
        if position < 0:
            table.add_row("…", "…", "…")
        else:
            error = answer.expected_errors[position]
            table.add_row(Text(str(answer.workload.id_of(position))), short_up(costs[position]), rounded_text(error, 4))
    return table

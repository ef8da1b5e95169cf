"""Estimates as people read them."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import new_console, plain_table
from parcomp.estimation import Estimate

__all__ = ["print_estimate"]

_SHOWN = 20
"""How many queries are listed; --json has all."""


def print_estimate(title: str, found: Estimate) -> None:
    """Print what was gained, what is known of it, and the first queries."""
    console = new_console(title)
    console.print(f"estimates of {len(found.values):,} queries, {found.noise} noise  ({found.seconds:.2f} s)")
    console.print()
    console.print(_summary(found))
    if len(found.values):
        console.print()
        console.print(_listed(found))


def _summary(found: Estimate) -> Table:
    table = plain_table("", "", names=True)
    for name in dict.fromkeys(found.methods):
        table.add_row(name, f"{found.methods.count(name):,}")
    if found.proven:
        table.add_row("error", "not above that of the raw answers, in root mean square: proven")
    else:
        table.add_row("error", "not proven: more rows may exist than were found; try a longer --time-limit")
    width = np.diff(found.intervals, axis=1).mean() if len(found.values) else 0.0
    raw_width = np.diff(found.raw_intervals, axis=1).mean() if len(found.values) else 0.0
    table.add_row("mean interval", f"{width:,.4g} wide, raw {raw_width:,.4g} (only the raw one is guaranteed)")
    return table


def _listed(found: Estimate) -> Table:
    percent = f"{100 * found.confidence:g} %"
    table = plain_table("query", ">estimate", f"{percent} interval", ">raw", f"{percent}, guaranteed", "method")
    for position in range(min(_SHOWN, len(found.values))):
        low, high = found.intervals[position]
        raw_low, raw_high = found.raw_intervals[position]
        table.add_row(
            Text(str(found.workload.id_of(position))),
            f"{found.values[position]:,.5g}",
            f"{low:,.5g} to {high:,.5g}",
            f"{found.raw[position]:,.6g}",
            f"{raw_low:,.6g} to {raw_high:,.6g}",
            found.methods[position],
        )
    if len(found.values) > _SHOWN:
        table.add_row(f"… {len(found.values) - _SHOWN:,} more (--json has all)")
    return table

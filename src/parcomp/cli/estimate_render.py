"""Estimates as people read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import new_console, plain_table
from parcomp.errors import one_line
from parcomp.estimation import Estimate
from parcomp.tabular import counted, number_text, rounded_text

if TYPE_CHECKING:
    from parcomp.custodian import Estimates

__all__ = ["print_estimate", "print_estimates"]

_WHOLE = 1e5
"""Above it a count is told without its decimals."""

_SHOWN = 20
"""How many queries are listed; --json has all."""


def print_estimate(title: str, found: Estimate) -> None:
    """Print what was gained, what is known of it, and the first queries."""
    console = new_console(title)
    console.print(f"estimates of {len(found.values):,} queries, {_noise(found)}  ({found.seconds:.2f} s)")
    console.print()
    console.print(_summary(found))
    if len(found.values):
        console.print()
        console.print(_listed(found))


def print_estimates(title: str, found: Estimates, *, as_json: bool) -> None:
    """Print what all counts that somebody has paid for say together."""
    if as_json:
        for line in found.as_json():
            print(json.dumps(line, ensure_ascii=False))
        return
    console = new_console(title)
    console.print(f"estimates of {counted(len(found), 'count')} that you have paid for since the last load")
    if not found.counts:
        return
    methods = [one.method for one in found]
    table = plain_table("", "", names=True)
    for name in dict.fromkeys(methods):
        table.add_row(name, f"{methods.count(name):,}")
    proven = f"not above that of the answers, in units of their noise, in root mean square: {_proven(found)}"
    table.add_row("error", proven if found.proven else "not proven: more rows may exist than were found")
    if found.left_out:
        table.add_row("left out", f"{counted(found.left_out, 'charge')}, as there are too many counts")
    console.print()
    console.print(table)
    console.print()
    percent = f"{100 * found.confidence:g} %"
    listed = plain_table("count", "of", ">estimate", f"{percent} interval", ">raw", f"{percent}, guaranteed")
    for one in found.counts[-_SHOWN:]:
        listed.add_row(
            one.id,
            Text(one_line(", ".join(f"{name}: {written}" for name, written in one.where.items()) or "every row")),
            _count(one.value),
            f"{_count(one.low)} to {_count(one.high)}",
            number_text(one.raw),
            f"{number_text(one.raw_low)} to {number_text(one.raw_high)}",
        )
    console.print(listed)
    if len(found) > _SHOWN:
        console.print(f"{len(found) - _SHOWN:,} earlier ones (--json has all)")


def _proven(found: Estimate | Estimates) -> str:
    return "proven, if the facts are true" if found.facts else "proven"


def _noise(found: Estimate) -> str:
    if found.noise_assumed:
        return f"noise taken to be {found.noise}, as nothing says what it is (--noise)"
    return f"{found.noise} noise"


def _promise(found: Estimate) -> str:
    """What is guaranteed of intervals: those of raw answers, which rest on the kind of their noise."""
    return f"only the raw one is guaranteed{', if the noise is Gaussian' if found.noise_assumed else ''}"


def _summary(found: Estimate) -> Table:
    table = plain_table("", "", names=True)
    for name in dict.fromkeys(found.methods):
        table.add_row(name, f"{found.methods.count(name):,}")
    if found.proven:
        table.add_row("error", f"not above that of the raw answers, in root mean square: {_proven(found)}")
    else:
        table.add_row("error", "not proven: more rows may exist than were found; try a longer --time-limit")
    width = np.diff(found.intervals, axis=1).mean() if len(found.values) else 0.0
    raw_width = np.diff(found.raw_intervals, axis=1).mean() if len(found.values) else 0.0
    table.add_row(
        "mean interval", f"{rounded_text(width, 4)} wide, raw {rounded_text(raw_width, 4)} ({_promise(found)})"
    )
    return table


def _count(estimate: float) -> str:
    """An estimated count: five digits, or all before the point."""
    return rounded_text(estimate, 5) if abs(estimate) < _WHOLE else f"{estimate:,.0f}"


def _listed(found: Estimate) -> Table:
    percent = f"{100 * found.confidence:g} %"
    held = "if Gaussian" if found.noise_assumed else "guaranteed"
    table = plain_table("query", ">estimate", f"{percent} interval", ">raw", f"{percent}, {held}", "method")
    for position in range(min(_SHOWN, len(found.values))):
        low, high = found.intervals[position]
        raw_low, raw_high = found.raw_intervals[position]
        table.add_row(
            Text(str(found.workload.id_of(position))),
            _count(found.values[position]),
            f"{_count(low)} to {_count(high)}",
            number_text(float(found.raw[position])),
            f"{number_text(float(raw_low))} to {number_text(float(raw_high))}",
            found.methods[position],
        )
    if len(found.values) > _SHOWN:
        table.add_row(f"… {len(found.values) - _SHOWN:,} more (--json has all)")
    return table

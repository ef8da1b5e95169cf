"""Estimates as people read them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import new_console, plain_table
from parcomp.cli.words import where_in_words
from parcomp.estimation import Estimate
from parcomp.tabular import counted, rounded_text

if TYPE_CHECKING:
    from parcomp.custodian import Estimates
    from parcomp.model import Domain

__all__ = ["print_estimate", "print_estimates"]

_SHOWN = 20
"""How many queries are listed where --all does not ask for all of them."""


def print_estimate(title: str, found: Estimate, *, every_one: bool = False) -> None:
    """Print what was gained, what is known of it, and the first queries."""
    console = new_console(title)
    queries = counted(len(found.values), "query", "queries")
    console.print(f"estimates of {queries}, {_noise(found)}  ({found.seconds:.2f} s)")
    console.print()
    console.print(_summary(found))
    for said in found.notes:
        console.print(Text(said), soft_wrap=True)
    if len(found.values):
        console.print()
        console.print(_listed(found, len(found.values) if every_one else _SHOWN))


def print_estimates(
    title: str, found: Estimates, domain: Domain | None, *, as_json: bool, every_one: bool = False
) -> None:
    """Print what all counts that somebody has paid for say together; statements are in the words of the ledger."""
    if as_json:
        for line in found.as_json():
            print(json.dumps(line, ensure_ascii=False))
        return
    console = new_console(title)
    console.print(f"estimates of {counted(len(found), 'count')} that you have paid for since the last load")
    if not found.counts:
        return
    for said in found.summary:
        console.print(Text(said), soft_wrap=True)
    console.print()
    shown = found.counts if every_one else found.counts[-_SHOWN:]
    words = partial(where_in_words, domain=domain)
    for row in found.lines(shown, words, console.width if console.is_terminal else None):
        console.print(Text(row), soft_wrap=True)
    if len(found) > len(shown):
        console.print(f"{len(found) - len(shown):,} earlier ones (parcomp estimate --all lists them)")


def _proven(found: Estimate) -> str:
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


def _listed(found: Estimate, most: int) -> Table:
    percent = f"{100 * found.confidence:g} %"
    held = "if Gaussian" if found.noise_assumed else "guaranteed"
    table = plain_table("query", ">estimate", f"{percent} interval", ">raw", f"{percent}, {held}", "method")
    counts = [found.listed(position) for position in range(min(most, len(found.values)))]
    decimals = max(one.decimals for one in counts)
    for listed in counts:
        estimate, about, raw, held = listed.texts(decimals)
        table.add_row(Text(listed.id), estimate, about, raw, held, listed.method)
    if len(found.values) > most:
        table.add_row(f"… {len(found.values) - most:,} more (--all lists them)")
    return table

"""Overlaps and losses as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from parcomp.cli.terminal import bar, new_console, plain_table
from parcomp.costs import short_down, short_up
from parcomp.overlap import MaximumOverlap
from parcomp.privacy import PrivacyLoss
from parcomp.tabular import counted

__all__ = ["print_loss", "print_overlap"]

_SHOWN = 12
"""How many members or attributes are listed before the rest is only counted."""

_BAR = 48
"""Characters of the longest bar."""


def print_overlap(title: str, answer: MaximumOverlap) -> None:
    """Print the bracket, the saving, the witness row and the members."""
    table = plain_table("", "", names=True)
    bracket = f"{answer.upper:,}" if answer.exact else f"between {answer.lower:,} and {answer.upper:,}"
    quality = "exact" if answer.exact else "proven bracket; privacy is charged by the upper end"
    table.add_row("maximum overlap", f"{bracket}  ({quality})")
    table.add_row("sequential cost", f"{answer.total:,}  for {counted(answer.queries, 'query', 'queries')}")
    table.add_row("saved", f"{answer.gain:.1%}")
    table.add_row("witness row", _listed([f"{name} = {value}" for name, value in answer.witness.items()]))
    table.add_row("its members", _listed([str(member) for member in answer.members]))
    table.add_row("how", "\n".join(_first(answer.explanation)) or "nothing to do")
    table.add_row("method", f"{answer.method}, {answer.seconds:.3f} s")
    new_console(title).print(table)


def print_loss(title: str, answer: PrivacyLoss, symbol: str) -> None:
    """Print the loss beside the sequential one, and the guarantee."""
    chart = plain_table("", "", "", names=True)
    for name, value, style in (("sequential", answer.sequential, "red"), ("by overlap", answer.loss, "green")):
        chart.add_row(name, f"{symbol} = {short_up(value)}", bar(value, answer.sequential, _BAR, style))
    console = new_console(title)
    console.print(chart)
    queries = counted(answer.queries, "query", "queries")
    console.print(f"saved {answer.saved:.1%} of the loss of {queries} in {answer.seconds:.2f} s")
    quality = (
        "the overlap is exact"
        if answer.exact
        else f"the overlap is bracketed; the loss by it is at least {short_down(answer.lower)}"
    )
    console.print(f"guarantee: {answer.guarantee}; {quality}")


def _first(lines: Sequence[str]) -> list[str]:
    if len(lines) <= _SHOWN:
        return list(lines)
    return [*lines[: _SHOWN - 1], f"… ({len(lines) - _SHOWN:,} more steps)", lines[-1]]


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:_SHOWN]) or "none"
    return shown if len(items) <= _SHOWN else f"{shown}, … ({len(items):,} in all)"

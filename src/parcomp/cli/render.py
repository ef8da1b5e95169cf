"""Answers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parcomp.overlap import MaximumOverlap

__all__ = ["print_overlap"]

_SHOWN = 12
"""How many members or attributes are listed before the rest is only counted."""


def print_overlap(title: str, answer: MaximumOverlap) -> None:
    """Print the bracket, the saving, the witness row and the members."""
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    bracket = f"{answer.upper:,}" if answer.exact else f"between {answer.lower:,} and {answer.upper:,}"
    quality = "exact" if answer.exact else "proven bracket; privacy is charged by the upper end"
    table.add_row("maximum overlap", f"{bracket}  ({quality})")
    table.add_row("sequential cost", f"{answer.total:,}  for {answer.queries:,} queries")
    table.add_row("saved", f"{answer.gain:.1%}")
    table.add_row("witness row", _listed([f"{name} = {value}" for name, value in answer.witness.items()]))
    table.add_row("its members", _listed([str(member) for member in answer.members]))
    table.add_row("how", "\n".join(_first(answer.explanation)) or "nothing to do")
    table.add_row("method", f"{answer.method}, {answer.seconds:.3f} s")
    console.print(Text(title, style="bold underline"))
    console.print(table)


def _first(lines: Sequence[str]) -> list[str]:
    if len(lines) <= _SHOWN:
        return list(lines)
    return [*lines[: _SHOWN - 1], f"… ({len(lines) - _SHOWN:,} more steps)", lines[-1]]


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:_SHOWN]) or "none"
    return shown if len(items) <= _SHOWN else f"{shown}, … ({len(items):,} in all)"

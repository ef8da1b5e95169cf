"""What all output for people is made of: a console, plain tables, bars, numbers, and progress while one waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from parcomp.tabular import number_text

__all__ = [
    "bar",
    "bracket_progress",
    "new_console",
    "number",
    "plain_table",
    "round_progress",
    "row_progress",
    "step_progress",
    "waiting",
]


def new_console(title: str = "") -> Console:
    """A console on standard output, with a heading."""
    console = Console(highlight=False)
    if title:
        console.print(Text(title, style="bold underline"))
    return console


def plain_table(*headings: str, names: bool = False) -> Table:
    """A table without lines; a heading after ``>`` is of numbers, and with ``names`` the first column is bold."""
    table = Table(show_header=any(heading.strip("> ") for heading in headings), box=None, padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        table.add_column(
            heading.lstrip(">"),
            justify="right" if heading.startswith(">") else "left",
            style="bold" if names and not position else None,
            no_wrap=heading.startswith(">") or (names and not position),
            overflow="fold",
        )
    return table


def bar(value: float, longest: float, width: int, style: str) -> Text:
    """A bar in proportion to ``longest``; what is not nothing has a length, and what is beyond ends in an arrow."""
    share = value / longest if longest else 0.0
    arrow = "▶" if share > 1.005 else ""
    return Text("█" * max(round(width * min(share, 1.0)), 1 if value > 0 else 0) + arrow, style=style)


def number(value: int | float) -> str:
    """A number as people read it."""
    return number_text(value)


@contextmanager
def bracket_progress(title: str, time_limit: float) -> Iterator[Callable[[int | float, int | float], None]]:
    """Yield a callback that takes the bracket so far."""
    with _progress(title, time_limit, "reading the workload") as show:
        yield lambda lower, upper: show(f"{lower:,} ≤ γ ≤ {upper:,}")


@contextmanager
def round_progress(title: str, time_limit: float) -> Iterator[Callable[[int, float], None]]:
    """Yield a callback that takes the number of each round of planning and what its heaviest row takes."""
    with _progress(title, time_limit, "reducing the workload") as show:
        yield lambda rounds, heaviest: show(f"round {rounds}: the heaviest row takes {heaviest:.2%} of the budget")


@contextmanager
def step_progress(title: str, time_limit: float, first: str = "reading") -> Iterator[Callable[[str], None]]:
    """Yield a callback that takes in a few words how far something has come."""
    with _progress(title, time_limit, first) as show:
        yield show


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Show that something goes on, and for how long, where standard error is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        bars.add_task(title, total=None)
        yield


@contextmanager
def row_progress(title: str) -> Iterator[Callable[[int, float | None], None]]:
    """Yield a callback that takes how many rows were read, and which share of all that is, if that is known."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        task = bars.add_task(title, total=None, state="")

        def show(rows: int, share: float | None) -> None:
            bars.update(task, state=f"{rows:,} rows")
            if share is not None:
                bars.update(task, completed=share, total=1.0)

        yield show


@contextmanager
def _progress(title: str, time_limit: float, first: str) -> Iterator[Callable[[str], None]]:
    """Yield a callback that shows a state beside a bar against the time limit, where standard error is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bars:
        task = bars.add_task(title, total=time_limit, state=first)
        began = time.monotonic()
        yield lambda state: bars.update(task, completed=time.monotonic() - began, state=state)

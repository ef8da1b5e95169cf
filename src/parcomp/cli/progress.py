"""Progress on a terminal: a bar against the time limit and the bracket as it closes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["bracket_progress"]


@contextmanager
def bracket_progress(title: str, time_limit: float) -> Iterator[Callable[[int | float, int | float], None]]:
    """Yield a callback that takes the bracket so far; it shows nothing unless standard error is a terminal."""
    if not sys.stderr.isatty():
        yield _show_nothing
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[bracket]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=time_limit, bracket="reading the workload")
        began = time.monotonic()

        def show(lower: int | float, upper: int | float) -> None:
            bar.update(task, completed=time.monotonic() - began, bracket=f"{lower:,} ≤ γ ≤ {upper:,}")

        yield show


def _show_nothing(lower: int | float, upper: int | float) -> None:
    """The callback of a run that nobody watches."""

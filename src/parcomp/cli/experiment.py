"""``parcomp experiment``: the paper's figures and tables again, beside its method, and ours."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parcomp.errors import ArgumentError, shown

if TYPE_CHECKING:
    from parcomp.experiments.engines import Engine
    from parcomp.experiments.experiment import Experiment
    from parcomp.experiments.runner import Tell

__all__ = ["experiment"]

_LINE_SECONDS = 60.0


def experiment(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An experiment, or list, or all.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: seconds for each experiment.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where tables, pictures and journals go. [default: out/experiments; with --quick its folder quick]",
            show_default=False,
        ),
    ] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw the tables in DIR again, and measure nothing.", show_default=False)
    ] = False,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Instances at the same time; 0: one for each core.")
    ] = 0,
    engine: Annotated[
        Literal["local", "dask"], typer.Option(help="local: processes here. dask: the workers of a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="The Dask scheduler; without one, a cluster here.", show_default=False),
    ] = "",
) -> None:
    """Run an experiment: NAME.csv, NAME.png and NAME.svg. A run that was cut off goes on where it was."""
    if scheduler and engine != "dask":
        raise ArgumentError("--scheduler is for --engine dask")
    chosen = _chosen(name)
    if name == "list":
        _print_list(chosen)
        return

    from parcomp.experiments.engines import DaskEngine, LocalEngine
    from parcomp.experiments.runner import draw_again, run_experiment

    # Small and full forms have tables of the same names.
    place = out or Path("out/experiments/quick" if quick else "out/experiments")
    if draw:
        there = [one for one in chosen if (place / f"{one.name}.csv").exists()]
        for one in there or chosen:
            _print_paths(one.name, draw_again(one, place))
        return
    count = workers or os.cpu_count() or 1
    started: Engine = DaskEngine(scheduler, count) if engine == "dask" else LocalEngine(count)
    with started:
        for one in chosen:
            with _progress(one.name) as tell:
                paths = run_experiment(one, place, started, quick=quick, tell=tell)
            _print_paths(one.name, paths)


def _print_paths(name: str, paths: list[Path]) -> None:
    print(f"{name}: {', '.join(str(path) for path in paths)}", flush=True)


def _chosen(name: str) -> list[Experiment]:
    from difflib import get_close_matches
    from importlib.util import find_spec

    from parcomp.errors import ParcompError

    if find_spec("networkx") is None or find_spec("matplotlib") is None:
        raise ParcompError("experiments need networkx and matplotlib: pip install 'parcomp[experiments]'")
    from parcomp.experiments.registry import EXPERIMENTS

    if name in {"list", "all"}:
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        near = get_close_matches(name, [*EXPERIMENTS, "list", "all"], 3, 0.4)
        hint = f"the nearest are {', '.join(near)}" if near else f"there are {', '.join(EXPERIMENTS)}"
        raise ArgumentError(f"there is no experiment {shown(name)}; {hint} (parcomp experiment list shows all)")
    return [EXPERIMENTS[name]]


def _print_list(chosen: list[Experiment]) -> None:
    from parcomp.cli.terminal import new_console, plain_table

    table = plain_table("experiment", ">instances", ">quick", "what it shows", names=True)
    for one in chosen:
        table.add_row(one.name, str(len(one.instances(False))), str(len(one.instances(True))), one.summary)
    new_console().print(table)


@contextmanager
def _progress(title: str) -> Iterator[Tell]:
    """Yield a callback that takes how many of how many instances are measured; a bar, or lines, and the time left."""
    if not sys.stderr.isatty():
        yield _Lines(title)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # The speed is that of the last hour: instances differ, and those of one kind follow each other.
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=3_600) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


class _Lines:
    """Progress where there is no terminal: a line a minute, and one at the start for a run that goes on."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = self._said = time.monotonic()
        self._first = -1

    def __call__(self, done: int, total: int) -> None:
        clock = time.monotonic()
        if self._first < 0:
            self._first = done
            if 0 < done < total:
                self._say(f"goes on; {done} of {total} instances are measured")
        elif done < total and clock - self._said >= _LINE_SECONDS:
            self._said = clock
            left = (clock - self._began) / (done - self._first) * (total - done)
            self._say(f"{done} of {total} instances, about {math.ceil(left / 60)} min left")

    def _say(self, text: str) -> None:
        print(f"{self._title}: {text}", file=sys.stderr, flush=True)

"""``parcomp plan``: what each query should cost so that a budget buys the least noise."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from parcomp.errors import CostError, ParcompError
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload

if TYPE_CHECKING:
    from parcomp.planning.plan import Plan

__all__ = ["plan"]


def plan(
    workload: Annotated[
        Path, typer.Argument(metavar="WORKLOAD", help="A workload file (.jsonl or .sql).", show_default=False)
    ],
    domain: Annotated[
        Path, typer.Option(metavar="FILE", help="The domain file (.json, .toml or .yaml).", show_default=False)
    ],
    measure: Annotated[str, typer.Option(metavar="pure|zcdp|gdp", help="pure: ε. zcdp: ρ. gdp: μ.")],
    budget: Annotated[
        str | None, typer.Option(metavar="X", help="The budget, in the measure's parameter.", show_default=False)
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="ERROR",
            help="No expected error above this; without --budget, the least budget that allows it.",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        Literal["mean", "max", "uniform"],
        typer.Option(help="mean, max: least mean or least worst expected error. uniform: the same cost for all."),
    ] = "mean",
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For the whole plan.")] = 60.0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the expected errors (PNG).", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line for each query, and one for the whole.")
    ] = False,
) -> None:
    """Share a budget among the queries of a workload so that their errors are least."""
    if not 0 < time_limit < float("inf"):
        raise ParcompError(f"--time-limit must be a positive number of seconds, not {time_limit}")
    if budget is None and max_error is None:
        raise CostError("give a --budget, or a --max-error from which the budget follows")

    from parcomp.cli.plan_render import print_plan, save_errors  # noqa: PLC0415  numba is slow to import
    from parcomp.planning.plan import plan as make_plan  # noqa: PLC0415  the same
    from parcomp.privacy.measures import find_measure  # noqa: PLC0415  the same

    # What is cheap to check is checked before a large file is read.
    kind = find_measure(measure)
    if budget is not None:
        kind.budget_down(budget)
    read = Workload.load(Domain.load(domain), workload)
    with _rounds(str(workload), time_limit) as progress:
        answer = make_plan(
            read, budget, kind.name, objective, ceilings=max_error, time_limit=time_limit, progress=progress
        )
    if plot is not None:
        save_errors(plot, answer)
    if as_json:
        _print_json(answer)
    else:
        print_plan(str(workload), answer)


def _print_json(answer: Plan) -> None:
    for query_id, cost, error in zip(answer.workload.ids, answer.costs, answer.expected_error.tolist(), strict=True):
        print(json.dumps({"id": query_id, "cost": cost, "expected_error": error}, ensure_ascii=False))
    whole = {
        "mean_error": answer.mean_error,
        "uniform_mean_error": answer.uniform_mean_error,
        "sequential_mean_error": answer.sequential_mean_error,
        "loss": answer.loss,
    }
    print(json.dumps(whole))


@contextmanager
def _rounds(title: str, time_limit: float) -> Iterator[Callable[[int, float], None]]:
    """Yield a callback that takes each round's number and its heaviest row; silent unless stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _rounds, _heaviest: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=time_limit, state="reducing the workload")
        began = time.monotonic()

        def show(rounds: int, heaviest: float) -> None:
            state = f"round {rounds}: the heaviest row takes {heaviest:.2%} of the budget"
            bar.update(task, completed=time.monotonic() - began, state=state)

        yield show

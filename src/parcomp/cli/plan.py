"""``parcomp plan``: what each query should cost so that a budget buys the least noise."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import parcomp as pc
from parcomp import privacy
from parcomp.cli.notes import print_note
from parcomp.cli.options import DomainFile, Json, MeasureOption, Picture, TimeLimit, WorkloadFile
from parcomp.errors import CostError
from parcomp.tabular import rounded_text

if TYPE_CHECKING:
    from parcomp.planning import Plan

__all__ = ["plan"]

_BESIDE_SECONDS = 5.0
"""How long the plan may take that a strategy is compared with."""

_NEARLY = 0.95
"""From this part of the time limit on it is taken to be why planning ended."""


def plan(
    workload: WorkloadFile,
    domain: DomainFile,
    measure: MeasureOption,
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
    strategy: Annotated[
        Literal["independent", "correlated", "atoms", "auto"],
        typer.Option(
            help="What is measured. independent: each query. correlated: combinations of them (zcdp, gdp). "
            "atoms: the classes of rows that no query tells apart. auto: what has the least error."
        ),
    ] = "independent",
    time_limit: TimeLimit = 60.0,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """Share a budget among the queries of a workload so that their errors are least."""
    if budget is None and max_error is None:
        raise CostError("give a --budget, or a --max-error from which the budget follows")
    # What is cheap to check is checked before a large file is read.
    kind = privacy.find_measure(measure)
    if budget is not None:
        kind.budget_down(budget)
    read = pc.Workload.load(pc.Domain.load(domain), workload)

    from parcomp.cli.plan_render import print_plan
    from parcomp.cli.terminal import round_progress

    with round_progress(str(workload), time_limit) as progress:
        answer = pc.plan(
            read,
            kind.name,
            budget,
            objective,
            strategy=strategy,
            ceilings=max_error,
            time_limit=time_limit,
            progress=progress,
        )
        seconds = answer.seconds
        if answer.strategy != "independent" and answer.independent_mean_error is None:
            answer = _compared(read, answer, time_limit)
    if plot is not None:
        answer.plot(plot)
    if as_json:
        _print_json(answer)
    else:
        print_plan(str(workload), answer, strategy)
    for note in (
        _about_errors(read.domain, workload),
        "" if strategy == "independent" else _about_batches(read.domain, workload),
        _about_left_out(answer, strategy),
        _about_gain(answer),
        _about_time(seconds, time_limit),
    ):
        if note:
            print_note(note, as_json=as_json)


def _compared(workload: pc.Workload, answer: Plan, time_limit: float) -> Plan:
    """A strategy's plan beside the mean error of noise on each query, planned in what is left of the time.

    Queries matter alike here, and costs that the workload states play no part.
    """
    seconds = max(0.1, min(_BESIDE_SECONDS, time_limit - answer.seconds))
    alone = pc.plan(workload, answer.measure.name, budget_units=answer.budget_units, time_limit=seconds)
    return replace(answer, independent_mean_error=alone.mean_error)


def _about_left_out(answer: Plan, strategy: str) -> str:
    """Why a strategy was not planned, or not compared."""
    if not answer.left_out:
        return ""
    reasons = "; ".join(f"{name}: {reason}" for name, reason in answer.left_out)
    if strategy == "auto":
        return f"not all strategies were compared ({reasons})"
    return f"there is no plan for the strategy asked for, and each query gets noise of its own ({reasons})"


def _about_gain(answer: Plan) -> str:
    """Whether a strategy that was asked for by name has more error than simpler noise."""
    if answer.strategy == "independent":
        return ""
    alone = math.inf if answer.independent_mean_error is None else answer.independent_mean_error
    simpler = {"independent noise": alone, "uniform costs": answer.uniform_mean_error}
    name, error = min(simpler.items(), key=lambda one: one[1])
    if answer.mean_error <= error:
        return ""
    return (
        f"{name} would have less error at this budget: {rounded_text(error, 4)} instead of "
        f"{rounded_text(answer.mean_error, 4)} on average; --strategy auto takes what has the least"
    )


def _about_errors(domain: pc.Domain, file: Path) -> str:
    """What errors are of, where statements of an SQL file are no plain counts: a plan knows rows, and no items."""
    if file.suffix.lower() != ".sql":
        return ""
    from parcomp.model import read_text
    from parcomp.sql import parse_statements

    statements = [statement for _, statement in parse_statements(domain, read_text(file))]
    others = sum([item.kind for item in statement.items] != ["count"] for statement in statements)
    said = []
    if any(statement.groups for statement in statements):
        said.append("with GROUP BY that of each group")
    if others:
        ask = "statement asks" if others == 1 else "statements ask"
        said.append(f"{others:,} {ask} for something else, of which parcomp quote tells the error")
    return f"errors are those of plain counts; {'; '.join(said)}" if said else ""


def _about_time(seconds: float, time_limit: float) -> str:
    """Whether the time was up; some steps cannot be cut short, and what is charged has to be proven after them."""
    if seconds < _NEARLY * time_limit:
        return ""
    return (
        f"the time of {time_limit:g} s was up after {seconds:.1f} s, and the plan is the best that was found by then; "
        "a longer --time-limit may find a better one"
    )


def _about_batches(domain: pc.Domain, file: Path) -> str:
    """Why a custodian would not measure an SQL file by a strategy, although the rows of its statements allow for it."""
    if file.suffix.lower() != ".sql":
        return ""
    from parcomp.model import read_text, why_not_counted
    from parcomp.sql import parse_statements

    for number, (line, statement) in enumerate(parse_statements(domain, read_text(file)), 1):
        reason = why_not_counted(statement)
        if reason:
            return (
                f"parcomp batch cannot measure this file by a strategy, as statement {number:,} (line {line:,}) is no "
                f"plain count: {reason}; with --strategy auto it gives each statement noise of its own"
            )
    return ""


def _print_json(answer: Plan) -> None:
    for query_id, cost, error in zip(answer.workload.ids, answer.costs, answer.expected_errors.tolist(), strict=True):
        print(json.dumps({"id": query_id, "cost": cost, "expected_error": error}, ensure_ascii=False))
    whole = {
        "mean_error": answer.mean_error,
        "uniform_mean_error": answer.uniform_mean_error,
        "sequential_mean_error": answer.sequential_mean_error,
        "loss": answer.loss,
        "strategy": answer.strategy,
        "lower_bound": answer.lower_bound,
    }
    print(json.dumps(whole))

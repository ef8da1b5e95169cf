"""``parcomp estimate``: what noisy answers say together, for no further cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

import parcomp as pc
from parcomp.cli.options import DomainFile, Json, TimeLimit, WorkloadFile
from parcomp.errors import ArgumentError, FileError, WorkloadError

__all__ = ["estimate"]


def _probability(interval: float) -> float:
    if not 0 < interval < 1:
        raise ArgumentError(f"--interval must be between 0 and 1, such as 0.95, not {interval}")
    return interval


def estimate(
    workload: WorkloadFile,
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS.jsonl",
            help='An answer a line: {"id", "value", "scale"}, or what batch --json prints.',
            show_default=False,
        ),
    ],
    domain: DomainFile,
    interval: Annotated[
        float, typer.Option(metavar="P", help="How often intervals shall hold the true count.", callback=_probability)
    ] = 0.95,
    noise: Annotated[
        Literal["gaussian", "laplace"] | None,
        typer.Option(
            help="Whether a scale is σ of Gaussian noise or b of Laplace noise; "
            "by default what the lines' measure or the queries' cost says, else gaussian.",
            show_default=False,
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='Public counts, one a line: {"where": {}, "value": 50000}.', show_default=False
        ),
    ] = None,
    outside: Annotated[
        bool, typer.Option("--outside", help="The table may have values that the domain does not declare.")
    ] = False,
    time_limit: TimeLimit = 60.0,
    as_json: Json = False,
) -> None:
    """Estimate true counts from noisy answers: the nearest answers that some table could have, with intervals."""
    read = pc.Workload.load(pc.Domain.load(domain), workload)

    from parcomp.cli.estimate_render import print_estimate
    from parcomp.cli.terminal import step_progress
    from parcomp.estimation import read_answers, read_facts

    _check_counts(read.domain, workload)
    given = read_answers(answers, read, noise)
    known = {} if facts is None else read_facts(read.domain, facts)
    try:
        with step_progress(str(workload), time_limit) as progress:
            found = pc.estimate(
                read,
                given.values,
                given.scales,
                noise=given.noise,
                interval=interval,
                facts=known,
                outside=outside,
                time_limit=time_limit,
                progress=progress,
            )
    except WorkloadError as error:
        # What does not fit the workload is in the file of answers.
        raise FileError(answers, str(error)) from None
    if as_json:
        for line in found.as_json():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print_estimate(str(workload), found)


def _check_counts(domain: pc.Domain, file: Path) -> None:
    """A workload knows the rows that statements cover; an answer is the count of these for plain counts only."""
    if file.suffix.lower() != ".sql":
        return
    from parcomp.model import read_text
    from parcomp.sql import parse_statements

    for line, statement in parse_statements(domain, read_text(file)):
        if statement.groups or [item.kind for item in statement.items] != ["count"]:
            raise FileError(file, "estimates are of single counts: SELECT COUNT(*) … without GROUP BY", line=line)
        if len(statement.rows_of(statement.aggregates[0]).alternatives) > 1:
            message = "estimates are of counts that one predicate for each attribute describes; this has an OR between"
            raise FileError(file, f"{message} attributes, so ask for its parts", line=line)

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
            "by default laplace where queries cost epsilon, else gaussian.",
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
    from parcomp.estimation.noises import noise_of

    values, scales = read_answers(answers, noise_of(read, noise))
    known = {} if facts is None else read_facts(read.domain, facts)
    try:
        with step_progress(str(workload), time_limit) as progress:
            found = pc.estimate(
                read,
                values,
                scales,
                noise=noise,
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

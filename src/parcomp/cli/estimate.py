"""``parcomp estimate``: what noisy answers say together, for no further cost.

They are those of a file, or all counts that an analyst has paid a custodian for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import parcomp as pc
from parcomp.cli.options import Analyst, Json, TimeLimit
from parcomp.errors import ArgumentError, FileError, WorkloadError

if TYPE_CHECKING:
    from parcomp.custodian import Estimates
    from parcomp.estimation import Estimate, FactsError
    from parcomp.estimation.answers_file import Facts

__all__ = ["estimate"]


_SECONDS = 60.0


def _probability(interval: float) -> float:
    from parcomp.estimation import check_probability

    return check_probability(interval, "--interval")


def estimate(
    workload: Annotated[
        Path | None,
        typer.Argument(metavar="WORKLOAD", help="A workload file (.jsonl or .sql).", show_default=False),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS.jsonl",
            help='An answer a line: {"id", "value", "scale"}, or what batch --json prints.',
            show_default=False,
        ),
    ] = None,
    domain: Annotated[
        Path | None,
        typer.Option("--domain", metavar="FILE", help="The domain file of the workload.", show_default=False),
    ] = None,
    custodian: Annotated[
        Path | None,
        typer.Option(
            "--custodian",
            "-c",
            metavar="CUSTODIAN.toml",
            help="Estimate from all counts that were paid for there since the last load.",
            show_default=False,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="The same from a server, for the key in PARCOMP_KEY.",
            show_default=False,
        ),
    ] = None,
    analyst: Analyst = "",
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
    time_limit: TimeLimit = _SECONDS,
    every_one: Annotated[bool, typer.Option("--all", help="List every count, however many there are.")] = False,
    as_json: Json = False,
) -> None:
    """Estimate true counts from noisy answers: the nearest answers that some table could have, with intervals."""
    if custodian is None and server is None:
        if workload is None or answers is None or domain is None:
            raise ArgumentError(
                "name a workload, its answers and their domain (--domain FILE WORKLOAD ANSWERS.jsonl), the settings of "
                "a custodian whose answers they are (-c CUSTODIAN.toml), or a server (--server URL)"
            )
        if analyst:
            raise ArgumentError("a file says nothing of who has asked; --as goes with -c CUSTODIAN.toml")
        _estimate_file(
            workload, answers, domain, interval, noise, facts, outside, time_limit, as_json, every_one=every_one
        )
        return
    if custodian is not None and server is not None:
        raise ArgumentError("name the settings with -c CUSTODIAN.toml, or a server with --server URL")
    if workload is not None or domain is not None or noise is not None or outside:
        raise ArgumentError(
            "what was paid for is known, with its domain and its noise: leave out WORKLOAD, ANSWERS.jsonl, --domain, "
            "--noise and --outside"
        )
    if server is not None:
        from parcomp.cli.remote import estimates_server

        if analyst:
            raise ArgumentError("a server knows the analyst by the key; leave --as out")
        if facts is not None or time_limit != _SECONDS:
            raise ArgumentError("--facts and --time-limit are not offered with --server")
        estimates_server(server, interval, as_json, every_one)
        return
    assert custodian is not None
    from parcomp.cli.estimate_render import print_estimates
    from parcomp.cli.terminal import step_progress
    from parcomp.estimation import FactsError, read_facts
    from parcomp.estimation.answers_file import Facts

    with pc.Custodian.open(custodian) as opened:
        known = Facts() if facts is None else read_facts(opened.settings.domain, facts)
        try:
            with step_progress(opened.settings.name, time_limit) as progress:
                found = opened.estimates(
                    analyst=analyst, interval=interval, facts=known, time_limit=time_limit, progress=progress
                )
        except FactsError as error:
            raise _of_facts(facts, known, error) from None
        print_estimates(opened.settings.name, found, opened.settings.domain, as_json=as_json, every_one=every_one)
        _print_doubts(found, facts, as_json)


def _estimate_file(
    workload: Path,
    answers: Path,
    domain: Path,
    interval: float,
    noise: str | None,
    facts: Path | None,
    outside: bool,
    time_limit: float,
    as_json: bool,
    *,
    every_one: bool,
) -> None:
    """Estimate from a file of answers."""
    read = pc.Workload.load(pc.Domain.load(domain), workload)

    from parcomp.cli.estimate_render import print_estimate
    from parcomp.cli.terminal import step_progress
    from parcomp.estimation import FactsError, read_answers, read_facts
    from parcomp.estimation.answers_file import Facts

    _check_counts(read.domain, workload)
    given = read_answers(answers, read, noise)
    known = Facts() if facts is None else read_facts(read.domain, facts)
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
    except FactsError as error:
        raise _of_facts(facts, known, error) from None
    except WorkloadError as error:
        # What does not fit the workload is in the file of answers.
        raise FileError(answers, str(error)) from None
    if as_json:
        for line in found.as_json():
            print(json.dumps(line, ensure_ascii=False))
    else:
        print_estimate(str(workload), found, every_one=every_one)
    _print_doubts(found, facts, as_json)


def _of_facts(file: Path | None, known: Facts, error: FactsError) -> Exception:
    """The same error with the file and the line of the fact."""
    line = None if error.place is None or not known.lines else known.lines[error.place]
    return error if file is None else FileError(file, str(error), line=line)


def _print_doubts(found: Estimate | Estimates, file: Path | None, as_json: bool) -> None:
    """What speaks against the facts, beside the estimates, and beside JSON what there was no time for."""
    for one in found.notes if as_json else ():
        print(json.dumps({"note": one}), file=sys.stderr)
    for one in found.doubts:
        print(json.dumps({"note": one}) if as_json else f"parcomp: warning: {file}: {one}", file=sys.stderr)


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

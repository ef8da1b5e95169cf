"""``parcomp overlap``: the maximum overlap of workloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from parcomp.cli.progress import bracket_progress
from parcomp.cli.render import print_overlap
from parcomp.errors import ParcompError
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
from parcomp.overlap import Method

__all__ = ["overlap"]


def overlap(
    workloads: Annotated[
        list[Path], typer.Argument(metavar="WORKLOAD...", help="Workload files (.jsonl or .sql).", show_default=False)
    ],
    domain: Annotated[
        Path, typer.Option(metavar="FILE", help="The domain file (.json, .toml or .yaml).", show_default=False)
    ],
    method: Annotated[
        Method,
        typer.Option(
            help="auto, exact: reduce, bound and search; a proven bracket when the time is up. "
            "clique, chromatic: the paper's upper bounds. brute-force: every row, for small domains."
        ),
    ] = "auto",
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For each workload.")] = 60.0,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a proof of the bracket, to be checked by parcomp verify.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each workload.")] = False,
) -> None:
    """Compute what a set of queries really costs: its maximum overlap."""
    if not 0 < time_limit < float("inf"):
        raise ParcompError(f"--time-limit must be a positive number of seconds, not {time_limit}")
    if certificate is not None and len(workloads) > 1:
        raise ParcompError(f"--certificate takes one workload, not {len(workloads)}")
    read_domain = Domain.load(domain)
    # All files are read first: a typo in the last one shows before an hour is spent on the first.
    read_workloads = [Workload.load(read_domain, path) for path in workloads]

    from parcomp.overlap.maximum import max_overlap  # noqa: PLC0415  numba is slow to import; --help must not wait for it

    for path, workload in zip(workloads, read_workloads, strict=True):
        with bracket_progress(str(path), time_limit) as progress:
            answer = max_overlap(workload, time_limit=time_limit, method=method, progress=progress)
        if certificate is not None:
            certificate.write_text(json.dumps(answer.certificate, ensure_ascii=False) + "\n", encoding="utf-8")
        if as_json:
            print(json.dumps(answer.as_json(str(path)), ensure_ascii=False))
        else:
            print_overlap(str(path), answer)

"""``parcomp overlap`` and ``verify``: the maximum overlap of workloads, and the check of its proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

import parcomp as pc
from parcomp.cli.options import DomainFile, Json, TimeLimit, WorkloadFile
from parcomp.errors import ArgumentError

__all__ = ["overlap", "verify"]


def overlap(
    workloads: Annotated[
        list[Path], typer.Argument(metavar="WORKLOAD...", help="Workload files (.jsonl or .sql).", show_default=False)
    ],
    domain: DomainFile,
    method: Annotated[
        Literal["auto", "exact", "clique", "chromatic", "brute-force"],
        typer.Option(
            help="auto, exact: reduce, bound and search; a proven bracket when the time is up. "
            "clique, chromatic: the paper's upper bounds. brute-force: every row, for small domains."
        ),
    ] = "auto",
    time_limit: TimeLimit = 60.0,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a proof of the bracket, to be checked by parcomp verify.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute what a set of queries really costs: its maximum overlap."""
    if certificate is not None and len(workloads) > 1:
        raise ArgumentError(f"--certificate takes one workload, not {len(workloads)}")
    if certificate is not None:
        # A search is not to be lost for a file that cannot be written.
        certificate.open("a", encoding="utf-8").close()
    read_domain = pc.Domain.load(domain)
    # All files are read first: a typo in the last one shows before an hour is spent on the first.
    read_workloads = [pc.Workload.load(read_domain, path) for path in workloads]

    from parcomp.cli.render import print_overlap
    from parcomp.cli.terminal import bracket_progress

    for path, workload in zip(workloads, read_workloads, strict=True):
        with bracket_progress(str(path), time_limit) as progress:
            answer = pc.max_overlap(workload, time_limit=time_limit, method=method, progress=progress)
        if certificate is not None:
            certificate.write_text(json.dumps(answer.certificate, ensure_ascii=False) + "\n", encoding="utf-8")
        if as_json:
            print(json.dumps(answer.as_json(str(path)), ensure_ascii=False))
        else:
            print_overlap(str(path), answer)


def verify(
    workload: WorkloadFile,
    certificate: Annotated[Path, typer.Argument(help="What parcomp overlap --certificate wrote.", show_default=False)],
    domain: DomainFile,
) -> None:
    """Check that a certificate proves its bracket; exit 0 only if it does."""
    from parcomp.certificate import load_certificate

    verdict = pc.verify(pc.Workload.load(pc.Domain.load(domain), workload), load_certificate(certificate))
    bracket = f"is {verdict.upper:,}" if verdict.exact else f"lies between {verdict.lower:,} and {verdict.upper:,}"
    print(f"proven: the maximum overlap {bracket} ({verdict.nodes:,} cases checked)")

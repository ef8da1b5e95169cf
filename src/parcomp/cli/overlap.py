"""``parcomp overlap`` and ``verify``: the maximum overlap of workloads, and the check of its proof."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import parcomp as pc
from parcomp.cli.interrupts import heeded
from parcomp.cli.notes import print_note
from parcomp.cli.options import DomainFile, Json, TimeLimit, WorkloadFile
from parcomp.cli.whole_file import check_writable, write_whole
from parcomp.errors import ArgumentError
from parcomp.tabular import counted

if TYPE_CHECKING:
    from parcomp.overlap import MaximumOverlap

__all__ = ["overlap", "verify"]

_PROOF_SECONDS = 60.0
"""How much longer than a search its proof may take: one can take longer than a search that went well."""


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
        check_writable(certificate)
    read_domain = pc.Domain.load(domain)
    # All files are read first: a typo in the last one shows before an hour is spent on the first.
    read_workloads = [pc.Workload.load(read_domain, path) for path in workloads]

    from parcomp.cli.render import print_overlap
    from parcomp.cli.terminal import bracket_progress
    from parcomp.cli.unsatisfiable import unsatisfiable

    for path, workload in zip(workloads, read_workloads, strict=True):
        for note in () if as_json else unsatisfiable(path, workload):
            print_note(note)
        with bracket_progress(str(path), time_limit) as progress:
            answer = pc.max_overlap(workload, time_limit=time_limit, method=method, progress=progress)
            if certificate is not None:
                # Ctrl-C was to end the search, and not the proof that comes after it.
                heeded()
        if as_json:
            print(json.dumps(answer.as_json(str(path)), ensure_ascii=False))
        else:
            print_overlap(str(path), answer)
        if certificate is not None:
            # Whatever becomes of the proof, the bracket is there.
            sys.stdout.flush()
            _write_certificate(certificate, answer, time_limit + _PROOF_SECONDS, as_json=as_json)


def _write_certificate(file: Path, answer: MaximumOverlap, seconds: float, *, as_json: bool) -> None:
    """Write a certificate, whose proof is given up after some time or on Ctrl-C; say so if it has none."""
    from parcomp.cli.terminal import waiting

    deadline = time.monotonic() + seconds
    why = ""
    with waiting(f"writing the proof, for at most {seconds:,.0f} s"):
        try:
            document = answer.prove(deadline)
            if time.monotonic() >= deadline:
                why = f"it was not finished within {seconds:,.0f} s; a longer --time-limit gives it more, too; "
        except KeyboardInterrupt:
            heeded()
            document, why = answer.prove(-math.inf), "Ctrl-C ended the search for it; "
    write_whole(file, json.dumps(document, ensure_ascii=False) + "\n")
    if document["proof"] == [{"search": True}]:
        print_note(
            "the certificate has no proof of the upper end, and parcomp verify will refuse it; "
            f"{why}privacy can be charged by the bracket all the same",
            as_json=as_json,
        )


def verify(
    workload: WorkloadFile,
    certificate: Annotated[Path, typer.Argument(help="What parcomp overlap --certificate wrote.", show_default=False)],
    domain: DomainFile,
) -> None:
    """Check that a certificate proves its bracket; exit 0 only if it does."""
    from parcomp.certificate import load_certificate

    verdict = pc.verify(pc.Workload.load(pc.Domain.load(domain), workload), load_certificate(certificate))
    bracket = f"is {verdict.upper:,}" if verdict.exact else f"lies between {verdict.lower:,} and {verdict.upper:,}"
    print(f"proven: the maximum overlap {bracket} ({counted(verdict.nodes, 'case')} checked)")

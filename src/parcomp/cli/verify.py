"""``parcomp verify``: check a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parcomp.certificate import load_certificate
from parcomp.certificate import verify as check
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload

__all__ = ["verify"]


def verify(
    workload: Annotated[Path, typer.Argument(help="The workload file (.jsonl or .sql).", show_default=False)],
    certificate: Annotated[Path, typer.Argument(help="What parcomp overlap --certificate wrote.", show_default=False)],
    domain: Annotated[Path, typer.Option(metavar="FILE", help="The domain file.", show_default=False)],
) -> None:
    """Check that a certificate proves its bracket; exit 0 only if it does."""
    verdict = check(Workload.load(Domain.load(domain), workload), load_certificate(certificate))
    bracket = f"is {verdict.upper:,}" if verdict.exact else f"lies between {verdict.lower:,} and {verdict.upper:,}"
    print(f"proven: the maximum overlap {bracket} ({verdict.nodes:,} cases checked)")

"""``parcomp ledger``: what was charged, and whether the books are right."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from parcomp.errors import LedgerError

__all__ = ["ledger"]

ledger = typer.Typer(help="Look at the ledger of charges.", no_args_is_help=True, rich_markup_mode=None)

_Settings = Annotated[
    Path, typer.Option("--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings.", show_default=False)
]


@ledger.command()
def show(
    custodian: _Settings, as_json: Annotated[bool, typer.Option("--json", help="One charge a line.")] = False
) -> None:
    """List the charges, and what is spent of the budget."""
    from parcomp.cli.answers import print_balance, print_charges  # noqa: PLC0415  numba is slow to import
    from parcomp.custodian import Custodian  # noqa: PLC0415  the same

    with Custodian.open(custodian) as opened:
        charges = opened.charges()
        if as_json:
            for charge in charges:
                print(json.dumps(asdict(charge), ensure_ascii=False))
            return
        print_balance(opened.settings, opened.balance())
        if charges:
            print()
            print_charges(opened.settings, charges)


@ledger.command()
def verify(
    custodian: _Settings,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="DIGEST", help="A head noted earlier, which must still be in the chain.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Recompute the chain of charges and their loss, by an independent pass; exit 2 if something is wrong."""
    from parcomp.custodian import Settings  # noqa: PLC0415  numba is slow to import
    from parcomp.ledger.audit import audit as audit_charges  # noqa: PLC0415  the same
    from parcomp.ledger.mark import MarkFile, open_marked_ledger  # noqa: PLC0415  the same

    settings = Settings.load(custodian)
    measure = settings.measure
    mark = None if settings.mark is None else MarkFile(settings.mark)
    with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as opened:
        if mark is not None:
            mark.check(opened)
        audit = audit_charges(opened.charges(), opened.binding, settings.domain, noted_head=head, ties=opened.ties())
    if as_json:
        print(
            json.dumps(
                {
                    "ok": audit.ok,
                    "charges": audit.charges,
                    "head": audit.head,
                    "loss": measure.parameter_up(audit.loss),
                    "sequential": measure.parameter_up(audit.sequential),
                    "problems": list(audit.problems),
                },
                ensure_ascii=False,
            )
        )
    else:
        for problem in audit.problems:
            print(problem)
        print(f"{audit.charges:,} charges, head {audit.head}")
        print(
            f"loss recomputed: {measure.symbol} = {measure.parameter_up(audit.loss):,.6g}, "
            f"sequential {measure.parameter_up(audit.sequential):,.6g}"
        )
    if not audit.ok:
        raise LedgerError(f"the ledger has {len(audit.problems):,} problems, the first: {audit.problems[0]}")
    if not as_json:
        print("the chain holds, and the loss is within the budget")

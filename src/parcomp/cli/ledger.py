"""``parcomp init`` and ``ledger``: making a ledger, what was charged, and whether the books are right."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

import parcomp as pc
from parcomp.cli.options import Custodian, Json
from parcomp.errors import LedgerError

__all__ = ["init", "ledger"]

ledger = typer.Typer(help="Look at the ledger of charges.", no_args_is_help=True, rich_markup_mode=None)


def init(custodian: Custodian) -> None:
    """Read the table and make the ledger, once; exit 2 if there is one, or if there was one that is gone."""
    from parcomp.cli.answers import print_balance

    with pc.Custodian.create(custodian) as created:
        print(f"The ledger of {created.settings.name}, version {created.settings.version}, is made.")
        print_balance(created.settings, created.balance())


@ledger.command()
def show(custodian: Custodian, as_json: Json = False) -> None:
    """List the charges, and what is spent of the budget."""
    from parcomp.cli.answers import print_balance, print_charges

    with pc.Custodian.open(custodian) as opened:
        charges = opened.charges()
        if as_json:
            for charge in charges:
                print(json.dumps({"number": charge.number, **asdict(charge)}, ensure_ascii=False))
            return
        print_balance(opened.settings, opened.balance())
        if charges:
            print()
            print_charges(opened.settings, charges)


@ledger.command()
def verify(
    custodian: Custodian,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="DIGEST", help="A head noted earlier, which must still be in the chain.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute the chain of charges and their loss, by an independent pass; exit 2 if something is wrong."""
    from parcomp.custodian import Settings
    from parcomp.ledger import MarkFile, audit_charges, open_marked_ledger

    settings = Settings.load(custodian)
    measure = settings.measure
    mark = None if settings.mark is None else MarkFile(settings.mark)
    with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as opened:
        if mark is not None:
            mark.check(opened)
        audit = audit_charges(opened.charges(), opened.binding, settings.domain, noted_head=head, ties=opened.ties())
    loss, sequential = measure.parameter_up(audit.loss), measure.parameter_up(audit.sequential)
    if as_json:
        shown = {
            "ok": audit.ok,
            "charges": audit.charges,
            "head": audit.head,
            "loss": loss,
            "sequential": sequential,
            "problems": list(audit.problems),
        }
        print(json.dumps(shown, ensure_ascii=False))
    else:
        for problem in audit.problems:
            print(problem)
        print(f"{audit.charges:,} charges, head {audit.head}")
        print(f"loss recomputed: {measure.symbol} = {loss:,.6g}, sequential {sequential:,.6g}")
    if not audit.ok:
        raise LedgerError(f"the ledger has {len(audit.problems):,} problems, the first: {audit.problems[0]}")
    if not as_json:
        print("the chain holds, and the loss is within the budget")

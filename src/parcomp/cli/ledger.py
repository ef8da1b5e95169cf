"""``parcomp ledger``: what was charged, and whether the books are right."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, replace
from typing import Annotated

import typer

import parcomp as pc
from parcomp.cli.options import Custodian, Json
from parcomp.costs import short_up
from parcomp.errors import LedgerError
from parcomp.figures import whose
from parcomp.tabular import counted

__all__ = ["ledger"]

ledger = typer.Typer(help="Look at the ledger of charges.", rich_markup_mode=None)


@ledger.callback(invoke_without_command=True)
def _commands(context: typer.Context) -> None:
    """Look at the ledger of charges."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@ledger.command()
def show(custodian: Custodian, as_json: Json = False) -> None:
    """List the charges, what is spent of the budget, and by whom."""
    from parcomp.cli.answers import print_balance, print_charges

    with pc.Custodian.open(custodian) as opened:
        charges = opened.charges()
        if as_json:
            for charge in charges:
                print(json.dumps({"number": charge.number, **asdict(charge)}, ensure_ascii=False))
            return
        print_balance(opened.balance())
        if charges:
            print()
            settings = opened.settings
            print_charges(settings.measure, charges, settings.domain, settings.rows_per_person)


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
    from parcomp.cli.terminal import waiting
    from parcomp.custodian import Settings, codes_problem
    from parcomp.ledger import MarkFile, audit_charges, open_marked_ledger

    settings = Settings.load(custodian)
    measure = settings.measure
    mark = None if settings.mark is None else MarkFile(settings.mark)
    with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as opened:
        if mark is not None:
            mark.check(opened)
        with waiting("verifying"):
            audit = audit_charges(
                opened.charges(),
                opened.binding,
                settings.domain,
                noted_head=head,
                ties=opened.ties(),
                answers=opened.stored_answers(),
                strategy_of=opened.strategy,
            )
            codes = codes_problem(settings, opened.known_rows())
    if codes:
        audit = replace(audit, problems=(*audit.problems, codes))
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
        loads = f" and {counted(audit.loads, 'load')} of the table" if audit.loads else ""
        print(f"{counted(audit.charges, 'charge')}{loads}, head {audit.head}")
        each = whose(settings.rows_per_person)[1]
        print(f"loss recomputed: {measure.symbol} = {short_up(loss)}{each}")
        print(f"one by one the charges would cost {measure.symbol} = {short_up(sequential)}{each}")
    if not audit.ok:
        raise LedgerError(f"the ledger has {counted(len(audit.problems), 'problem')}, the first: {audit.problems[0]}")
    if not as_json:
        print("the chain holds, the loss is within the budget, and the coded table is the one that was loaded")

"""``parcomp budget``: what was spent, by whom, and what is left."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import parcomp as pc
from parcomp.cli.options import Custodian, Json

__all__ = ["budget"]


def budget(
    custodian: Custodian,
    analyst: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Show the share of this analyst only.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what was spent of the budget and of the analysts' quotas, and what is left."""
    from parcomp.cli.answers import print_balance

    with pc.Custodian.open(custodian) as opened:
        balance = opened.balance(analyst)
        if as_json:
            print(json.dumps(balance.as_json(), ensure_ascii=False))
        else:
            print_balance(balance)

"""``parcomp init``: the one way to make a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["init"]


def init(
    custodian: Annotated[
        Path, typer.Option("--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings.", show_default=False)
    ],
) -> None:
    """Read the table and make the ledger, once; exit 2 if there is one, or if there was one that is gone."""
    from parcomp.cli.answers import print_balance  # noqa: PLC0415  numba is slow to import; --help must not wait for it
    from parcomp.custodian import Custodian  # noqa: PLC0415  the same

    with Custodian.create(custodian) as created:
        print(f"The ledger of {created.settings.name}, version {created.settings.version}, is made.")
        print_balance(created.settings, created.balance())

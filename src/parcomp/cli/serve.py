"""``parcomp serve``: answer over the network."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from parcomp.cli.options import Custodian
from parcomp.errors import LedgerWarning, SettingsError

__all__ = ["serve"]


def serve(
    custodian: Custodian,
    host: Annotated[str, typer.Option(metavar="H", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that serve.", min=1, max=256)] = 1,
    head: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="A head noted elsewhere, which the ledger must hold.", show_default=False),
    ] = None,
) -> None:
    """Answer whoever holds a key over HTTP, until interrupted; keys are made by `parcomp keys add`."""
    try:
        from parcomp.service import serve as run
    except ImportError as error:
        raise SettingsError(f"the service needs {error.name}; install parcomp[service]") from None

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", LedgerWarning)

        def announce(address: str) -> None:
            # A command tells such notes when it has ended, and this one does not end.
            for one in noted:
                print(f"parcomp: note: {one.message}", file=sys.stderr)
            noted.clear()
            print(f"Serving {custodian} at {address}", flush=True)

        run(custodian, host=host, port=port, workers=workers, head=head, announce=announce)

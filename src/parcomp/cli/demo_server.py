"""The demonstration's custodian as a server, with a key for an analyst and one for a custodian: ``make serve``.

The table and its ledger are made once and kept, so that what was spent stays spent; the keys are made anew each time,
and those of before are revoked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from parcomp.cli.demo_session import write_census
from parcomp.custodian import Access, Custodian, Settings
from parcomp.errors import MissingLedgerError, ParcompError, SettingsError
from parcomp.ledger import Role
from parcomp.service.process import listen, serve

__all__ = ["main"]

_KEYS = {"anna": Role.ANALYST, "curator": Role.CUSTODIAN}


def main(argv: Sequence[str] | None = None) -> None:
    """Make what is missing, print the keys, and serve."""
    parser = argparse.ArgumentParser(prog="python -m parcomp.cli.demo_server", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/serve"), help="where the table and its ledger are kept")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args(argv)
    try:
        _serve(arguments.out / "custodian.toml", arguments.port, arguments.workers)
    except ParcompError as error:
        hint = "; or: make serve PORT=8001" if isinstance(error, SettingsError) else ""
        print(f"parcomp: {error}{hint}", file=sys.stderr)
        raise SystemExit(2) from None


def _serve(settings: Path, port: int, workers: int) -> None:
    # Before anything is made or revoked: the server that may be there goes on with its keys.
    listening = listen(port=port)
    if not _is_made(settings):
        Custodian.create(write_census(settings.parent)).close()
    with Access(Settings.load(settings)) as access:
        made = {name: access.add(name, role) for name, role in _KEYS.items()}
        for name in _KEYS:
            access.revoke(name, older=True)

    def announce(address: str) -> None:
        print(f"Serving a synthetic census of 50,000 people. Open {address} and sign in with a key:\n")
        for name, key in made.items():
            print(f"  {name:8} {key.role:10} {key.key}")
        sql = "SELECT gender, COUNT(*) FROM census GROUP BY gender"
        print(f"\nOr ask from a shell:\n  export PARCOMP_KEY={made['anna'].key}")
        print(f'  .venv/bin/parcomp ask --server {address} "{sql}" --epsilon 0.1\n\nCtrl-C ends it.', flush=True)

    serve(settings, workers=workers, announce=announce, listening=listening)


def _is_made(settings: Path) -> bool:
    try:
        if settings.exists():
            Custodian.open(settings).close()
            return True
    except MissingLedgerError:
        pass
    return False


if __name__ == "__main__":
    main()

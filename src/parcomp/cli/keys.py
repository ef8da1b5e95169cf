"""``parcomp keys``: who may ask over the network."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from parcomp.cli.options import Custodian, Json

__all__ = ["keys"]

keys = typer.Typer(help="Keys, by which analysts ask over the network.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.", show_default=False)]


@keys.command()
def add(
    name: Name,
    custodian: Custodian,
    role: Annotated[
        str, typer.Option(metavar="analyst|custodian", help="analyst: to ask. custodian: to see everything.")
    ] = "analyst",
    as_json: Json = False,
) -> None:
    """Make a key and print it; it is stored as a digest, so it cannot be shown again."""
    from parcomp.custodian import Access, Settings

    with Access(Settings.load(custodian)) as access:
        made = access.add(name, role)
    if as_json:
        print(json.dumps(made.as_json(), ensure_ascii=False))
        return
    print(made.key)
    print("parcomp: note: keep the key now; it is not stored, and cannot be shown again", file=sys.stderr)


@keys.command(name="list")
def list_keys(custodian: Custodian, as_json: Json = False) -> None:
    """List the keys, by name, without what would let anyone in."""
    from parcomp.cli.terminal import new_console, plain_table
    from parcomp.custodian import Access, Settings

    with Access(Settings.load(custodian)) as access:
        known = access.keys()
    if as_json:
        for one in known:
            fields = {"number": one.number, "name": one.name, "role": str(one.role), "added": one.added}
            print(json.dumps({**fields, "revoked": one.revoked or None}, ensure_ascii=False))
        return
    if not known:
        print("There are no keys; make one with: parcomp keys add NAME --role analyst -c CUSTODIAN.toml")
        return
    from rich.text import Text

    table = plain_table(">key", "name", "role", ">added (UTC)", ">revoked (UTC)")
    for one in known:
        added, revoked = (time[:19].replace("T", " ") for time in (one.added, one.revoked))
        table.add_row(str(one.number), Text(one.name), str(one.role), added, revoked or "–")
    new_console().print(table)


@keys.command()
def revoke(
    name: Name,
    custodian: Custodian,
    older: Annotated[bool, typer.Option("--older", help="All but the latest key in this name.")] = False,
    as_json: Json = False,
) -> None:
    """Revoke the keys in a name; every server stops taking them within a second."""
    from parcomp.custodian import Access, Settings

    with Access(Settings.load(custodian)) as access:
        ended = access.revoke(name, older=older)
    if as_json:
        print(json.dumps({"name": name, "revoked": [one.number for one in ended]}, ensure_ascii=False))
    else:
        print(f"revoked {len(ended)} of the keys in the name {name}")

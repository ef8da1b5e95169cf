"""``parcomp domain``: what can be asked about, and help with domain files."""

from __future__ import annotations

import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import parcomp as pc
from parcomp.cli.options import Json
from parcomp.errors import ArgumentError, DataError, one_line

if TYPE_CHECKING:
    from parcomp.data import Draft

__all__ = ["domain"]

_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z_0-9]*")
"""A name that needs no quotes in SQL."""

domain = typer.Typer(help="Look at a domain, or draft a domain file.", rich_markup_mode=None)


@domain.callback(invoke_without_command=True)
def _commands(context: typer.Context) -> None:
    """Look at a domain, or draft a domain file."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@domain.command()
def show(
    custodian: Annotated[
        Path | None,
        typer.Option(
            "--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings that name it.", show_default=False
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--domain", metavar="FILE", help="The domain file (.json, .toml or .yaml).", show_default=False),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="The server whose domain it is, with the key in PARCOMP_KEY.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the attributes with their values, ranges and levels: all that statements can be about."""
    if [custodian, file, server].count(None) != 2:
        raise ArgumentError("say which domain: --custodian CUSTODIAN.toml (-c), --domain FILE, or --server URL")
    from parcomp.cli.domain_render import print_domain

    taken: int | None = None
    told: dict[str, Any]
    if file is not None:
        told = {**pc.Domain.load(file).describe()}
    elif server is not None:
        from parcomp.cli.remote import client_of

        with client_of(server) as client:
            told, budget = client.domain(), client.budget()
            taken = budget["rows_per_person"] if budget.get("bounded") else None
    else:
        assert custodian is not None
        from parcomp.custodian import Settings

        settings = Settings.load(custodian)
        told = settings.describe_domain()
        taken = settings.rows_per_person if settings.person else None
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
        return
    print_domain(pc.Domain.described(told), complete=told.get("complete", ()))
    if taken is not None:
        from parcomp.custodian.wording import rows_taken

        print(rows_taken(taken))


@domain.command()
def suggest(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A schema (.sql), a codebook (.csv), or a table, of which only the declarations are read: a .parquet, "
            ".csv, .csv.gz, .duckdb or .db file, or postgresql://….",
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which table, if there are several; SCHEMA.TABLE too.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the draft to a .toml or .json file.", show_default=False),
    ] = None,
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Read the values in SOURCE too; they become public by that.")
    ] = False,
    delimiter: Annotated[str, typer.Option(metavar="C", help="What separates the fields of a CSV file.")] = ",",
    encoding: Annotated[str, typer.Option(metavar="NAME", help="The encoding of a CSV file.")] = "utf-8",
) -> None:
    """Draft a domain file from what is public: a schema, a codebook or the types of columns."""
    from parcomp.cli.terminal import row_progress
    from parcomp.data import Reading, suggest_domain

    if out is not None and out.suffix.lower() not in (".toml", ".json"):
        raise DataError(f"{one_line(str(out))}: a draft is written as .toml, or as .json without what is incomplete")
    if out is not None and out.exists():
        raise DataError(f"{one_line(str(out))}: there is such a file already; give the draft another name")
    if from_data:
        print(
            "parcomp: note: --from-data copies values of the data into the domain, which is public; "
            "do so only if they are public already",
            file=sys.stderr,
        )
    with row_progress("reading rows") if from_data else nullcontext() as progress:
        draft = suggest_domain(
            source,
            table=table,
            reading=Reading(delimiter=delimiter, encoding=encoding),
            from_data=from_data,
            progress=progress,
        )
    as_json = out is not None and out.suffix.lower() == ".json"
    text = draft.as_json() if as_json else draft.as_toml()
    if out is not None:
        out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    for line in _to_do(draft, as_json=as_json):
        print(f"parcomp: {line}", file=sys.stderr)


def _to_do(draft: Draft, *, as_json: bool) -> list[str]:
    """What a person has to do after this, a line each."""
    lines = []
    if not _PLAIN_NAME.fullmatch(draft.name):
        quoted = one_line(draft.name.replace('"', '""'))
        lines.append(f'note: statements have to say FROM "{quoted}"; a plainer name in the draft is easier to write')
    if as_json:
        # JSON has no place for what is incomplete.
        lines += [f"declare yourself: {one_line(name)} ({one_line(why)})" for name, why in draft.incomplete.items()]
        lines += [f"left out: {one_line(name)} ({one_line(why)})" for name, why in draft.left_out.items()]
    elif draft.incomplete:
        count = len(draft.incomplete)
        verb, whose, them = ("is", "its line", "it") if count == 1 else ("are", "their lines", "them")
        lines.append(
            f"note: {count} of {len(draft.lines)} columns {verb} to be completed: give what stands for ? in {whose} "
            f"and take the # away, or delete {them}"
        )
    if draft.nulls:
        tokens = one_line(json.dumps(list(draft.nulls), ensure_ascii=False))
        lines.append(f"note: some texts seem to stand for null; put nulls = {tokens} into [source] of the settings")
    return lines

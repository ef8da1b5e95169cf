"""``parcomp domain``: help with domain files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from parcomp.errors import one_line

__all__ = ["domain"]

domain = typer.Typer(help="Draft a domain file.", no_args_is_help=True, rich_markup_mode=None)


@domain.callback()
def _commands() -> None:
    """Draft a domain file."""


@domain.command()
def suggest(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A schema (.sql), a codebook (.csv), or a .parquet, .csv, .duckdb or .db file, of which only the "
            "declarations of columns are read.",
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table, if FILE has several.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DOMAIN.json", help="Write the draft to a file.", show_default=False)
    ] = None,
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Read the values in FILE too; they become public by that.")
    ] = False,
) -> None:
    """Draft a domain file from what is public: a schema, a codebook or the types of columns."""
    from parcomp.data import suggest_domain

    if from_data:
        print(
            "parcomp: warning: --from-data copies values of the data into the domain, which is public; "
            "do so only if they are public already",
            file=sys.stderr,
        )
    draft = suggest_domain(file, table=table, from_data=from_data)
    for name, missing in draft.left_out.items():
        print(f"parcomp: declare yourself: {one_line(name)} ({one_line(missing)})", file=sys.stderr)
    if out is not None:
        draft.domain.save(out)
        return
    print(json.dumps(draft.domain.describe(), ensure_ascii=False, indent=2))

"""``parcomp check``, ``init`` and ``load``: a table taken into custody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

import parcomp as pc
from parcomp.cli.options import Custodian, Json
from parcomp.errors import DataError
from parcomp.tabular import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from parcomp.custodian import Settings
    from parcomp.data import Report

__all__ = ["check", "init", "load"]

Accept = Annotated[
    bool, typer.Option("--accept", help="Take the table although many of its values are outside the domain.")
]


def check(custodian: Custodian, as_json: Json = False) -> None:
    """Say what the table holds that its domain does not declare; exact numbers, for the custodian only."""
    from parcomp.cli.table_report import print_report
    from parcomp.cli.terminal import row_progress
    from parcomp.custodian import Settings
    from parcomp.data import check_table

    settings = Settings.load(custodian)
    with row_progress("reading") as progress:
        report = check_table(settings.place, progress)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print_report(settings, report)


def init(custodian: Custodian, accept: Accept = False) -> None:
    """Read the table, encode it and make the ledger, once; exit 2 if there is one, or if there was one that is gone."""
    from parcomp.cli.answers import print_balance
    from parcomp.cli.terminal import row_progress
    from parcomp.custodian import Settings

    settings = Settings.load(custodian)
    with row_progress("encoding") as progress:
        agree = _agreement(settings, accept=accept)
        created = pc.Custodian.create(settings, agree=agree, progress=progress)
    with created:
        print(f"The ledger of {settings.name}, version {settings.version}, is made.")
        print_balance(created.balance())


def load(custodian: Custodian, accept: Accept = False) -> None:
    """Read the table again and encode it anew: rows that were added to it, and a domain that was extended."""
    from parcomp.cli.terminal import row_progress
    from parcomp.custodian import Settings, load_table
    from parcomp.data import table_in_place

    settings = Settings.load(custodian)
    before = table_in_place(settings.place)
    with row_progress("encoding") as progress:
        bound = (settings.person, settings.rows_per_person)
        settled = before is not None and bool(before.person) and (before.person, before.rows_per_person) == bound
        agree = _agreement(settings, accept=accept, settled=settled)
        loaded = load_table(settings, agree=agree, progress=progress)
    kept = f"{counted(loaded.kept, 'row')} {'is' if loaded.kept == 1 else 'are'}"
    print(f"{settings.name}, version {settings.version}: {kept} encoded.")
    if before is not None and loaded.rows > before.rows:
        taken, added = loaded.kept - before.kept, loaded.rows - before.rows
        was, are = ("was" if added == 1 else "were"), ("is" if taken == 1 else "are")
        print(f"{counted(added, 'row')} {was} added, of which {taken:,} {are} taken.")


def _agreement(settings: Settings, *, accept: bool, settled: bool = False) -> Callable[[Report], None]:
    """What shows a report, and raises where much is amiss that was not accepted.

    ``settled`` is whether a table is in place whose persons have as many rows at most: more are left out of it as ever.
    """

    def agree(report: Report) -> None:
        from parcomp.cli.table_report import print_report

        print_report(settings, report)
        amiss = []
        if report.doubtful:
            amiss.append(
                f"more than 1 % of the values of {', '.join(report.doubtful)} are outside the domain: mend the domain "
                "or [source] as said above"
            )
        if report.leaves_out_many and not settled:
            amiss.append(
                f"{report.rows_left_out:,} of {report.rows:,} rows would be left out: a person has more than "
                f"{settings.rows_per_person} of them, or none is named; give more rows_per_person under [privacy]"
            )
        if amiss and not accept:
            raise DataError(f"nothing was made: {'; '.join(amiss)}; or add --accept if that is how the table is")

    return agree

"""What was found in a table, as its custodian reads it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from parcomp.cli.terminal import new_console, plain_table
from parcomp.custodian import Settings
from parcomp.data import AttributeReport, Report
from parcomp.errors import one_line
from parcomp.tabular import counted

__all__ = ["print_report"]


def print_report(settings: Settings, report: Report) -> None:
    """Print the rows, the values outside the domain by attribute and reason, and the suspected causes."""
    console = new_console(f"{settings.name}, version {settings.version}")
    console.print("For the custodian only: these numbers are exact, and not private.", style="yellow")
    outside = report.rows - report.inside
    share = f" ({outside / report.rows:.2%})" if outside else ""
    console.print(f"{counted(report.rows, 'row')}, {outside:,} of them{share} with a value outside the domain")
    if report.persons is not None:
        console.print(
            f"{counted(report.persons, 'person')}, at most {counted(settings.rows_per_person, 'row')} of each "
            f"{'is' if settings.rows_per_person == 1 else 'are'} taken; "
            f"{counted(report.rows_left_out, 'row')} {'is' if report.rows_left_out == 1 else 'are'} left out"
        )
    found = {name: one for name, one in report.attributes.items() if one.outside}
    if not found:
        console.print("every value is declared", style="green")
    else:
        _print_outside(console, found)
    for name, one in report.attributes.items():
        for cause in one.causes if name not in found else ():
            console.print(Text(f"{one_line(name)}: {cause}"))


def _print_outside(console: Console, found: dict[str, AttributeReport]) -> None:
    table = plain_table("attribute", ">null", ">unknown", ">out of range", ">wrong type", "suspected cause", names=True)
    for name, one in found.items():
        numbers = (f"{count:,}" if count else "–" for count in one.as_json().values())
        table.add_row(Text(one_line(name)), *numbers, Text("\n".join(one.causes)))
    console.print(table)
    console.print(
        "A value outside the domain satisfies no condition on its attribute, like a null; its row counts wherever that "
        "attribute is not asked about."
    )

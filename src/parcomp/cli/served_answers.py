"""Quotes, answers and balances as a server tells them, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcomp.client import ServedAnswer, ServedQuote

__all__ = ["print_served_answer", "print_served_balance", "print_served_quote"]


def print_served_quote(found: ServedQuote, measure: str) -> None:
    """Print what asking would mean; amounts are of a measure."""
    from parcomp.costs import short_down, short_up
    from parcomp.tabular import error_text

    unit = _unit(measure)
    told = found.document
    pairs = [
        ("verdict", "fits" if found.fits else f"does not fit: the {told.get('limit') or 'budget'} does not bear it"),
        ("cost", unit + short_up(found.cost)),
        ("adds", f"{unit}{short_up(found.adds)} to what the dataset has spent"),
        ("remaining", f"{unit}{short_down(found.remaining)} on the rows of this query"),
    ]
    left = told.get("left", {})
    if len(left) > 1:
        pairs += [(f"  by the {limit}", unit + short_down(amount)) for limit, amount in left.items()]
    errors = told.get("expected_errors") or {"expected error": found.expected_error}
    for name, error in errors.items():
        said = "depends on how many rows there are" if error is None else f"{error_text(error)} on average"
        pairs.append((name if len(errors) == 1 else f"error of {name}", said))
    pairs += [(f"error over {int(rows):,} rows", error_text(error)) for rows, error in _by_rows(told).items()]
    _print_pairs(pairs)


def print_served_balance(told: Mapping[str, Any]) -> None:
    """Print what was spent, by whom."""
    from parcomp.costs import short_down, short_up

    unit = _unit(told["measure"])
    pairs = [
        ("measure", told["measure"]),
        ("budget", unit + short_down(told["budget"])),
        ("spent", unit + short_up(told["spent"])),
        ("sequential", unit + short_up(told["sequential"])),
        ("charges", f"{told['charges']:,}"),
    ]
    for name, one in told["analysts"].items():
        quota = "no quota" if one["quota"] is None else f"quota {unit}{short_down(one['quota'])}"
        pairs.append((f"spent by {name}", f"{unit}{short_up(one['spent'])}, {quota}"))
    _print_pairs(pairs)


def print_served_answer(answer: ServedAnswer) -> None:
    """Print an answer, each number with its interval, what was paid for it, and what its notes say."""
    from rich.text import Text

    from parcomp.cli.terminal import new_console, plain_table
    from parcomp.tabular import error_text, label_text, number_text

    headings: list[str] = []
    columns: list[Sequence[str]] = []
    for name, values, intervals in answer.items():
        if intervals is None:
            headings.append(name)
            columns.append([label_text(one) for one in values])
        else:
            headings += [f">{name}", ">95 % interval"]
            columns.append([number_text(one) if isinstance(one, (int, float)) else "null" for one in values])
            columns.append([_interval(*ends) for ends in intervals])
    table = plain_table(*headings)
    for row in zip(*columns, strict=True):
        table.add_row(*map(Text, row))
    console = new_console()
    console.print(table)
    paid = "free" if answer.charge is None else f"free: charge {answer.charge} paid for it" if answer.cached else ""
    error = "" if answer.expected_error is None else f"expected error {error_text(answer.expected_error)}; "
    console.print(f"{error}{paid or f'charge {answer.charge}, cost {answer.cost:g}'}")
    for note in answer.document.get("notes", ()):
        console.print(Text(note))


def _interval(low: Any, high: Any) -> str:
    from parcomp.tabular import number_text

    return "none" if low is None or high is None else f"{number_text(low)} to {number_text(high)}"


def _by_rows(told: Mapping[str, Any]) -> Mapping[str, float]:
    """The error for some numbers of rows: of the first item that depends on it, where several do."""
    found: Mapping[str, Any] = told.get("error_by_rows", {})
    return {rows: error for rows, error in found.items() if isinstance(error, (int, float))}


def _unit(measure: str) -> str:
    from parcomp.privacy import MEASURES

    known = {one.name: one.symbol for one in MEASURES.values()}
    return f"{known[measure]} = " if measure in known else ""


def _print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    from rich.text import Text

    from parcomp.cli.terminal import new_console, plain_table

    table = plain_table("", "", names=True)
    for name, value in pairs:
        table.add_row(Text(name), Text(value))
    new_console().print(table)

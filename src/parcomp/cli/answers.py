"""Quotes, answers and ledgers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import bar, new_console, number, plain_table
from parcomp.cli.words import statement_in_words
from parcomp.costs import amount_text
from parcomp.custodian import Answer, Balance, BatchQuote, Quote, Settings
from parcomp.ledger import Charge
from parcomp.model import Statement
from parcomp.privacy import guarantee_in_words

__all__ = ["print_answer", "print_answers", "print_balance", "print_charges", "print_quote", "print_quotes"]

_BAR = 30
"""Characters of the longest bar."""

_SHOWN = 40
"""How many groups or charges are listed before the rest is only counted."""


def print_quote(settings: Settings, quote: Quote) -> None:
    """Print what asking would mean."""
    table = plain_table("", "", names=True)
    symbol = settings.measure.symbol
    if quote.cached:
        verdict = Text("free: it was bought before, at least as accurately", style="green")
    elif quote.fits:
        verdict = Text("fits the budget", style="green")
    else:
        verdict = Text(f"does not fit: {quote.reason}", style="red")
    table.add_row("verdict", verdict)
    table.add_row("cost", f"{symbol} = {number(quote.cost)}")
    table.add_row("adds", f"{symbol} = {number(quote.adds)} to what the dataset has spent")
    table.add_row("remaining", f"{symbol} = {number(quote.remaining)} on the rows of this query")
    if quote.expected_error is None:
        table.add_row("expected error", "depends on how many rows there are; it is told with the answer")
    else:
        table.add_row("expected error", f"± {quote.expected_error:,.4g} on average")
    if quote.best_error is not None:
        table.add_row("best affordable", f"± {quote.best_error:,.4g} on average, for all that remains")
    new_console().print(table)


def print_quotes(settings: Settings, statements: Sequence[Statement], batch: BatchQuote) -> None:
    """Print what asking a batch would mean."""
    console, symbol = new_console(), settings.measure.symbol
    table = plain_table("statement", f">cost {symbol}", f">adds {symbol}", ">expected error", ">fits")
    for statement, quote in zip(statements, batch.quotes, strict=True):
        error = "–" if quote.expected_error is None else f"{quote.expected_error:,.4g}"
        fits = "free" if quote.cached else "yes" if quote.fits else "no"
        table.add_row(Text(statement_in_words(statement.text)), number(quote.cost), number(quote.adds), error, fits)
    console.print(table)
    verdict = "fits" if batch.fits else "does not fit: nothing would be charged"
    console.print(f"together: adds {symbol} = {number(batch.adds)} to what the dataset has spent; {verdict}")


def print_answer(settings: Settings, answer: Answer) -> None:
    """Print one answer with its error, and what was paid for it."""
    console = new_console()
    if answer.grouped:
        console.print(_chart(answer))
    else:
        low, high = answer.interval
        console.print(Text(f"{number(answer.value)}", style="bold"), f"  95 % interval {number(low)} to {number(high)}")
    console.print(f"expected error ± {answer.expected_error:,.4g}; {_payment(settings, answer)}")


def print_answers(settings: Settings, statements: Sequence[Statement], answers: Sequence[Answer]) -> None:
    """Print the answers of a batch."""
    for statement, answer in zip(statements, answers, strict=True):
        new_console(statement_in_words(statement.text))
        print_answer(settings, answer)


def print_balance(settings: Settings, balance: Balance) -> None:
    """Print what was spent, beside the budget and what sequential composition would have spent."""
    console, chart = new_console(), plain_table("", "", "", names=True)
    longest = max(balance.budget, balance.sequential)
    for name, value, style in (
        ("budget", balance.budget, "blue"),
        ("spent", balance.loss, "green"),
        ("sequential", balance.sequential, "red"),
    ):
        chart.add_row(name, f"{settings.measure.symbol} = {number(value)}", bar(value, longest, _BAR, style))
    console.print(chart)
    guarantee = guarantee_in_words(settings.measure.name, balance.loss, settings.neighbours, settings.rows_per_person)
    console.print(f"{settings.name} {settings.version}, {balance.charges:,} charges: {guarantee}")


def print_charges(settings: Settings, charges: Sequence[Charge]) -> None:
    """Print the charges, the latest ones if there are many."""
    table = plain_table(">charge", ">time", "analyst", "statement", f">cost {settings.measure.symbol}")
    if len(charges) > _SHOWN:
        table.add_row("…", f"{len(charges) - _SHOWN:,} earlier", "", "", "")
    for charge in charges[-_SHOWN:]:
        cost = amount_text(charge.units) if settings.measure.power == 1 else f"√{amount_text(charge.units)}"
        time = charge.time[:19].replace("T", " ")
        table.add_row(
            str(charge.number), time, Text(charge.analyst or "–"), Text(statement_in_words(charge.statement)), cost
        )
    new_console().print(table)


def _chart(answer: Answer) -> Table:
    names = answer.groups[0].row if answer.groups else ()
    table = plain_table(*(name.lstrip(">") for name in names), ">value", ">95 % interval", "")
    longest = max((abs(group.value) for group in answer.groups), default=0) or 1
    for group in answer.groups[:_SHOWN]:
        low, high = group.interval
        table.add_row(
            *(Text("null" if value is None else str(value)) for value in group.row.values()),
            number(group.value),
            f"{number(low)} to {number(high)}",
            bar(max(group.value, 0), longest, _BAR, "green"),
        )
    if len(answer.groups) > _SHOWN:
        table.add_row(f"… {len(answer.groups) - _SHOWN:,} more (--json has all)")
    return table


def _payment(settings: Settings, answer: Answer) -> str:
    if answer.charge is None:
        return "no row can satisfy this query, so it is free"
    if answer.cached:
        return f"free: charge {answer.charge} paid for it"
    return f"charge {answer.charge}, {settings.measure.symbol} = {number(answer.cost)}"

"""Quotes, answers and ledgers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parcomp.cli.words import statement_in_words
from parcomp.costs import amount_text
from parcomp.custodian import Answer, Balance, BatchQuote, Quote, Settings
from parcomp.ledger.charge import Charge
from parcomp.model.statement import Statement
from parcomp.privacy.loss import guarantee_in_words

__all__ = ["print_answer", "print_answers", "print_balance", "print_charges", "print_quote", "print_quotes"]

_BAR = 30
"""Characters of the longest bar."""

_SHOWN = 40
"""How many groups or charges are listed before the rest is only counted."""


def print_quote(settings: Settings, quote: Quote) -> None:
    """Print what asking would mean."""
    console, table = Console(highlight=False), _fields()
    symbol = settings.measure.symbol
    if quote.cached:
        verdict = Text("free: it was bought before, at least as accurately", style="green")
    elif quote.fits:
        verdict = Text("fits the budget", style="green")
    else:
        verdict = Text(f"does not fit: {quote.reason}", style="red")
    table.add_row("verdict", verdict)
    table.add_row("cost", f"{symbol} = {_number(quote.cost)}")
    table.add_row("adds", f"{symbol} = {_number(quote.adds)} to what the dataset has spent")
    table.add_row("remaining", f"{symbol} = {_number(quote.remaining)} on the rows of this query")
    if quote.expected_error is None:
        table.add_row("expected error", "depends on how many rows there are; it is told with the answer")
    else:
        table.add_row("expected error", f"± {quote.expected_error:,.4g} on average")
    if quote.best_error is not None:
        table.add_row("best affordable", f"± {quote.best_error:,.4g} on average, for all that remains")
    console.print(table)


def print_quotes(settings: Settings, statements: Sequence[Statement], batch: BatchQuote) -> None:
    """Print what asking a batch would mean."""
    console, symbol = Console(highlight=False), settings.measure.symbol
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("statement", overflow="fold")
    for heading in (f"cost {symbol}", f"adds {symbol}", "expected error", "fits"):
        table.add_column(heading, justify="right", no_wrap=True)
    for statement, quote in zip(statements, batch.quotes, strict=True):
        error = "–" if quote.expected_error is None else f"{quote.expected_error:,.4g}"
        fits = "free" if quote.cached else "yes" if quote.fits else "no"
        table.add_row(Text(statement_in_words(statement.text)), _number(quote.cost), _number(quote.adds), error, fits)
    console.print(table)
    verdict = "fits" if batch.fits else "does not fit: nothing would be charged"
    console.print(f"together: adds {symbol} = {_number(batch.adds)} to what the dataset has spent; {verdict}")


def print_answer(settings: Settings, answer: Answer) -> None:
    """Print one answer with its error, and what was paid for it."""
    console = Console(highlight=False)
    if answer.grouped:
        console.print(_chart(answer))
    else:
        low, high = answer.interval
        console.print(
            Text(f"{_number(answer.value)}", style="bold"), f"  95 % interval {_number(low)} to {_number(high)}"
        )
    console.print(f"expected error ± {answer.expected_error:,.4g}; {_payment(settings, answer)}")


def print_answers(settings: Settings, statements: Sequence[Statement], answers: Sequence[Answer]) -> None:
    """Print the answers of a batch."""
    console = Console(highlight=False)
    for statement, answer in zip(statements, answers, strict=True):
        console.print(Text(statement_in_words(statement.text), style="bold underline"))
        print_answer(settings, answer)


def print_balance(settings: Settings, balance: Balance) -> None:
    """Print what was spent, beside the budget and what sequential composition would have spent."""
    console = Console(highlight=False)
    chart = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for _ in range(3):
        chart.add_column(no_wrap=True)
    longest = max(balance.budget, balance.sequential)
    for name, value, style in (
        ("budget", balance.budget, "blue"),
        ("spent", balance.loss, "green"),
        ("sequential", balance.sequential, "red"),
    ):
        length = max(round(_BAR * value / longest), 1 if value else 0)
        chart.add_row(
            Text(name, style="bold"), f"{settings.measure.symbol} = {_number(value)}", Text("█" * length, style=style)
        )
    console.print(chart)
    guarantee = guarantee_in_words(settings.measure.name, balance.loss, settings.neighbours, settings.rows_per_person)
    console.print(f"{settings.name} {settings.version}, {balance.charges:,} charges: {guarantee}")


def print_charges(settings: Settings, charges: Sequence[Charge]) -> None:
    """Print the charges, the latest ones if there are many."""
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("charge", justify="right")
    table.add_column("time", no_wrap=True)
    table.add_column("analyst")
    table.add_column("statement", overflow="fold")
    table.add_column(f"cost {settings.measure.symbol}", justify="right")
    if len(charges) > _SHOWN:
        table.add_row("…", f"{len(charges) - _SHOWN:,} earlier", "", "", "")
    for charge in charges[-_SHOWN:]:
        cost = amount_text(charge.units) if settings.measure.power == 1 else f"√{amount_text(charge.units)}"
        time = charge.time[:19].replace("T", " ")
        table.add_row(
            str(charge.number), time, Text(charge.analyst or "–"), Text(statement_in_words(charge.statement)), cost
        )
    console.print(table)


def _chart(answer: Answer) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in answer.groups[0].row if answer.groups else ():
        table.add_column(name)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max((abs(group.value) for group in answer.groups), default=0) or 1
    for group in answer.groups[:_SHOWN]:
        low, high = group.interval
        bar = Text("█" * round(_BAR * max(group.value, 0) / longest), style="green")
        values = ["null" if value is None else str(value) for value in group.row.values()]
        table.add_row(
            *(Text(value) for value in values), _number(group.value), f"{_number(low)} to {_number(high)}", bar
        )
    if len(answer.groups) > _SHOWN:
        table.add_row(f"… {len(answer.groups) - _SHOWN:,} more (--json has all)")
    return table


def _payment(settings: Settings, answer: Answer) -> str:
    if answer.charge is None:
        return "no row can satisfy this query, so it is free"
    if answer.cached:
        return f"free: charge {answer.charge} paid for it"
    return f"charge {answer.charge}, {settings.measure.symbol} = {_number(answer.cost)}"


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _fields() -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table

"""Quotes, answers and ledgers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import bar, new_console, plain_table
from parcomp.cli.words import statement_in_words
from parcomp.costs import short_down, short_up
from parcomp.custodian import Answer, Balance, BatchQuote, Quote, Settings, interval_text
from parcomp.ledger import Charge
from parcomp.model import Domain, Statement
from parcomp.privacy import Measure, guarantee_in_words
from parcomp.tabular import error_text, label_text, number_text

__all__ = [
    "print_answer",
    "print_answers",
    "print_balance",
    "print_charges",
    "print_quote",
    "print_quotes",
    "rows_taken",
]

_BAR = 30
"""Characters of the longest bar."""

_SHORT_BAR = 12
"""The same beside several numbers."""

_SHOWN = 40
"""How many groups or charges are listed before the rest is only counted."""


def print_quote(settings: Settings, quote: Quote) -> None:
    """Print what asking would mean."""
    table = plain_table("", "", names=True)
    symbol = settings.measure.symbol
    if quote.cached:
        verdict = Text("free: it was bought before, at least as accurately", style="green")
    elif quote.fits and not quote.limit:
        verdict = Text("free: no row can satisfy this query", style="green")
    elif quote.fits:
        verdict = Text("fits the budget and the quota" if len(quote.left) > 1 else "fits the budget", style="green")
    else:
        verdict = Text(f"does not fit: {quote.reason}", style="red")
    table.add_row("verdict", verdict)
    table.add_row("cost", f"{symbol} = {short_up(quote.cost)}{_at_delta(quote, 'cost', short_up)}")
    table.add_row("adds", f"{symbol} = {short_up(quote.adds)} to what the dataset has spent")
    remaining = f"{symbol} = {short_down(quote.remaining)}{_at_delta(quote, 'remaining', short_down)}"
    table.add_row("remaining", f"{remaining} on the rows of this query")
    if len(quote.left) > 1:
        for limit, left in quote.left.items():
            table.add_row(Text(f"  by the {limit}"), f"{symbol} = {short_down(left)}")
    if settings.rows_per_person > 1:
        table.add_row("", _for_one_row(settings.measure, settings.rows_per_person))
    if len(quote.errors) > 1:
        for name, error in quote.errors.items():
            told = quote.errors_by_rows.get(name, {})
            if error is not None or not told:
                said = "depends on how many rows there are" if error is None else f"{error_text(error)} on average"
                table.add_row(Text(f"error of {name}"), said)
            for rows, one in told.items():
                table.add_row(Text(f"error of {name} over {rows:,} rows"), f"{error_text(one)} on average")
    elif quote.expected_error is not None:
        table.add_row("expected error", f"{error_text(quote.expected_error)} on average")
    elif not quote.error_by_rows and quote.errors:
        table.add_row("expected error", "depends on how many rows there are; it is told with the answer")
    for rows, error in quote.error_by_rows.items() if len(quote.errors) <= 1 else ():
        table.add_row(Text(f"error over {rows:,} rows"), f"{error_text(error)} on average")
    if quote.best_error is not None and quote.limit:
        table.add_row("best affordable", f"{error_text(quote.best_error)} on average, for all that remains")
    new_console().print(table)


def print_quotes(settings: Settings, statements: Sequence[Statement], batch: BatchQuote) -> None:
    """Print what asking a batch would mean."""
    console, symbol = new_console(), settings.measure.symbol
    table = plain_table("statement", f">cost {symbol}", f">adds {symbol}", ">expected error", ">fits")
    for statement, quote in zip(statements, batch.quotes, strict=True):
        error = "–" if quote.expected_error is None else error_text(quote.expected_error).removeprefix("± ")
        fits = "no" if not quote.fits else "yes" if quote.limit else "free"
        table.add_row(
            Text(statement_in_words(statement.text, settings.domain)),
            short_up(quote.cost),
            short_up(quote.adds),
            error,
            fits,
        )
    console.print(table)
    refused = next(((n, quote) for n, quote in enumerate(batch.quotes, 1) if not quote.fits), None)
    verdict = "fits" if refused is None else f"statement {refused[0]:,} does not fit, so nothing would be charged"
    console.print(f"together: adds {symbol} = {short_up(batch.adds)} to what the dataset has spent; {verdict}")
    if refused is not None:
        console.print(Text(f"statement {refused[0]:,}: {refused[1].reason}", style="red"))


def print_answer(settings: Settings, answer: Answer) -> None:
    """Print one answer with its error, and what was paid for it."""
    console = new_console()
    if answer.caution:
        console.print(Text(answer.caution, style="bold yellow"))
    if answer.grouped or len(answer.measured) > 1:
        _print_chart(console, answer)
    else:
        [column] = answer.measured
        [figure] = column.figures or ()
        console.print(Text(number_text(figure.value), style="bold"), f"  95 % interval {interval_text(figure)}")
    error = _error_in_words(answer)
    console.print(f"{error}{_payment(settings, answer)}")
    for note in answer.notes:
        console.print(Text(note))
    if settings.person:
        console.print(rows_taken(settings))


def rows_taken(settings: Settings) -> str:
    """Of how many rows of each person numbers are, where the settings name persons."""
    most = settings.rows_per_person
    rows = "one row of each person was" if most == 1 else f"{most:,} rows of each person were"
    return f"at most {rows} taken; numbers are about these"


def print_answers(settings: Settings, statements: Sequence[Statement], answers: Sequence[Answer]) -> None:
    """Print the answers of a batch."""
    for statement, answer in zip(statements, answers, strict=True):
        new_console(statement_in_words(statement.text, settings.domain))
        print_answer(settings, answer)


def print_balance(settings: Settings, balance: Balance) -> None:
    """Print what was spent, beside the budget and what sequential composition would have spent, and by whom."""
    console, symbol = new_console(), settings.measure.symbol
    chart = plain_table("", "", "", "", names=True)
    longest = max(balance.budget, balance.sequential)
    for name, value, short, style in (
        ("budget", balance.budget, short_down, "blue"),
        ("spent", balance.spent, short_up, "green"),
        ("remaining", balance.remaining, short_down, "cyan"),
        ("sequential", balance.sequential, short_up, "red"),
    ):
        epsilon = balance.epsilon.get(name)
        also = "" if epsilon is None else f"ε = {short(epsilon)}"
        chart.add_row(name, f"{symbol} = {short(value)}", also, bar(value, longest, _BAR, style))
    console.print(chart)
    if balance.analysts:
        console.print()
        console.print(_shares(settings, balance))
        console.print()
    implied = balance.epsilon.get("spent")
    guarantee = guarantee_in_words(
        settings.measure.name,
        balance.spent,
        settings.neighbours,
        settings.rows_per_person,
        bounded=bool(settings.person),
        implied="" if implied is None else f"ε = {short_up(implied)} at δ = {_delta(balance.delta)}",
    )
    console.print(f"{settings.name} {settings.version}, {balance.charges:,} charges: {guarantee}")


def print_charges(
    measure: Measure, charges: Sequence[Charge], domain: Domain | None = None, rows_per_person: int = 1
) -> None:
    """Print the charges, the latest ones if there are many."""
    table = plain_table(">charge", ">time", "analyst", "statement", f">cost {measure.symbol}")
    if len(charges) > _SHOWN:
        table.add_row("…", f"{len(charges) - _SHOWN:,} earlier", "", "", "")
    for charge in charges[-_SHOWN:]:
        cost = "–" if charge.is_load else short_up(measure.parameter_up(charge.units))
        time = charge.time[:19].replace("T", " ")
        table.add_row(
            str(charge.number),
            time,
            Text(charge.analyst or "–"),
            Text(statement_in_words(charge.statement, domain)),
            cost,
        )
    console = new_console()
    console.print(table)
    if rows_per_person > 1:
        console.print(f"costs are {_for_one_row(measure, rows_per_person)}")


def _shares(settings: Settings, balance: Balance) -> Table:
    """What each analyst has spent, beside the quota."""
    symbol = settings.measure.symbol
    table = plain_table("analyst", ">charges", f">quota {symbol}", f">spent {symbol}", f">remaining {symbol}", "")
    longest = max([balance.budget, *(share.spent for share in balance.analysts.values())])
    for name, share in balance.analysts.items():
        cells = []
        for field, amount, short in (
            ("quota", share.quota, short_down),
            ("spent", share.spent, short_up),
            ("remaining", share.remaining, short_down),
        ):
            epsilon = share.epsilon.get(field)
            # Below one another, as a terminal is not wide enough for both.
            also = "" if epsilon is None else f"\nε = {short(epsilon)}"
            cells.append("–" if amount is None else f"{short(amount)}{also}")
        table.add_row(Text(name), f"{share.charges:,}", *cells, bar(share.spent, longest, _SHORT_BAR, "green"))
    return table


def _delta(delta: float | None) -> str:
    return "" if delta is None else short_up(delta)


def _at_delta(quote: Quote, name: str, short: Callable[[int | float], str]) -> str:
    """An amount of a quote as an ε, if the budget is one of (ε, δ)."""
    return "" if quote.delta is None else f" (ε = {short(quote.epsilon[name])} at δ = {_delta(quote.delta)})"


def _error_in_words(answer: Answer) -> str:
    """The mean error of each column of figures."""
    if len(answer.measured) == 1:
        return "" if answer.expected_error is None else f"expected error {error_text(answer.expected_error)}; "
    told = []
    for column in answer.measured:
        errors = [one.error for one in column.figures or () if one.error is not None]
        if errors:
            told.append(f"{column.name} {error_text(fmean(errors))}")
    return f"expected errors: {', '.join(told)}; " if told else ""


def _print_chart(console: Console, answer: Answer) -> None:
    """Print the columns beside one another, or where that is too wide a table for each column of figures.

    No number is ever cut off: what is not a terminal takes any width.
    """
    whole = _chart(answer)
    wide = Console(width=10_000)
    needed = wide.measure(whole).maximum
    if needed <= console.width:
        console.print(whole)
        return
    if not console.is_terminal or len(answer.measured) == 1:
        Console(width=max(needed, console.width), highlight=False, no_color=not console.is_terminal).print(whole)
        return
    for column in answer.measured:
        part = _chart(replace(answer, columns=(*answer.labels, column)))
        Console(width=max(wide.measure(part).maximum, console.width), highlight=False).print(part)
        console.print()


def _chart(answer: Answer) -> Table:
    """The columns of an answer with the interval of each figure, and bars where there is one column of figures."""
    headings: list[str] = []
    cells: list[list[str | Text]] = []
    for column in answer.columns:
        name = column.name.lstrip(">")
        if column.figures is None:
            headings.append(name)
            cells.append([Text(label_text(value)) for value in column.values[:_SHOWN]])
        else:
            headings += [f">{name}", ">95 % interval"]
            cells.append([number_text(figure.value) for figure in column.figures[:_SHOWN]])
            cells.append([interval_text(figure) for figure in column.figures[:_SHOWN]])
    if len(answer.measured) == 1:
        numbers = [value if isinstance(value, (int, float)) else 0 for value in answer.measured[0].values]
        longest = max(map(abs, numbers), default=0) or 1
        headings.append("")
        cells.append([bar(max(value, 0), longest, _BAR, "green") for value in numbers[:_SHOWN]])
    table = plain_table(*headings)
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    if len(answer) > _SHOWN:
        table.add_row(f"… {len(answer) - _SHOWN:,} more (--json has all)")
    return table


def _payment(settings: Settings, answer: Answer) -> str:
    if answer.rehearsed:
        return "nothing was charged"
    if answer.charge is None:
        return "no row can satisfy this query, so it is free" if answer.measured else "free"
    if answer.cached:
        return f"free: charge {answer.charge} paid for it"
    paid = f"charge {answer.charge}, {settings.measure.symbol} = {short_up(answer.cost)}"
    if settings.rows_per_person == 1:
        return paid
    return f"{paid} {_for_one_row(settings.measure, settings.rows_per_person)}"


def _for_one_row(measure: Measure, rows: int) -> str:
    """What a cost is against, where a person may have several rows: budgets and what was spent are against persons."""
    return f"for one row; a person may have {rows:,}, which cost {measure.group(1, rows):,} times that"

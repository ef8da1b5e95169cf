"""Quotes, answers and ledgers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parcomp.cli.terminal import bar, new_console, plain_table
from parcomp.cli.words import statement_in_words
from parcomp.costs import short_down, short_up
from parcomp.custodian import Answer, Balance, BatchQuote, Quote
from parcomp.errors import one_line
from parcomp.figures import batch_lines, growth_text, whose
from parcomp.ledger import Charge
from parcomp.model import Domain
from parcomp.privacy import Measure, find_measure
from parcomp.tabular import error_text, label_text

__all__ = [
    "print_answer",
    "print_answers",
    "print_balance",
    "print_charges",
    "print_quote",
    "print_quotes",
]

_BAR = 30
"""Characters of the longest bar."""

_SHORT_BAR = 12
"""The same beside several numbers."""

_SHOWN = 40
"""How many groups or charges are listed before the rest is only counted."""


def print_quote(quote: Quote) -> None:
    """Print what asking would mean."""
    table = plain_table("", "", names=True)
    measure = find_measure(quote.measure)
    symbol, (of_row, of_person) = measure.symbol, whose(quote.rows_per_person)
    table.add_row("verdict", _verdict(quote))
    cost = f"{symbol} = {short_up(quote.cost)}{of_row}{_at_delta(quote, 'cost', short_up, of_person)}"
    table.add_row("cost", cost)
    adds = growth_text(f"{symbol} = ", quote.adds, quote.cost)
    table.add_row("adds", f"{adds}{of_person} to what the dataset has spent")
    left = f"{symbol} = {short_down(quote.remaining)}{of_row}{_at_delta(quote, 'remaining', short_down, of_person)}"
    table.add_row("remaining", f"{left} on the rows of this query")
    if len(quote.left) > 1:
        for limit, amount in quote.left.items():
            table.add_row(Text(f"  by the {limit}"), f"{symbol} = {short_down(amount)}{of_row}")
    if quote.rows_per_person > 1:
        table.add_row("", _for_one_row(measure, quote.rows_per_person))
    for name, said in _errors_in_words(quote):
        table.add_row(Text(name), said)
    if quote.errors_by_rows:
        table.add_row("", "for values spread evenly between the bounds; an answer tells its own")
    if quote.derivable and quote.limit:
        follows = f"free, {error_text(quote.derived_error or 0.0)} on average: it follows from what was released before"
        table.add_row("derivable", Text(f"{follows} (--derive)", style="green"))
    if quote.best_error is not None and quote.limit:
        which = f" for {one_line(next(iter(quote.errors)))}" if len(quote.errors) > 1 else ""
        best = f"{error_text(quote.best_error)} on average{which}, for all that remains"
        table.add_row("best affordable", Text(best))
    new_console().print(table)


def _verdict(quote: Quote) -> Text:
    if quote.cached:
        return Text("free: it was bought before, at least as accurately", style="green")
    if quote.fits and not quote.limit:
        return Text("free: no row can satisfy this query", style="green")
    if quote.fits:
        return Text("fits the budget and the quota" if len(quote.left) > 1 else "fits the budget", style="green")
    return Text(f"does not fit: {quote.reason}", style="red")


def _errors_in_words(quote: Quote) -> Iterator[tuple[str, str]]:
    """The error of each number, or why none is known beforehand."""
    several = len(quote.errors) > 1
    for column, error in quote.errors.items():
        by_rows = quote.errors_by_rows.get(column, {})
        name = f"error of {one_line(column)}" if several else "expected error"
        if error is not None:
            yield name, f"{error_text(error)} on average"
        elif not by_rows:
            yield name, "not known before it is worked out from other numbers; the answer has its 95 % interval"
        for rows, one in by_rows.items():
            yield f"{name if several else 'error'} over {rows:,} rows", f"{error_text(one)} on average"


def print_quotes(titles: Sequence[str], batch: BatchQuote) -> None:
    """Print what asking a batch would mean; ``titles`` are its statements in words."""
    console, first = new_console(), batch.quotes[0]
    measure = find_measure(first.measure)
    symbol = measure.symbol
    table = plain_table("statement", f">cost {symbol}", f">adds {symbol}", ">expected error", ">fits")
    for title, quote in zip(titles, batch.quotes, strict=True):
        error = "–" if quote.expected_error is None else error_text(quote.expected_error).removeprefix("± ")
        fits = "no" if not quote.fits else "yes" if quote.limit else "free"
        table.add_row(Text(title), short_up(quote.cost), growth_text("", quote.adds, quote.cost), error, fits)
    console.print(table)
    refused = next(((n, quote) for n, quote in enumerate(batch.quotes, 1) if not quote.fits), None)
    verdict = "fits" if refused is None else f"statement {refused[0]:,} does not fit, so nothing would be charged"
    adds = growth_text(f"{symbol} = ", batch.adds, max(quote.cost for quote in batch.quotes))
    console.print(f"together: adds {adds} to what the dataset has spent; {verdict}")
    for note in batch.notes:
        console.print(Text(note))
    if first.rows_per_person > 1:
        dearer = _for_one_row(measure, first.rows_per_person)
        console.print(f"costs are {dearer}; what is added is for a person, and so is a --budget")
    if refused is not None:
        console.print(Text(f"statement {refused[0]:,}: {refused[1].reason}", style="red"))


def print_answer(answer: Answer) -> None:
    """Print one answer with its error, and what was paid for it."""
    console = new_console()
    if answer.caution:
        console.print(Text(answer.caution, style="bold yellow"))
    if answer.grouped or len(answer.measured) > 1:
        _print_chart(console, answer)
    else:
        [column] = answer.measured
        [value], [interval] = column.texts(1)
        console.print(Text(value, style="bold"), f"  95 % interval {interval}")
        if column.estimates is not None:
            [estimate], [about] = column.estimated_texts(1)
            console.print(f"estimate {estimate}  {about}")
    dearer = ""
    if answer.rows_per_person > 1 and answer.cost:
        dearer = _times(find_measure(answer.measure), answer.rows_per_person)
    console.print(Text("; ".join(filter(None, (answer.off_by, answer.paid, dearer)))))
    for note in answer.notes:
        console.print(Text(note))


def print_answers(titles: Sequence[str], answers: Sequence[Answer]) -> None:
    """Print the answers of a batch; ``titles`` are its statements in words."""
    console = new_console()
    cautions = {answer.caution for answer in answers}
    for line in batch_lines(titles, answers, console.width if console.is_terminal else None):
        console.print(Text(line, style="bold yellow" if line in cautions - {""} else ""), soft_wrap=True)
    first = answers[0]
    if first.rows_per_person > 1 and any(answer.cost for answer in answers):
        console.print(Text(f"costs are {_for_one_row(find_measure(first.measure), first.rows_per_person)}"))


def print_balance(balance: Balance) -> None:
    """Print what was spent, beside the budget and what sequential composition would have spent, and by whom."""
    console, measure = new_console(), find_measure(balance.measure)
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
        chart.add_row(name, f"{measure.symbol} = {short(value)}", also, bar(value, longest, _BAR, style))
    console.print(chart)
    if balance.squares:
        console.print(balance.squares)
    if balance.analysts:
        console.print()
        console.print(_shares(measure, balance))
        console.print()
    if balance.delta is not None:
        console.print(f"each ε is{_at(balance.delta)}, that of the budget")
    console.print(Text(balance.title))
    if balance.rows_per_person > 1:
        console.print(f"these amounts are for a person; a cost is {_for_one_row(measure, balance.rows_per_person)}")


def print_charges(
    measure: Measure, charges: Sequence[Charge], domain: Domain | None = None, rows_per_person: int = 1
) -> None:
    """Print the charges, the latest ones if there are many."""
    table = plain_table(">charge", ">time (UTC)", "analyst", "statement", f">cost {measure.symbol}")
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


def _shares(measure: Measure, balance: Balance) -> Table:
    """What each analyst has spent, beside the quota."""
    symbol = measure.symbol
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


def _at(delta: float | None) -> str:
    return "" if delta is None else f" at δ = {short_up(delta)}"


def _at_delta(quote: Quote, name: str, short: Callable[[int | float], str], whose: str) -> str:
    """An amount of a quote as an ε, if the budget is one of (ε, δ)."""
    return "" if quote.delta is None else f" (ε = {short(quote.epsilon[name])}{_at(quote.delta)}{whose})"


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
    cells: list[Sequence[str | Text]] = []
    for column in answer.columns:
        name = column.name.lstrip(">")
        if column.figures is None:
            headings.append(name)
            cells.append([Text(label_text(value)) for value in column.values[:_SHOWN]])
        else:
            headings += [f">{name}", ">95 % interval"]
            cells += column.texts(_SHOWN)
            if column.estimates is not None:
                headings += [">estimate", ">about 95 %"]
                cells += column.estimated_texts(_SHOWN)
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


def _for_one_row(measure: Measure, rows: int) -> str:
    """What a cost is against, where a person may have several rows: budgets and what was spent are against persons."""
    return f"for one row; {_times(measure, rows)}"


def _times(measure: Measure, rows: int) -> str:
    return f"a person may have {rows:,}, which cost {measure.group_factor(rows):,} times that"

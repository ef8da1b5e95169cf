"""Answers, quotes and batches as a notebook shows them: tables with bars, and lines for the 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parcomp.custodian.figure import Figure
from parcomp.custodian.shown import cell_text, interval_text, plain_fields, stacked_fields
from parcomp.markup import Markup, block, emphasized, error_bar, part_bar, table
from parcomp.tabular import error_text, label_text, number_text

if TYPE_CHECKING:
    from parcomp.custodian.answer import Answer, BatchQuote, Quote
    from parcomp.custodian.balance import Balance
    from parcomp.custodian.batch import Batch
    from parcomp.custodian.settings import Settings

__all__ = ["answer_html", "batch_html", "batch_quote_html", "custodian_html", "figure_span", "quote_html"]

_ROWS = 100
"""How many rows are listed before the rest is only counted."""

_ANSWERS = 50


def answer_html(answer: Answer) -> str:
    """An answer: its groups with a bar for each figure, or a number with its interval."""
    if answer.grouped or len(answer.measured) > 1:
        shown = _rows(answer)
    else:
        [figure] = answer.measured[0].figures or ()
        shown = table(
            ("", "", ""),
            [(emphasized(number_text(figure.value)), f"95 % interval {interval_text(figure)}", _bar(figure))],
            (False,) * 3,
        )
    caution = emphasized(answer.caution, warning=True) if answer.caution else ""
    more = f"… {len(answer) - _ROWS:,} more rows; to_pandas() has all" if len(answer) > _ROWS else ""
    return block(caution, shown, more, _paid(answer), *answer.notes)


def quote_html(quote: Quote) -> str:
    """A quote, with how much of what remains it would cost."""
    rows = [(emphasized(name), cell_text(value)) for name, value in plain_fields(quote).items()]
    return block(_verdict(quote.fits, quote.cached), table(("", ""), rows, (False, False)), _cost_bar(quote))


def batch_quote_html(batch: BatchQuote) -> str:
    """The quotes of a batch, and what all of them mean."""
    columns = stacked_fields(batch.quotes[:_ROWS])
    names = [
        name for name, values in columns.items() if name != "reason" and any(one not in (None, "") for one in values)
    ]
    rows = [
        (str(place), *(cell_text(columns[name][place - 1]) for name in names), _cost_bar(quote))
        for place, quote in enumerate(batch.quotes[:_ROWS], start=1)
    ]
    listed = table(("statement", *names, ""), rows, [True] * (len(names) + 1) + [False])
    more = f"… {len(batch.quotes) - _ROWS:,} more" if len(batch.quotes) > _ROWS else ""
    verdict = _verdict(batch.fits, cached=False)
    return block(listed, more, f"together: adds {number_text(batch.adds)}", verdict)


def batch_html(batch: Batch) -> str:
    """The answers of a batch, each under its statement."""
    parts: list[object] = []
    for statement, answer in list(zip(batch.statements, batch.answers, strict=True))[:_ANSWERS]:
        parts += [emphasized(statement), Markup(answer_html(answer))]
    more = f"… {len(batch) - _ANSWERS:,} more answers; to_pandas() has all" if len(batch) > _ANSWERS else ""
    return block(*parts, more)


def custodian_html(settings: Settings, balance: Balance | None, problem: str = "") -> str:
    """A custodian: its dataset and how much of its budget is spent."""
    title = emphasized(f"{settings.name}, version {settings.version}")
    if balance is None:
        return block(title, emphasized(problem, warning=True))
    measure = settings.measure
    spent = f"{measure.symbol} = {number_text(balance.loss)} of {number_text(balance.budget)} spent"
    alone = f"one by one the {balance.charges:,} charges would cost {number_text(balance.sequential)}"
    row = (part_bar(balance.loss, balance.budget), spent, alone if balance.charges else "no charges")
    attributes = ", ".join(settings.domain.attributes)
    as_epsilon = ", ".join(f"{name} {number_text(value)}" for name, value in balance.epsilon.items())
    at = "" if balance.delta is None else f"as ε at δ = {balance.delta:g}: {as_epsilon}"
    return block(title, table(("", "", ""), [row], (False,) * 3), at, f"attributes: {attributes}")


def figure_span(figures: Iterable[Figure]) -> tuple[float, float]:
    """From where to where an axis goes that shows all values, all intervals and zero."""
    ends = [0.0]
    for figure in figures:
        ends += [float(end) for end in (figure.value, figure.low, figure.high) if end is not None]
    return (min(ends), max(ends)) if max(ends) > min(ends) else (0.0, 1.0)


def _rows(answer: Answer) -> Markup:
    headings: list[str] = []
    right: list[bool] = []
    cells: list[Sequence[object]] = []
    for column in answer.columns:
        if column.figures is None:
            headings.append(column.name)
            right.append(False)
            cells.append([label_text(value) for value in column.values[:_ROWS]])
            continue
        # All rows, so that bars keep their scale however many are listed.
        span, figures = figure_span(column.figures), column.figures[:_ROWS]
        headings += [column.name, "95 % interval", ""]
        right += [True, True, False]
        cells.append([number_text(figure.value) for figure in figures])
        cells.append([interval_text(figure) for figure in figures])
        cells.append([_bar(figure, span) for figure in figures])
    return table(headings, zip(*cells, strict=True), right)


def _bar(figure: Figure, span: tuple[float, float] | None = None) -> Markup:
    return error_bar(figure.value, figure.low, figure.high, figure_span([figure]) if span is None else span)


def _paid(answer: Answer) -> str:
    """By how much the numbers are off, and what paid for them."""
    if answer.rehearsed:
        paid = "nothing was charged"
    elif answer.charge is None:
        paid = "free: no row can satisfy it" if answer.measured else "free"
    elif answer.cached:
        paid = f"free: charge {answer.charge} paid for it"
    else:
        paid = f"charge {answer.charge}, cost {number_text(answer.cost)}"
    error = "" if answer.expected_error is None else f"expected error {error_text(answer.expected_error)}; "
    return f"{error}{paid}"


def _verdict(fits: bool, cached: bool) -> Markup:
    if cached:
        return emphasized("free: it was bought before, at least as accurately")
    return emphasized("fits" if fits else "does not fit: nothing would be charged", warning=not fits)


def _cost_bar(quote: Quote) -> Markup:
    return part_bar(quote.cost, max(quote.remaining, quote.cost))

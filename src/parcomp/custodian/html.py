"""Answers, quotes and batches as a notebook shows them: tables with bars, and lines for the 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parcomp.costs import short_down, short_up
from parcomp.custodian.shown import added_in_words, fields_in_words, stacked_in_words
from parcomp.figures import Figure, notes_below, whose
from parcomp.markup import Markup, block, emphasized, error_bar, part_bar, table
from parcomp.tabular import counted, label_text

if TYPE_CHECKING:
    from parcomp.custodian.answer import Answer, BatchQuote, Quote
    from parcomp.custodian.balance import Balance
    from parcomp.custodian.batch import Batch
    from parcomp.custodian.settings import Settings

__all__ = ["answer_html", "batch_html", "batch_quote_html", "custodian_html", "figure_span", "quote_html"]

_ROWS = 100
"""How many rows are listed before the rest is only counted."""

_ANSWERS = 50


def answer_html(answer: Answer, *, noted: bool = True) -> str:
    """An answer: its groups with a bar for each figure, or a number with its interval; ``noted`` with its notes."""
    if answer.grouped or len(answer.measured) > 1:
        shown = _rows(answer)
    else:
        [column] = answer.measured
        [figure], [[value], [interval]] = column.known, column.texts(1)
        rows: list[Sequence[object]] = [(emphasized(value), f"95 % interval {interval}", _bar(figure))]
        if column.estimates is not None:
            [estimate], [about] = column.estimated_texts(1)
            rows.append((f"estimate {estimate}", about, ""))
        shown = table(("", "", ""), rows, (False,) * 3)
    caution = emphasized(answer.caution, warning=True) if answer.caution else ""
    more = f"… {len(answer) - _ROWS:,} more rows; to_pandas() has all" if len(answer) > _ROWS else ""
    return block(
        caution, shown, more, "; ".join(filter(None, (answer.off_by, answer.paid))), *(answer.notes if noted else ())
    )


def quote_html(quote: Quote) -> str:
    """A quote, with how much of what remains it would cost."""
    rows = [(emphasized(name), text) for name, text in fields_in_words(quote).items()]
    return block(_verdict(quote.fits, quote.cached), table(("", ""), rows, (False, False)), _cost_bar(quote))


def batch_quote_html(batch: BatchQuote) -> str:
    """The quotes of a batch, and what all of them mean."""
    names, cells = stacked_in_words(batch.quotes[:_ROWS])
    rows = [(*texts, _cost_bar(quote)) for texts, quote in zip(cells, batch.quotes[:_ROWS], strict=True)]
    listed = table((*names, ""), rows, [True] * len(names) + [False])
    more = f"… {len(batch.quotes) - _ROWS:,} more" if len(batch.quotes) > _ROWS else ""
    verdict = _verdict(batch.fits, cached=False)
    return block(listed, more, f"together: adds {added_in_words(batch)}", verdict)


def batch_html(batch: Batch) -> str:
    """The answers of a batch, each under its statement, and what is to be said of them once below."""
    parts: list[object] = []
    for statement, answer in list(zip(batch.statements, batch.answers, strict=True))[:_ANSWERS]:
        parts += [emphasized(statement), Markup(answer_html(answer, noted=False))]
    more = f"… {len(batch) - _ANSWERS:,} more answers; to_pandas() has all" if len(batch) > _ANSWERS else ""
    return block(*parts, more, *notes_below(batch.answers))


def custodian_html(settings: Settings, balance: Balance | None, problem: str = "") -> str:
    """A custodian: its dataset and how much of its budget is spent."""
    title = emphasized(f"{settings.name}, version {settings.version}")
    if balance is None:
        return block(title, emphasized(problem, warning=True))
    measure = settings.measure
    unit = f"{measure.symbol} = "
    spent = (
        f"{unit}{short_up(balance.loss)} of {unit}{short_down(balance.budget)} spent{whose(balance.rows_per_person)[1]}"
    )
    alone = f"one by one {counted(balance.charges, 'charge')} would cost {unit}{short_up(balance.sequential)}"
    row = (part_bar(balance.loss, balance.budget), spent, alone if balance.charges else "no charges")
    attributes = ", ".join(settings.domain.attributes)
    as_epsilon = ", ".join(
        f"{name} {'–' if value is None else (short_up if name in ('spent', 'sequential') else short_down)(value)}"
        for name, value in balance.epsilon.items()
    )
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
        cells += column.texts(_ROWS)
        cells.append([_bar(figure, span) for figure in figures])
        if column.estimates is not None:
            headings += ["estimate", "about 95 %"]
            right += [True, True]
            cells += column.estimated_texts(_ROWS)
    return table(headings, zip(*cells, strict=True), right)


def _bar(figure: Figure, span: tuple[float, float] | None = None) -> Markup:
    return error_bar(figure.value, figure.low, figure.high, figure_span([figure]) if span is None else span)


def _verdict(fits: bool, cached: bool) -> Markup:
    if cached:
        return emphasized("free: it was bought before, at least as accurately")
    return emphasized("fits" if fits else "does not fit: nothing would be charged", warning=not fits)


def _cost_bar(quote: Quote) -> Markup:
    return part_bar(quote.cost, max(quote.remaining, quote.cost))

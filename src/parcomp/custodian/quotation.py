"""What asking would mean, told from the books; nothing is changed by it."""

from __future__ import annotations

from dataclasses import replace

from parcomp.costs import short_down, short_up
from parcomp.custodian.accountant import Verdict
from parcomp.custodian.answer import BatchQuote, Quote
from parcomp.custodian.books import Books
from parcomp.custodian.bought_batches import BoughtBatches, is_whole
from parcomp.custodian.effort import Effort
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Strategy
from parcomp.errors import CostError, RefusedError
from parcomp.ledger import Charge
from parcomp.model import Item, Selection, is_noisy
from parcomp.tabular import error_text

__all__ = ["quote_all", "quote_strategy", "refusal", "strategy_refusal"]

_SOME_ROWS = (100, 1_000, 10_000)
"""For so many rows a quote states an error that depends on them."""


def quote_all(settings: Settings, books: Books, batches: BoughtBatches, asked: Asked) -> BatchQuote:
    """A quote for each statement as if those before it had been paid for, and for all together.

    Equal statements in a batch are charged once, with the dearest of them: the first one is quoted at its cost, and the
    others are free.
    """
    before, quotes, dearest = books.dataset.loss, [], asked.dearest
    effort = Effort(len(dearest))
    with books.supposing():
        for selection in asked.selections:
            release = dearest[selection.statement.text]
            verdict = effort.decide(books, asked.analyst, release.expense)
            bought = batches.paying(books, release, asked.whole)
            cached = bought is not None
            free = cached or release.statement.query.is_contradiction
            batch = None if bought is None or not is_whole(bought) else bought
            if bought is not None and batch is None:
                # What will be handed out is as accurate as it was bought.
                release = Release.plan(settings, release.statement, bought.units)
            quoted = _quote(settings, books, selection, release, verdict, cached=cached, free=free)
            if batch is not None:
                error = batches.errors(batch, release).mean
                shown = _first_item(selection) is not None
                errors = {name: None if told is None else error for name, told in quoted.errors.items()}
                quoted = replace(quoted, expected_error=error if shown else None, errors=errors)
            quotes.append(quoted)
            if verdict.fits and not free:
                books.suppose(asked.entry(release, verdict))
        adds = _grown(settings, before, books.dataset.loss)
    return BatchQuote(tuple(quotes), adds, all(quote.fits for quote in quotes), asked.notes)


def quote_strategy(
    settings: Settings, books: Books, asked: Asked, strategy: Strategy, bought: Charge | None
) -> BatchQuote:
    """What asking a batch would mean that is measured as a whole; ``bought`` is the charge that pays for it already.

    The first quote tells what the whole costs and adds, and the others that they cost nothing beside it.
    """
    measure, verdict, free = settings.measure, books.decide(asked.analyst, strategy.expense), bought is not None
    loss = books.dataset.loss
    adds = 0 if free else _grown(settings, loss, loss + verdict.adds)
    fits = free or verdict.fits
    quotes: list[Quote] = []
    for selection in asked.selections:
        nothing = selection.statement.query.is_contradiction
        first = not nothing and not any(quote.strategy for quote in quotes)
        error = 0.0 if nothing else float(strategy.errors_of(selection.statement).mean())
        names = [one.name for one in selection.columns if isinstance(one.expression, Item)]
        worked_out = [one.name for one in selection.columns if is_noisy(one.expression) and one.name not in names]
        cost = strategy.units if first and not free else 0
        quotes.append(
            Quote(
                cost=measure.parameter_up(cost),
                adds=adds if first else 0,
                remaining=measure.affordable_down(verdict.remaining),
                fits=nothing or fits,
                expected_error=error if _first_item(selection) is not None else None,
                best_error=None,
                cached=free and not nothing,
                reason="" if nothing or fits else str(strategy_refusal(settings, strategy.units, verdict)),
                limit="" if nothing or free else verdict.limit,
                left={name: measure.affordable_down(units) for name, units in verdict.left.items()},
                delta=None if settings.approximate is None else settings.approximate.delta,
                epsilon=_epsilons(settings, cost, verdict.remaining),
                errors=dict.fromkeys(names, error) | dict.fromkeys(worked_out),
                measure=measure.name,
                rows_per_person=settings.rows_per_person,
                strategy="" if nothing else strategy.name,
            )
        )
    said = strategy.comparison or f"the mean expected error is {error_text(strategy.mean_error)}"
    return BatchQuote(tuple(quotes), adds, fits, (strategy.note, said))


def refusal(
    settings: Settings, release: Release, verdict: Verdict, place: tuple[int, int] | None = None
) -> RefusedError:
    """Why a statement is refused and what would be possible; says nothing that depends on the data.

    ``place`` is the position of the statement in a batch, from 1, and how many there are.
    """
    # What is left may be too little for any noise that can be drawn.
    affordable = _affordable(settings, release, verdict) is not None
    measure = settings.measure
    least = f"{measure.parameter} {short_down(measure.affordable_down(verdict.remaining))}"
    advice = f"ask at {least} or less" if affordable else "ask about other rows"
    if place is not None and place[1] > 1:
        advice = "spend less on each statement, or ask fewer at once; quoting the batch says what fits"
    which = "" if place is None else f"statement {place[0]:,} of {place[1]:,}: "
    return _refused(settings, release.units, verdict, which, "this query, which costs", advice, place)


def strategy_refusal(settings: Settings, units: int, verdict: Verdict) -> RefusedError:
    """The same of a batch that is measured as a whole."""
    advice = "give the batch a smaller budget, or ask about other rows"
    return _refused(settings, units, verdict, "", "this batch, which costs, as a whole,", advice, None)


def _refused(
    settings: Settings,
    units: int,
    verdict: Verdict,
    which: str,
    what: str,
    advice: str,
    place: tuple[int, int] | None,
) -> RefusedError:
    measure, limit = settings.measure, verdict.limit
    left = {name: measure.affordable_down(amount) for name, amount in verdict.left.items()}
    cost, least = measure.parameter_up(units), short_down(left[limit])
    rows = settings.rows_per_person
    each = f" for each of the {rows:,} rows that a person may have" if rows > 1 else ""
    others = "".join(
        f"; the {name} leaves {measure.parameter} {short_down(left[name])}" for name in left if name != limit
    )
    whose = " for all of them" if rows > 1 else ""
    at = f" ({_in_epsilon(settings, verdict.remaining)}{whose})" if settings.approximate is not None else ""
    return RefusedError(
        f"{which}the {limit} leaves {measure.parameter} {least}{each}{at} on the rows of {what} "
        f"{measure.parameter} {short_up(cost)}{others}; {advice}",
        cost=cost,
        remaining=left[limit],
        limit=limit,
        left=left,
        position=None if place is None else place[0],
    )


def _quote(
    settings: Settings,
    books: Books,
    selection: Selection,
    release: Release,
    verdict: Verdict,
    *,
    cached: bool,
    free: bool,
) -> Quote:
    measure = settings.measure
    best = _affordable(settings, release, verdict)
    loss = books.dataset.loss
    cost = 0 if free else release.units
    nothing = release.statement.query.is_contradiction
    items = {one.name: one.expression for one in selection.columns if isinstance(one.expression, Item)}
    # Of what is worked out from several numbers no error is known before they are.
    errors = {
        one.name: 0.0 if nothing else release.expected_errors[items[one.name]] if one.name in items else None
        for one in selection.columns
        if is_noisy(one.expression)
    }
    first = _first_item(selection)
    return Quote(
        cost=measure.parameter_up(cost),
        adds=0 if free else _grown(settings, loss, loss + verdict.adds),
        remaining=measure.affordable_down(verdict.remaining),
        fits=free or verdict.fits,
        expected_error=0.0 if nothing else None if first is None else release.expected_errors[first],
        best_error=None if best is None or first is None else best.expected_errors[first],
        cached=cached,
        reason="" if free or verdict.fits else str(refusal(settings, release, verdict)),
        limit="" if free else verdict.limit,
        left={name: measure.affordable_down(units) for name, units in verdict.left.items()},
        delta=None if settings.approximate is None else settings.approximate.delta,
        epsilon=_epsilons(settings, cost, verdict.remaining),
        errors=errors,
        error_by_rows={} if nothing or first is None else _errors_by_rows(release, first),
        errors_by_rows={
            name: told for name, item in items.items() if not nothing and (told := _errors_by_rows(release, item))
        },
        measure=measure.name,
        rows_per_person=settings.rows_per_person,
    )


def _first_item(selection: Selection) -> Item | None:
    """What the first column of numbers shows; None if it is worked out from others, or there is none."""
    shown = next((one.expression for one in selection.columns if is_noisy(one.expression)), None)
    return shown if isinstance(shown, Item) else None


def _errors_by_rows(release: Release, item: Item) -> dict[int, float]:
    """The error of an item for some numbers of rows, where it depends on them."""
    if release.expected_errors[item] is not None:
        return {}
    return {rows: release.error_for(item, rows) for rows in _SOME_ROWS}


def _epsilons(settings: Settings, cost: int, remaining: int) -> dict[str, float]:
    """A cost and what remains, against one row, as an ε against a person at the δ of the budget, if it has one."""
    stated, rows = settings.approximate, settings.rows_per_person
    if stated is None:
        return {}
    return {
        "cost": stated.epsilon_up(settings.measure.group(cost, rows)),
        "remaining": settings.epsilon_down(settings.measure.group(remaining, rows)),
    }


def _in_epsilon(settings: Settings, remaining: int) -> str:
    assert settings.approximate is not None
    epsilon = _epsilons(settings, 0, remaining)["remaining"]
    return f"epsilon {short_down(epsilon)} at delta {short_up(settings.approximate.delta)}"


def _affordable(settings: Settings, release: Release, verdict: Verdict) -> Release | None:
    """The statement with the noise that all that remains buys; None if none can be drawn that is so wide."""
    try:
        return Release.plan(settings, release.statement, verdict.remaining)
    except CostError:
        return None


def _grown(settings: Settings, before: int, after: int) -> int | float:
    """By how much the dataset's loss grows, in the measure's parameter, given additive units against one row."""
    measure, rows = settings.measure, settings.rows_per_person
    return measure.growth_up(measure.group(before, rows), measure.group(after, rows))

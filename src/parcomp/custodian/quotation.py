"""What asking would mean, told from the books; nothing is changed by it."""

from __future__ import annotations

from parcomp.custodian.accountant import Verdict
from parcomp.custodian.answer import BatchQuote, Quote
from parcomp.custodian.books import Books
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked
from parcomp.custodian.settings import Settings
from parcomp.errors import CostError, RefusedError

__all__ = ["quote_all", "refusal"]


def quote_all(settings: Settings, books: Books, asked: Asked) -> BatchQuote:
    """A quote for each statement as if those before it had been paid for, and for all together.

    Equal statements in a batch are charged once, with the dearest of them: the first one is quoted at its cost, and the
    others are free.
    """
    before, quotes, dearest = books.dataset.loss, [], asked.dearest
    with books.supposing():
        for release in (dearest[one.statement.text] for one in asked.releases):
            verdict = books.decide(asked.analyst, release.expense)
            cached = books.bought(release.statement.text, release.units) is not None
            free = cached or release.statement.query.is_contradiction
            quotes.append(_quote(settings, books, release, verdict, cached=cached, free=free))
            if verdict.fits and not free:
                books.suppose(asked.entry(release, verdict))
        adds = _grown(settings, before, books.dataset.loss)
    return BatchQuote(tuple(quotes), adds, all(quote.fits for quote in quotes))


def refusal(settings: Settings, release: Release, verdict: Verdict) -> RefusedError:
    """Why a statement is refused and what would be possible; says nothing that depends on the data."""
    measure = settings.measure
    left, cost = measure.affordable_down(verdict.remaining), measure.parameter_up(release.units)
    # What is left may be too little for any noise that can be drawn.
    affordable = _affordable(settings, release, verdict) is not None
    advice = f"ask at {left} or less" if affordable else "ask about other rows"
    return RefusedError(
        f"{verdict.short_of} leaves {measure.parameter} {left} on the rows of this query, which costs {cost}; {advice}",
        cost=cost,
        remaining=left,
    )


def _quote(settings: Settings, books: Books, release: Release, verdict: Verdict, *, cached: bool, free: bool) -> Quote:
    measure = settings.measure
    best = _affordable(settings, release, verdict)
    loss = books.dataset.loss
    return Quote(
        cost=measure.parameter_up(release.units),
        adds=0 if free else _grown(settings, loss, loss + verdict.adds),
        remaining=measure.affordable_down(verdict.remaining),
        fits=free or verdict.fits,
        expected_error=0.0 if release.statement.query.is_contradiction else release.expected_error,
        best_error=None if best is None else best.expected_error,
        cached=cached,
        reason="" if free or verdict.fits else str(refusal(settings, release, verdict)),
    )


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

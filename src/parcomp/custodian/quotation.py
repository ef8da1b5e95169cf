"""What asking would mean, told from the books; nothing is changed by it."""

from __future__ import annotations

from parcomp.custodian.answer import BatchQuote, Quote
from parcomp.custodian.books import Books, Decision
from parcomp.custodian.release import Release
from parcomp.custodian.request import Asked, expense_of
from parcomp.custodian.settings import Settings
from parcomp.errors import CostError

__all__ = ["quote_all", "refusal"]


def quote_all(settings: Settings, books: Books, asked: Asked) -> BatchQuote:
    """A quote for each statement as if those before it had been paid for, and for all together.

    Equal statements in a batch are charged once, with the dearest of them: the first one is quoted at its cost, and the
    others are free.
    """
    before, quotes, dearest = books.dataset.loss, [], asked.dearest
    with books.supposing():
        for release in (dearest[one.statement.text] for one in asked.releases):
            decision = books.decide(asked.analyst, expense_of(release))
            cached = books.bought(release.statement.text, release.units) is not None
            free = cached or release.statement.query.is_contradiction
            quotes.append(_quote(settings, books, asked.analyst, release, decision, cached=cached, free=free))
            if decision.fits and not free:
                books.suppose(asked.analyst, release.statement.text, expense_of(release), decision)
        adds = _grown(settings, before, books.dataset.loss)
    return BatchQuote(tuple(quotes), adds, all(quote.fits for quote in quotes))


def refusal(settings: Settings, analyst: str, release: Release, decision: Decision) -> str:
    """Why a statement is refused and what would be possible; says nothing that depends on the data."""
    measure = settings.measure
    whose = "the budget" if not decision.dataset.fits else f"the quota of {analyst}"
    left = measure.parameter_down(decision.remaining)
    # What is left may be too little for any noise that can be drawn.
    affordable = _affordable(settings, release, decision.remaining) is not None
    advice = f"ask at {left} or less" if affordable else "ask about other rows"
    return (
        f"{whose} leaves {measure.parameter} {left} on the rows of this query, which costs "
        f"{measure.parameter_up(release.units)}; {advice}"
    )


def _quote(
    settings: Settings, books: Books, analyst: str, release: Release, decision: Decision, *, cached: bool, free: bool
) -> Quote:
    measure = settings.measure
    best = _affordable(settings, release, decision.remaining)
    loss = books.dataset.loss
    return Quote(
        cost=measure.parameter_up(release.units),
        adds=0 if free else _grown(settings, loss, loss + decision.dataset.adds),
        remaining=measure.parameter_down(decision.remaining),
        fits=free or decision.fits,
        expected_error=0.0 if release.statement.query.is_contradiction else release.expected_error,
        best_error=None if best is None else best.expected_error,
        cached=cached,
        reason="" if free or decision.fits else refusal(settings, analyst, release, decision),
    )


def _affordable(settings: Settings, release: Release, remaining: int) -> Release | None:
    """The statement with the noise that all that remains buys; None if none can be drawn that is so wide."""
    try:
        return Release.plan(settings, release.statement, remaining)
    except CostError:
        return None


def _grown(settings: Settings, before: int, after: int) -> int | float:
    """By how much the dataset's loss grows, in the measure's parameter, given additive units against one row."""
    measure, rows = settings.measure, settings.rows_per_person
    return measure.growth_up(measure.group(before, rows), measure.group(after, rows))

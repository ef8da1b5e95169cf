"""Batches that were bought as a whole, at hand for whoever asks for one of their statements by itself.

Such a statement was answered when the batch was.  It is an equal query, which is free for whoever asks if it was bought
at least as accurately: accuracy is the largest expected error over its groups, which follows from what was charged and
from nothing in the data.  Its answer is the batch's, and its noise goes together with that of the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from parcomp.custodian.books import Books
from parcomp.custodian.release import Release
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Strategy, read_strategy
from parcomp.errors import LedgerError
from parcomp.ledger import Charge, StrategyRecord

__all__ = ["BoughtBatches", "Errors", "is_whole", "key_of_batch"]

_MOST_OF_ONE = 4
"""In so many batches one statement is looked for, the latest ones."""

_MOST_RESTORED = 4
"""So many batches are kept as they were restored; of the others only the errors are."""


class Errors(NamedTuple):
    """The expected errors of a statement: the largest of its groups, and their mean."""

    largest: float
    mean: float


def key_of_batch(charge: Charge) -> str:
    """What makes two batches the same but for their budgets; "" for a charge that is for none."""
    return _key(charge.statement) if '"kind":"strategy"' in charge.statement else ""


def is_whole(charge: Charge) -> bool:
    """Whether a charge is for a batch that was measured as a whole."""
    return bool(key_of_batch(charge))


@lru_cache(maxsize=16)
def _key(statement: str) -> str:
    """The same of what was charged for, which is long, and read once for all of its statements."""
    record = StrategyRecord.read(statement)
    return "" if record is None else record.key


class BoughtBatches:
    """The batches of a ledger, restored when a statement of theirs is first asked for; for any thread."""

    def __init__(self, settings: Settings, content: Callable[[str], str | None]) -> None:
        """``content`` tells what stands beside a charge, by its digest."""
        self._settings, self._content = settings, content
        self._restored: OrderedDict[str, Strategy] = OrderedDict()
        self._errors: dict[str, dict[str, Errors]] = {}

    def restored(self, charge: Charge) -> Strategy:
        """What was measured for a charge."""
        strategy = self._restored.get(charge.digest)
        if strategy is None:
            strategy = read_strategy(self._settings, charge, self._content(charge.digest))
            if strategy is None:
                raise LedgerError("the charge is for no batch; see: parcomp ledger verify")
            self._restored[charge.digest] = strategy
            # Another thread may have taken the oldest one out already.
            for oldest in list(self._restored)[:-_MOST_RESTORED]:
                self._restored.pop(oldest, None)
        return strategy

    def look_up(self, books: Books, releases: Iterable[Release]) -> None:
        """Find out how accurate the batches are that have some of these statements."""
        for release in releases:
            for charge in books.batches_with(release.statement.text)[-_MOST_OF_ONE:]:
                if charge.digest not in self._errors:
                    strategy = self.restored(charge)
                    found = ((one.text, strategy.errors_of(one)) for one in strategy.statements)
                    self._errors[charge.digest] = {
                        text: Errors(float(errors.max()), float(errors.mean())) for text, errors in found
                    }

    def errors(self, charge: Charge, release: Release) -> Errors:
        """The errors of a statement in a batch that was looked up."""
        return self._errors[charge.digest][release.statement.text]

    def paying(self, books: Books, release: Release, but: str = "") -> Charge | None:
        """What pays for a statement already, the most accurate: a charge for itself, or for a batch that was looked up.

        A batch with the key ``but`` is passed over.
        """
        statement, alone = release.statement, books.bought(release.statement.text, release.units)
        batches = [
            (self._errors[charge.digest][statement.text].largest, -charge.number, charge)
            for charge in books.batches_with(statement.text)[-_MOST_OF_ONE:]
            if charge.digest in self._errors and not (but and key_of_batch(charge) == but)
        ]
        if not batches:
            return alone
        # What a batch has is a count, whose error is known.
        error, _, charge = min(batches)
        wanted = release.expected_error
        if alone is not None:
            wanted = Release.plan(self._settings, statement, alone.units).expected_error
        return charge if wanted is not None and error <= wanted else alone

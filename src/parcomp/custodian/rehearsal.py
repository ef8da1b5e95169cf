"""Rehearsals: a request answered from random rows of the domain, as if they were the data.

The request is read as it always is, so whatever is wrong with it is found; the noise is what its cost buys.  The rows
are drawn from the domain alone (:mod:`parcomp.data.codes.drawn_codes`), so a rehearsed answer says nothing about the
data and costs nothing.  Neither the coded table nor the ledger is looked at, and nothing is remembered: the rows stay
the same only as long as the custodian is open, so that numbers which are asked for one by one belong together.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import parcomp.data
from parcomp.custodian.answer import Answer
from parcomp.custodian.estimating import Estimated, estimated_apart
from parcomp.custodian.request import Asked
from parcomp.custodian.settings import Settings
from parcomp.custodian.wording import worded

if TYPE_CHECKING:
    from parcomp.data import CodedTable

__all__ = ["DUMMY_ROWS", "Rehearsal"]

DUMMY_ROWS = 1_000
"""How many rows are drawn."""


class Rehearsal:
    """Random rows of a domain, drawn when they are first needed, and answers from them; for any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._drawn: CodedTable | None = None

    def answers(self, asked: Asked) -> list[Answer]:
        """An answer to each statement, as asking would give it but for the rows; equal statements have the same."""
        due = {text: one for text, one in asked.dearest.items() if not one.statement.query.is_contradiction}
        measured = self.rows().measure([one.statement for one in due.values()]) if due else []
        noisy = {text: one.noisy(numbers) for (text, one), numbers in zip(due.items(), measured, strict=True)}
        dearest = asked.dearest
        bought = [(due[text], numbers) for text, numbers in noisy.items()]
        estimated = Estimated()
        if asked.estimate:
            estimated = estimated_apart(self._settings, bought, asked.time_limit, asked.progress)
        said = (*asked.notes, *estimated.notes)
        return [
            worded(
                self._settings,
                selection,
                dearest[text],
                noisy.get(text),
                rehearsed=True,
                estimated=estimated.of(text),
                method=estimated.method_of(text),
                more=said,
            )
            for selection, text in ((one, one.statement.text) for one in asked.selections)
        ]

    def close(self) -> None:
        """Forget the rows."""
        with self._lock:
            if self._drawn is not None:
                self._drawn.close()

    def rows(self) -> CodedTable:
        """The rows, drawn when they are first asked for."""
        with self._lock:
            if self._drawn is None:
                self._drawn = parcomp.data.draw_table(self._settings.domain, DUMMY_ROWS)
            return self._drawn

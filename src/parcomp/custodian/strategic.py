"""Answers to a batch that is measured as a whole: the steps of :mod:`parcomp.custodian.answering`, for one charge.

1. *Read the request*, and open the coded table.
2. *Paid already?*  The same statements with the same strategy that were bought within no smaller a budget are answered
   from what was charged then, with the matrix that stands beside the charge.
3. *Plan*, from the statements, the settings and the budget alone, while nobody waits for the books.  Where no strategy
   is better, or none is found, ``auto`` goes on with noise of its own for each statement.
4. *Charge* in one serialized transaction, with what was planned beside it: whoever asks again after a crash gets the
   answer for this charge, by this very matrix.  If others have charged the same batch meanwhile, theirs pays.
5. *Count* in one pass, *add noise*, *store*, *mark*, *release*.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from parcomp.custodian.accountant import Verdict
from parcomp.custodian.answer import Answer, BatchQuote
from parcomp.custodian.answering import Answering, PaidOtherwiseError
from parcomp.custodian.bought_batches import key_of_batch
from parcomp.custodian.effort import Effort
from parcomp.custodian.estimating import Estimated, estimated_together
from parcomp.custodian.quotation import quote_strategy, strategy_refusal
from parcomp.custodian.request import Asked, one_by_one
from parcomp.custodian.settings import Settings
from parcomp.custodian.strategy import Part, Strategy, plan_strategy, why_not_together
from parcomp.custodian.wording import worded
from parcomp.errors import CostError, IdempotencyError, ParcompError, WorkloadError, shown
from parcomp.ledger import Charge, Entry, Ledger, Request, StrategyRecord, Transaction, utc_now
from parcomp.tabular import error_text

__all__ = ["StrategicAnswering"]

_ALONE = "each statement has noise of its own: {}"


class StrategicAnswering(Answering):
    """The steps of an answer, of a batch that may be measured as a whole."""

    def _batch_answers(self, asked: Asked, key: str | None, dummy: bool) -> Sequence[Answer]:
        if asked.together is not None and not asked.together.statements:
            asked = one_by_one(self.settings, asked, _ALONE.format("none of them counts any rows"))
        if asked.together is None:
            return self._answers_or_rehearsal(asked, key, dummy)
        if dummy:
            made = _chosen(self.settings, asked)
            if isinstance(made, Asked):
                return self._rehearsal.answers(made)
            return self._said(asked, made, None, False, made.release(self._rehearsal.rows()))
        try:
            return self._strategic_answers(asked, key)
        except PaidOtherwiseError:
            # The key is known by what was charged for it from here on.
            return self._strategic_answers(asked, key)

    def _strategic_answers(self, asked: Asked, key: str | None) -> Sequence[Answer]:
        self._appended = ()
        table = self._table()
        self._mark_before()
        with self._opened_books():
            self._catch_up(self._ledger)
            known = self._known(self._ledger, asked, key)
        made = self._made(asked, known)
        if isinstance(made, Asked):
            return self._answers(made, key)
        with self._opened_books():
            charge, fresh = self._charge_strategy(asked, made, key)
        if charge.statement != made.record.text:
            made = self._restored(asked, charge)
        stored = self._stored_strategy(table, made, charge)
        self._mark_after()
        return self._said(asked, made, charge, fresh, stored)

    def _batch_quote(self, asked: Asked) -> BatchQuote:
        """What asking a batch would mean; changes nothing."""
        return self._told_of_deriving(asked, self._quote_of_batch(asked))

    def _quote_of_batch(self, asked: Asked) -> BatchQuote:
        if asked.together is None:
            with self._opened_books() as books:
                self._look_at_the_mark()
                self._catch_up(self._ledger)
                return self._quoted(books, asked)
        with self._opened_books():
            self._look_at_the_mark()
            self._catch_up(self._ledger)
            bought = self._bought(asked)
        made = self._made(asked, bought)
        with self._opened_books() as books:
            self._catch_up(self._ledger)
            if isinstance(made, Asked):
                return self._quoted(books, made)
            return quote_strategy(self.settings, books, asked, made, bought)

    def _made(self, asked: Asked, charge: Charge | None) -> Strategy | Asked:
        """What answers a request: what its charge says, else what is planned."""
        if charge is None:
            return _chosen(self.settings, asked)
        assert asked.together is not None
        if key_of_batch(charge) != asked.together.key:
            # A key stands for what was done when it was used first.
            return one_by_one(self.settings, asked, _ALONE.format("they were charged so under this key"))
        return self._restored(asked, charge)

    def _restored(self, asked: Asked, charge: Charge) -> Strategy:
        record = StrategyRecord.read(charge.statement)
        assert record is not None
        assert asked.together is not None
        content = self._ledger.strategy(charge.digest)
        return Strategy.restored(self.settings, record, content, asked.together.statements, charge.units)

    def _bought(self, asked: Asked) -> Charge | None:
        assert asked.together is not None
        return self._books.bought_strategy(asked.together.key, asked.together.row_budget)

    def _known(self, ledger: Ledger | Transaction, asked: Asked, key: str | None) -> Charge | None:
        """The charge that pays for a request already: that of its key, else one for the same batch."""
        remembered = self._remembered(ledger, asked, key)
        return self._bought(asked) if remembered is None else remembered[0]

    def _remembered(self, ledger: Ledger | Transaction, asked: Asked, key: str | None) -> tuple[Charge, bool] | None:
        """The charge that was made or found for a key, and whether it was made; None if the key was not used."""
        request = None if key is None else ledger.request(asked.analyst, key)
        if request is None:
            return None
        if request.body_digest != asked.body_digest:
            raise IdempotencyError(f"the key {shown(key)} was used for another request; choose another key")
        self._catch_up(ledger)
        digest = next(one for one in request.charges if one is not None)
        return self._books.charge(digest), any(request.fresh)

    def _charge_strategy(self, asked: Asked, strategy: Strategy, key: str | None) -> tuple[Charge, bool]:
        """What pays for the batch, and whether it was charged for this request; durably, where nothing does yet."""
        self._catch_up(self._ledger)
        paid = self._paid_for(self._ledger, asked, key)
        if paid is not None:
            return paid
        due, known = self._due_strategy(asked, strategy), self._books.number
        try:
            with self._ledger.transaction() as transaction:
                self._catch_up(transaction)
                paid = self._paid_for(transaction, asked, key)
                if paid is None and self._books.number > known:
                    due = self._due_strategy(asked, strategy)
                known = self._books.number
                return self._append_strategy(transaction, asked, strategy, due, key) if paid is None else paid
        except ParcompError:
            # Whether a failed commit stands is for the ledger to say, when the books catch up with it.
            self._books.take_back(known)
            raise

    def _paid_for(self, ledger: Ledger | Transaction, asked: Asked, key: str | None) -> tuple[Charge, bool] | None:
        """What pays for a request already; None if something is left to do, as to remember its key."""
        if key is not None:
            remembered = self._remembered(ledger, asked, key)
            assert asked.together is not None
            if remembered is not None and key_of_batch(remembered[0]) != asked.together.key:
                raise PaidOtherwiseError
            return remembered
        bought = self._bought(asked)
        return None if bought is None else (bought, False)

    def _due_strategy(self, asked: Asked, strategy: Strategy) -> Entry | None:
        """What is to be charged, which fits; None if the batch was bought before."""
        if self._bought(asked) is not None:
            return None
        verdict = Effort(1).decide(self._books, asked.analyst, strategy.expense)
        if not verdict.fits:
            raise strategy_refusal(self.settings, strategy.units, verdict)
        return _entry(asked, strategy, verdict)

    def _append_strategy(
        self, transaction: Transaction, asked: Asked, strategy: Strategy, due: Entry | None, key: str | None
    ) -> tuple[Charge, bool]:
        if due is None:
            charge = self._bought(asked)
            assert charge is not None
        else:
            charge = transaction.append_strategy(due, strategy.content)
            self._appended = [charge]
            self._books.enter([charge])
        if key is not None:
            digests: list[str | None] = []
            fresh: list[bool] = []
            for selection in asked.selections:
                nothing = selection.statement.query.is_contradiction
                digests.append(None if nothing else charge.digest)
                fresh.append(due is not None and not nothing and not any(fresh))
            transaction.remember(Request(asked.analyst, key, asked.body_digest, tuple(digests), tuple(fresh)))
        return charge, due is not None

    def _said(self, asked: Asked, strategy: Strategy, charge: Charge | None, fresh: bool, stored: str) -> list[Answer]:
        """The answers to all statements; the first one is told what the batch cost."""
        estimated = Estimated()
        if asked.estimate:
            estimated = estimated_together(strategy, stored, asked.time_limit, asked.progress)
        cost = self.settings.measure.parameter_up(charge.units) if charge is not None and fresh else 0
        answers = []
        for selection in asked.selections:
            part = Part(strategy, selection.statement)
            if selection.statement.query.is_contradiction:
                [nothing] = one_by_one(self.settings, asked.only(selection), "").releases
                answers.append(worded(self.settings, selection, nothing, None))
                continue
            answers.append(
                worded(
                    self.settings,
                    selection,
                    part,
                    stored,
                    charge=None if charge is None else charge.number,
                    cost=cost,
                    cached=charge is not None and not fresh,
                    rehearsed=charge is None,
                    strategy=strategy.name,
                    estimated=estimated.of(selection.statement.text),
                    method=estimated.method_of(selection.statement.text),
                    more=estimated.notes,
                )
            )
            cost = 0
        return answers


def _chosen(settings: Settings, asked: Asked) -> Strategy | Asked:
    """The strategy of a request, or where ``auto`` finds none that is better the request with noise for each."""
    wanted = asked.together
    assert wanted is not None
    if not wanted.statements:
        return one_by_one(settings, asked, _ALONE.format("none of them counts any rows"))
    numbered = [
        (number, one.statement)
        for number, one in enumerate(asked.selections, 1)
        if not one.statement.query.is_contradiction
    ]
    reason = why_not_together(settings, numbered, wanted.strategy)
    if reason and wanted.strategy != "auto":
        raise WorkloadError(reason)
    if reason:
        return one_by_one(settings, asked, _ALONE.format(reason))
    try:
        strategy = plan_strategy(settings, wanted.statements, wanted.strategy, wanted.row_budget)
    except (WorkloadError, CostError) as error:
        if wanted.strategy != "auto":
            raise
        return one_by_one(settings, asked, _ALONE.format(str(error)))
    if wanted.strategy == "auto":
        try:
            alone = one_by_one(settings, asked, "")
        except CostError:
            return strategy
        errors = {release.statement.text: release.expected_error or 0.0 for release in alone.releases}
        mean = sum(errors[one.text] for one in wanted.statements) / len(wanted.statements)
        if mean <= strategy.mean_error:
            tried = ((strategy.name, strategy.mean_error), *strategy.beside)
            others = " and ".join(f"{name} would have {error_text(error)}" for name, error in tried)
            reason = f"no strategy has less error at this budget; {others}, and this has {error_text(mean)} on average"
            reason += f"; {strategy.left_out}" if strategy.left_out else ""
            return replace(alone, notes=(_ALONE.format(reason),))
        return replace(strategy, beside=(*strategy.beside, ("noise of its own for each statement", mean)))
    return strategy


def _entry(asked: Asked, strategy: Strategy, verdict: Verdict) -> Entry:
    where = json.dumps(strategy.hull.where(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return Entry(utc_now(), asked.analyst, strategy.record.text, where, strategy.units, verdict.upper)

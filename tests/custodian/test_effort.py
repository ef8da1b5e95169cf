"""Batches of many statements share the work of a few decisions, and are decided on as they are quoted."""

from __future__ import annotations

import random

import pytest

from parcomp.custodian import effort
from parcomp.custodian.accountant import Verdict
from parcomp.custodian.effort import Effort
from parcomp.errors import DeadlineError, RefusedError
from parcomp.overlap import DECISION_WORK
from tests.custodians import audited, open_custodian

FEW, MANY = 16, 640


class Asked:
    """Books that prove enough with all the work, and with less of it only at times."""

    def __init__(self, fits_with_less):
        self.fits_with_less, self.work = fits_with_less, []

    def decide(self, analyst, expense, work=None):
        self.work.append(DECISION_WORK if work is None else work)
        return Verdict(0, 0, self.work[-1] == DECISION_WORK or self.fits_with_less, {"budget": 0})


def test_few_statements_have_all_the_work_each():
    books = Asked(False)
    found = Effort(FEW)
    assert all(found.decide(books, "", None).fits for _ in range(FEW))
    assert books.work == [DECISION_WORK] * FEW


def test_many_statements_have_as_much_together_and_some_second_looks():
    for fits, expected in ((True, [DECISION_WORK // 40] * MANY), (False, [DECISION_WORK // 40, DECISION_WORK] * 16)):
        books = Asked(fits)
        found = Effort(MANY)
        verdicts = [found.decide(books, "", None).fits for _ in range(MANY)]
        assert books.work[: len(expected)] == expected
        assert sum(books.work) <= 3 * 16 * DECISION_WORK
        assert verdicts == [True] * MANY if fits else verdicts == [True] * 16 + [False] * (MANY - 16)


def test_every_decision_has_a_part_of_the_work():
    books = Asked(True)
    Effort(10**6).decide(books, "", None)
    assert books.work == [DECISION_WORK // 64]


def test_what_nobody_waits_for_is_given_up():
    books = Asked(True)
    with effort.waited_for(0.0), pytest.raises(DeadlineError, match="nothing was charged"):
        Effort(1).decide(books, "", None)
    assert books.work == []
    assert Effort(1).decide(books, "", None).fits


def test_less_work_proves_less_and_nothing_wrong(tmp_path, monkeypatch):
    """Random batches beside a ledger, with next to no work: within the budget all the same, quoted as asked."""
    monkeypatch.setattr(effort, "DECISION_WORK", 64)
    monkeypatch.setattr(effort, "_IN_FULL", 1)
    draw = random.Random(4)
    domain = {"name": "people", "attributes": {name: {"low": 0, "high": 9} for name in ("a", "b", "c", "d")}}
    with open_custodian(tmp_path, domain=domain, rows=[{"a": 1, "b": 1, "c": 1, "d": 1}], budget="1") as custodian:
        asked = 0
        for _ in range(6):
            statements = []
            for _ in range(30):
                tests = (
                    f"{name} IN ({', '.join(map(str, draw.sample(range(10), 6)))})" for name in draw.sample("abcd", 3)
                )
                statements.append(f"SELECT COUNT(*) FROM people WHERE {' AND '.join(tests)}")
            quoted = custodian.quote_batch(statements, epsilon="0.02")
            if quoted.fits:
                custodian.ask_batch(statements, epsilon="0.02")
                asked += 1
            else:
                with pytest.raises(RefusedError, match="leaves"):
                    custodian.ask_batch(statements, epsilon="0.02")
        assert 1 <= asked < 6, "some fit and some do not"
        assert custodian.balance().loss <= 1
        assert audited(custodian.settings).ok

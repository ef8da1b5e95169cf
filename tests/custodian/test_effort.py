"""Batches of many statements share the work of a few decisions, and are decided on as they are quoted."""

from __future__ import annotations

import random

import pytest

from parcomp import Categorical, Domain
from parcomp.custodian import effort
from parcomp.custodian.accountant import Account, Expense, Verdict
from parcomp.custodian.effort import Effort
from parcomp.errors import DeadlineError, RefusedError
from parcomp.overlap import DECISION_WORK, Bracket, LiveOverlap
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


def answered(custodian, batches, epsilon):
    """What came of each batch: nothing, or the words of the refusal."""
    found = []
    for statements in batches:
        try:
            custodian.ask_batch(statements, epsilon=epsilon, analyst="ann")
            found.append("")
        except RefusedError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(("neighbours", "epsilon"), [("add-remove", "0.03"), ("replace-one", "0.012")])
@pytest.mark.parametrize("quota", ["0.6", None])
def test_one_look_at_a_long_batch_decides_as_one_after_the_other(tmp_path, monkeypatch, neighbours, epsilon, quota):
    """Random batches in two ledgers: the same fit, the same are refused, and as much is spent."""
    draw = random.Random(f"{neighbours} {quota}")
    domain = {"name": "people", "attributes": {name: {"low": 0, "high": 9} for name in ("a", "b", "c", "d")}}
    batches = []
    for _ in range(8):
        statements = []
        for _ in range(draw.choice([12, 30])):
            tests = (f"{name} IN ({', '.join(map(str, draw.sample(range(10), 6)))})" for name in draw.sample("abcd", 2))
            statements.append(f"SELECT COUNT(*) FROM people WHERE {' AND '.join(tests)}")
        batches.append([*statements, statements[0], "SELECT COUNT(*) FROM people WHERE a = 1 AND a = 2"])
    settings = {"domain": domain, "rows": [{"a": 1, "b": 1, "c": 1, "d": 1}], "neighbours": neighbours}
    both, looked = [], []
    look = Effort.decide_together
    for directory, by in (
        ("together", lambda *asked: looked.append(look(*asked)) or looked[-1]),
        ("single", lambda *asked: None),
    ):
        monkeypatch.setattr(Effort, "decide_together", by)
        with open_custodian(tmp_path / directory, budget="0.9", quotas={"ann": quota}, **settings) as custodian:
            outcome = answered(custodian, batches, epsilon)
            spent = custodian.balance().loss, custodian.balance().charges
            assert audited(custodian.settings).ok
        with open_custodian(tmp_path / directory, init=False, budget="0.9", quotas={"ann": quota}, **settings) as again:
            both.append((outcome, spent, again.balance().loss))
    assert both[0] == both[1]
    fits = [outcome == "" for outcome in both[0][0]]
    assert any(fits)
    assert not all(fits)
    assert any(verdict is not None for verdict in looked)


def test_one_look_counts_where_it_is_exact(monkeypatch):
    """Neither what was found nor what is proven decides on a long batch where the two differ."""
    domain = Domain({"sex": Categorical(["F", "M"])})
    account = Account("budget", domain, 10, "add-remove")
    account.restore([(Expense(domain.query(), 4, 1), 4)])
    for overlap, fits in (
        (Bracket(5, 20), None),
        (Bracket(5, 9), None),
        (Bracket(10, 10), True),
        (Bracket(11, 11), False),
    ):
        monkeypatch.setattr(LiveOverlap, "loss_with", lambda *_, found=overlap: found)
        verdict = account.judge_together([Expense(domain.query(sex="F"), 1, 1)] * 2, 1)
        assert (verdict and verdict.fits) is fits
        assert verdict is None or verdict.upper == overlap.upper


def test_what_is_not_exactly_known_is_decided_one_by_one(tmp_path, monkeypatch):
    """With next to no work for the look, statements that fit are charged all the same."""
    monkeypatch.setattr(effort, "_LOOK_WORK", 0)
    domain = {"name": "people", "attributes": {name: {"low": 0, "high": 99} for name in "abcdefgh"}}
    draw = random.Random(2)
    statements = []
    for _ in range(60):
        tests = (
            f"{name} IN ({', '.join(map(str, draw.sample(range(100), 30)))})" for name in draw.sample("abcdefgh", 5)
        )
        statements.append(f"SELECT COUNT(*) FROM people WHERE {' AND '.join(tests)}")
    rows = [dict.fromkeys("abcdefgh", 1)]
    with open_custodian(tmp_path, domain=domain, rows=rows, budget="1") as custodian:
        assert len(custodian.ask_batch(statements, epsilon="0.01")) == len(statements)
        assert custodian.balance().loss < 0.6
        assert audited(custodian.settings).ok

"""Requests that are answered together: each as if it had come alone, and none pays for another's fault."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace

import pytest

from parcomp.custodian import Answer, Ask, Custodian, ask_together, read_ask, together
from parcomp.errors import CostError, IdempotencyError, LedgerError, RefusedError, SettingsError, SqlError
from parcomp.ledger.sqlite import SqliteSession
from tests.custodians import audited, open_custodian

WOMEN, MEN, ALL = (f"SELECT COUNT(*) FROM people{where}" for where in (" WHERE sex = 'F'", " WHERE sex = 'M'", ""))


@pytest.fixture
def custodian(tmp_path):
    with open_custodian(tmp_path, quotas={"anna": "0.5", "ben": "0.8"}) as opened:
        yield opened


def ask(sql, epsilon="0.1", analyst="anna", key=None):
    return Ask(sql, analyst, {"epsilon": epsilon}, key)


def test_each_is_admitted_or_refused_by_itself(custodian: Custodian):
    outcomes = ask_together(
        custodian,
        [
            ask(WOMEN, "0.3"),
            ask("SELECT nonsense"),
            ask(MEN, "0.3"),
            ask(ALL, "0.3"),
            ask(ALL, "0.2"),
            ask(ALL, "0.2", analyst="nobody"),
            ask(WOMEN, "0.1", analyst="ben"),
            ask(ALL, "-1"),
            ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND sex = 'M'"),
            ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", "0.1", analyst="ben"),
        ],
    )
    kinds = [type(one) for one in outcomes]
    assert kinds == [Answer, SqlError, Answer, RefusedError, Answer, SettingsError, Answer, CostError, Answer, Answer]
    assert outcomes[3].remaining == pytest.approx(0.2)
    assert [one.charge for one in outcomes if isinstance(one, Answer)] == [1, 2, 3, 1, None, 4]
    # Ben gets what anna has bought a moment before, for nothing.
    assert (outcomes[6].value, outcomes[6].cached, outcomes[6].cost) == (outcomes[0].value, True, 0)
    assert custodian.balance().loss == pytest.approx(0.6)
    for sql, one in ((WOMEN, outcomes[0]), (MEN, outcomes[2]), (ALL, outcomes[4])):
        again = custodian.ask(sql, epsilon="0.1", analyst="ben")
        assert (again.value, again.charge, again.cached) == (one.value, one.charge, True)
    assert audited(custodian.settings).ok


def test_a_group_takes_few_ways_to_the_database(tmp_path, monkeypatch):
    """One for each charge, and otherwise as many for forty as for four: a server may be far away."""
    domain = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 99}}}
    taken: Counter[str] = Counter()
    for name in ("execute", "execute_many"):
        called = getattr(SqliteSession, name)

        def count(session, sql, *more, called=called):
            taken[sql.split(" ", 1)[0]] += 1
            return called(session, sql, *more)

        monkeypatch.setattr(SqliteSession, name, count)
    with open_custodian(tmp_path, domain=domain) as custodian:
        ways = []
        for ages in (range(10, 14), range(20, 60)):
            taken.clear()
            asks = [ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", analyst="") for age in ages]
            assert all(isinstance(one, Answer) for one in ask_together(custodian, asks))
            ways.append(taken.total() - len(asks))
    assert ways[1] <= ways[0] + 2 < 40


def test_keys_hold_within_a_group_and_after_it(custodian: Custodian):
    first, same, other, bens = ask_together(
        custodian, [ask(WOMEN, key="k"), ask(WOMEN, key="k"), ask(MEN, key="k"), ask(MEN, key="k", analyst="ben")]
    )
    assert (same.value, same.cost, same.charge) == (first.value, first.cost, 1)
    assert isinstance(other, IdempotencyError)
    assert bens.charge == 2
    [again] = ask_together(custodian, [ask(WOMEN, key="k")])
    assert again == first
    assert custodian.ask(WOMEN, epsilon="0.1", analyst="anna", key="k") == first
    assert len(custodian.charges()) == 2


def test_all_faulty_and_none_at_all(custodian: Custodian):
    assert ask_together(custodian, []) == []
    [wrong] = ask_together(custodian, [ask("x")])
    assert isinstance(wrong, SqlError)
    assert custodian.charges() == []


def test_an_error_that_nobody_foresaw_is_one_asks_own(custodian: Custodian, monkeypatch):
    """While it is read, and while what was bought is put into words: what it was charged stands."""
    read, release = together.read_request, Custodian._release

    def misread(*given, **named):
        return {}[0] if MEN in given[2] else read(*given, **named)

    def misput(self, selection, *given):
        return {}[0] if selection.statement.query.where() else release(self, selection, *given)

    for place, name, broken, charges in ((together, "read_request", misread, 1), (Custodian, "_release", misput, 2)):
        monkeypatch.setattr(place, name, broken)
        good, bad = ask_together(custodian, [ask(ALL, "0.1"), ask(MEN, "0.1")])
        monkeypatch.undo()
        assert (type(good), type(bad)) == (Answer, KeyError)
        assert len(custodian.charges()) == charges


def test_what_was_read_before_is_read_again_under_other_settings(custodian: Custodian):
    read = read_ask(custodian, ask(WOMEN))
    assert read.read is not None
    settings, asked = read.read
    assert settings is custodian.settings
    stale = replace(read_ask(custodian, ask(MEN)), sql=ALL)
    # As it was read, if the settings are the same; else what it says.
    for one, where in ((stale, {"sex": "M"}), (replace(stale, read=(replace(settings), asked)), {})):
        [answer] = ask_together(custodian, [one])
        assert isinstance(answer, Answer)
        assert json.loads(custodian.charges()[-1].where) == where


def test_a_ledger_that_fails_fails_all_and_charges_nothing(custodian: Custodian, monkeypatch):
    """Also if it fails after some of them were appended: the transaction is undone, and the books with it."""
    from parcomp.ledger import Transaction  # noqa: PLC0415  only here

    append, calls = Transaction.append, []

    def failing(self, entries):
        calls.append(1)
        if len(calls) == 2:
            raise LedgerError("the disk is full")
        return append(self, entries)

    monkeypatch.setattr(Transaction, "append", failing)
    with pytest.raises(LedgerError, match="disk"):
        ask_together(custodian, [ask(WOMEN), ask(MEN)])
    monkeypatch.undo()
    assert custodian.charges() == []
    assert custodian.balance().charges == 0
    [one, two] = ask_together(custodian, [ask(WOMEN), ask(MEN)])
    assert (one.charge, two.charge) == (1, 2)


def test_groups_of_many_threads_never_overspend(tmp_path):
    """Six groups at once, of which the budget bears a part; a row of age 5 and 6 pays for every statement."""
    with open_custodian(tmp_path, budget="1.0") as custodian:
        outcomes: list[object] = []

        def work(low):
            statements = [f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {high}" for high in range(6, 10)]
            outcomes.extend(ask_together(custodian, [ask(sql, "0.05", analyst="") for sql in statements]))

        threads = [threading.Thread(target=work, args=(low,)) for low in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answered = [one for one in outcomes if isinstance(one, Answer)]
        refused = [one for one in outcomes if isinstance(one, RefusedError)]
        assert (len(answered), len(refused)) == (20, 4)
        assert custodian.balance().loss == pytest.approx(1.0)
        assert {one.charge for one in answered} == {charge.number for charge in custodian.charges()}
        assert audited(custodian.settings).ok

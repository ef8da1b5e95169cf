"""Batches that are measured as a whole, with crashes and others in between: charged once, and answered for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from parcomp.custodian import Custodian, strategic
from parcomp.custodian.release import Release
from parcomp.custodian.request import one_by_one
from parcomp.custodian.strategic import _chosen
from parcomp.custodian.strategy import Strategy
from parcomp.errors import IdempotencyError
from tests.custodians import BATCH, audited, open_custodian


def test_a_key_stands_for_one_batch_with_its_strategy(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        first = custodian.ask_batch(BATCH, budget="1", strategy="auto", key="k")
        again = custodian.ask_batch(BATCH, budget="1", strategy="auto", key="k")
        assert [one.groups for one in again] == [one.groups for one in first]
        # A key repeats the answer as it was, its cost included.
        assert [one.cost for one in again] == [one.cost for one in first]
        for other in ({"strategy": "atoms"}, {"strategy": "independent"}, {"strategy": "auto", "estimate": True}):
            with pytest.raises(IdempotencyError):
                custodian.ask_batch(BATCH, budget="1", key="k", **other)
        assert len(custodian.charges()) == 1


def test_after_a_crash_the_batch_is_answered_for_its_charge(tmp_path, monkeypatch):
    """The matrix stands beside the charge, so that nothing is planned, or charged, again."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("release", "store"):
        with open_custodian(tmp_path / step, measure="gdp", budget="1") as custodian:
            with monkeypatch.context() as patched:
                what = Strategy if step == "release" else type(custodian._ledger)
                patched.setattr(what, "release" if step == "release" else "store_answer", killed)
                with pytest.raises(KeyboardInterrupt):
                    custodian.ask_batch(BATCH, budget="1", strategy="correlated")
            settings = custodian.settings
        with type(custodian)(settings) as reopened, monkeypatch.context() as patched:
            patched.setattr("parcomp.custodian.strategic.plan_strategy", None)
            answers = reopened.ask_batch(BATCH, budget="1", strategy="correlated")
            assert all(one.cached for one in answers)
            assert len(reopened.charges()) == 1
        assert audited(settings).ok


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("first_together", [False, True])
def test_a_key_that_others_used_meanwhile_stands_for_what_they_did(tmp_path, monkeypatch, first_together, crashed):
    """Two servers may plan the same batch in different ways: whoever is second answers from what was charged."""
    with (
        open_custodian(tmp_path, measure="gdp", budget="5") as first,
        Custodian.open(tmp_path / "custodian.toml") as second,
    ):
        sent = {"budget": "1", "strategy": "auto", "key": "k"}
        answered = []

        def alone(settings, asked):
            return one_by_one(settings, asked, "no time to plan")

        def others_first(settings, asked):
            monkeypatch.setattr(strategic, "_chosen", _chosen if first_together else alone)
            if crashed:
                for place, name in ((Strategy, "release"), (Release, "noisy")):
                    monkeypatch.setattr(place, name, killed)
                with pytest.raises(KeyboardInterrupt):
                    first.ask_batch(BATCH, **sent)
                monkeypatch.undo()
            else:
                answered.append(first.ask_batch(BATCH, **sent))
            return alone(settings, asked) if first_together else _chosen(settings, asked)

        monkeypatch.setattr(strategic, "_chosen", others_first)
        found = second.ask_batch(BATCH, **sent)
        monkeypatch.undo()
        assert len(second.charges()) == (1 if first_together else len(BATCH))
        # What is said beside it may differ.
        for batch in (*answered, first.ask_batch(BATCH, **sent)):
            assert [(one.columns, one.cost, one.charge) for one in batch] == [
                (one.columns, one.cost, one.charge) for one in found
            ]
        assert audited(first.settings).ok


def killed(*_: object, **__: object) -> None:
    """In place of what would be done after the charge."""
    raise KeyboardInterrupt


def test_of_two_processes_that_answer_at_once_both_release_what_was_stored_first(tmp_path, monkeypatch):
    with open_custodian(tmp_path, measure="gdp", budget="1") as one, type(one)(one.settings) as other:
        found = []
        release = Strategy.release

        def late(strategy, table):
            if not found:
                found.append(None)
                found[0] = other.ask_batch(BATCH, budget="1", strategy="correlated")
            return release(strategy, table)

        monkeypatch.setattr(Strategy, "release", late)
        answers = one.ask_batch(BATCH, budget="1", strategy="correlated")
        assert [answer.groups for answer in answers] == [answer.groups for answer in found[0]]
        assert len(one.charges()) == 1


def test_of_two_processes_that_charge_at_once_one_pays(tmp_path, monkeypatch):
    with open_custodian(tmp_path, measure="gdp", budget="1") as one, type(one)(one.settings) as other:
        due, found = one._due_strategy, []

        def meanwhile(asked, strategy):
            decided = due(asked, strategy)
            if not found:
                found.append(other.ask_batch(BATCH, budget="1", strategy="correlated"))
            return decided

        monkeypatch.setattr(one, "_due_strategy", meanwhile)
        for key in (None, "k"):
            answers = one.ask_batch(BATCH, budget="1", strategy="correlated", key=key)
            assert [answer.groups for answer in answers] == [answer.groups for answer in found[0]]
            assert [answer.cost for answer in answers] == [0] * len(BATCH)
        assert len(one.charges()) == 1


def test_of_many_who_ask_the_same_at_once_one_pays(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="1") as one, type(one)(one.settings) as other:
        start = threading.Barrier(8)

        def ask(number):
            start.wait()
            return (one, other)[number % 2].ask_batch(BATCH, budget="1", strategy="correlated")

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))
        assert len({tuple(answer.groups[0].value for answer in answers) for answers in found}) == 1
        assert sum(answers[0].cost > 0 for answers in found) == 1
        assert len(one.charges()) == 1

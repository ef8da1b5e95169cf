"""Statements of a batch that was measured as a whole, asked for by themselves: free where it is as accurate."""

from __future__ import annotations

from contextlib import closing

import pytest

from parcomp.custodian import Custodian, bought_batches
from parcomp.custodian.answering import Answering
from parcomp.errors import RefusedError
from tests.custodians import BATCH, ROWS, audited, open_custodian, write_custodian

COST = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu"}


@pytest.mark.parametrize(("measure", "strategy"), [("gdp", "correlated"), ("gdp", "atoms"), ("pure", "atoms")])
def test_a_statement_of_a_batch_is_free_by_itself_where_it_is_as_accurate(tmp_path, measure, strategy):
    with closing(open_custodian(tmp_path, measure=measure, budget="40")) as custodian:
        answers = custodian.ask_batch(BATCH, budget="2", strategy=strategy)
        spent = custodian.balance().spent
        for sql, before in zip(BATCH, answers, strict=True):
            quote = custodian.quote(sql, **{COST[measure]: "0.05"})
            again = custodian.ask(sql, **{COST[measure]: "0.05"})
            assert (quote.cost, quote.adds, quote.cached, quote.fits) == (0, 0, True, True)
            assert quote.expected_error == pytest.approx(before.expected_error)
            assert (again.cost, again.cached, again.charge, again.strategy) == (0, True, 1, strategy)
            assert [group.value for group in again.groups] == [group.value for group in before.groups]
            assert [group.interval for group in again.groups] == [group.interval for group in before.groups]
        assert custodian.balance().spent == spent
        assert custodian.balance().charges == 1


def test_who_wants_it_more_accurate_pays_and_is_told_so_before(tmp_path):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        [_, women, *_] = custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        quote = custodian.quote(BATCH[1], mu="4")
        assert not quote.cached
        assert quote.cost == 4
        better = custodian.ask(BATCH[1], mu="4")
        assert (better.cost, better.charge, better.strategy) == (4, 2, "")
        assert better.expected_error < women.expected_error
        # What is most accurate is handed out, whatever is asked for from here on.
        assert custodian.ask(BATCH[1], mu="0.1").value == better.value


def test_others_get_it_as_they_get_an_equal_query_that_was_charged_by_itself(tmp_path):
    quotas = {"ann": "5", "bob": "0.01"}
    with closing(open_custodian(tmp_path, measure="gdp", budget="9", quotas=quotas)) as custodian:
        answers = custodian.ask_batch(BATCH, budget="1", strategy="correlated", analyst="ann")
        alone = custodian.ask("SELECT COUNT(*) FROM people WHERE age = 3", mu="1", analyst="ann")
        for sql, value in ((BATCH[0], answers[0].value), ("SELECT COUNT(*) FROM people WHERE age = 3", alone.value)):
            told = custodian.ask(sql, mu="0.1", analyst="bob")
            assert (told.value, told.cost, told.cached) == (value, 0, True)
        with pytest.raises(RefusedError):
            custodian.ask("SELECT COUNT(*) FROM people WHERE age = 4", mu="0.1", analyst="bob")


def test_a_batch_of_some_of_them_pays_for_the_others_alone(tmp_path):
    other = "SELECT COUNT(*) FROM people WHERE age = 4"
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        first = custodian.ask_batch(BATCH, budget="2", strategy="correlated")
        quoted = custodian.quote_batch([BATCH[0], other, BATCH[1]], mu="0.1")
        assert [(one.cost, one.cached) for one in quoted.quotes] == [(0, True), (0.1, False), (0, True)]
        answers = custodian.ask_batch([BATCH[0], other, BATCH[1]], mu="0.1", estimate=True, key="k")
        assert [(one.cost, one.charge) for one in answers] == [(0, 1), (0.1, 2), (0, 1)]
        assert [answers[0].value, answers[2].value] == [first[0].value, first[1].value]
        assert all(one.estimate is not None for one in answers)
        again = custodian.ask_batch([BATCH[0], other, BATCH[1]], mu="0.1", estimate=True, key="k")
        assert [one.value for one in again] == [one.value for one in answers]
        assert custodian.balance().charges == 2


def test_a_key_stands_for_what_was_handed_out(tmp_path):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        first = custodian.ask_batch(BATCH, budget="2", strategy="correlated")
        told = custodian.ask(BATCH[0], mu="0.1", key="mine")
        custodian.ask(BATCH[0], mu="5")
        assert custodian.ask(BATCH[0], mu="0.1", key="mine").value == told.value == first[0].value


def test_the_answer_is_of_the_rows_of_the_last_load_alone(tmp_path):
    settings = write_custodian(tmp_path, measure="gdp", budget="9")
    with closing(Custodian.open(settings)) as custodian:
        custodian.ask_batch(BATCH, budget="2", strategy="correlated")
        write_custodian(tmp_path, rows=[*ROWS, ROWS[0]], measure="gdp", budget="9", init=False)
        custodian.load()
        assert not custodian.quote(BATCH[0], mu="0.1").cached
        assert custodian.ask(BATCH[0], mu="0.1").cost == 0.1


def test_a_batch_that_was_charged_and_not_answered_is_answered_for_one_of_its_statements(tmp_path, monkeypatch):
    settings = write_custodian(tmp_path, measure="gdp", budget="9")
    with closing(Custodian.open(settings)) as custodian, monkeypatch.context() as broken:

        def fails(*_):
            raise KeyboardInterrupt

        broken.setattr(Answering, "_stored_strategy", fails)
        with pytest.raises(KeyboardInterrupt):
            custodian.ask_batch(BATCH, budget="2", strategy="correlated")
    with closing(Custodian.open(settings)) as custodian:
        told = custodian.ask(BATCH[1], mu="0.1")
        assert (told.cost, told.charge) == (0, 1)
        assert custodian.ask_batch(BATCH, budget="2", strategy="correlated")[1].value == told.value
        assert custodian.balance().charges == 1
        assert audited(custodian.settings).problems == ()


def test_a_batch_is_restored_once(tmp_path, monkeypatch):
    settings = write_custodian(tmp_path, measure="gdp", budget="9")
    restored = []
    with closing(Custodian.open(settings)) as custodian:
        custodian.ask_batch(BATCH, budget="2", strategy="correlated")
        read = bought_batches.read_strategy
        monkeypatch.setattr(bought_batches, "read_strategy", lambda *given: restored.append(1) or read(*given))
        for sql in BATCH * 2:
            custodian.quote(sql, mu="0.1")
            custodian.ask(sql, mu="0.1")
        assert len(restored) == 1

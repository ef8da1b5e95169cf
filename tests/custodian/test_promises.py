"""What privacy rests on in a custodian: noise for what is paid, quotas per person, one answer for one charge."""

from __future__ import annotations

import random
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from math import isqrt

import pytest

from parcomp.custodian import Custodian
from parcomp.custodian.release import Release
from parcomp.errors import LedgerError, RefusedError
from parcomp.privacy.measures import MEASURES
from parcomp.privacy.mechanisms import discrete_gaussian_mu
from parcomp.sql import parse_statement
from tests.custodians import load_settings, open_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 5"


def spent_by(measure, mechanism, moved):
    """What noise discloses of a number that moves by so much, in units of one, from above."""
    scale = Fraction(mechanism.scale)
    if measure == "pure":
        return moved / scale
    if measure == "zcdp":
        return moved**2 / (2 * scale**2)
    return (moved * Fraction(discrete_gaussian_mu(mechanism.scale))) ** 2


def moves(aggregate, values, neighbours):
    """By how much the number can move if a row comes or goes, or gets another value within its group."""
    # What a row adds to the number, written down independently of the code.
    adds = [1 if aggregate.attribute is None else value - aggregate.center for value in values]
    if neighbours == "replace-one":
        return max(abs(one - other) for one in [0, *adds] for other in [0, *adds])
    return max(abs(one) for one in adds)


@pytest.mark.parametrize(("measure", "neighbours"), list(product(MEASURES, ["add-remove", "replace-one"])))
def test_the_noise_of_all_numbers_costs_no_more_than_the_statement(tmp_path, measure, neighbours):
    """Counts, sums and averages over random ranges: what each row discloses through all numbers adds up to the cost."""
    draw = random.Random(f"{measure} {neighbours}")
    for number in range(12):
        low = draw.randint(-1000, 1000)
        high = low + draw.choice([0, 1, 7, 300, 2000])
        domain = {"name": "people", "attributes": {"x": {"low": low, "high": high}, "sex": {"values": ["F", "M"]}}}
        settings = load_settings(tmp_path / str(number), rows=[], domain=domain, measure=measure, neighbours=neighbours)
        for select, group in product(["COUNT(*)", "SUM(x)", "AVG(x)"], ["", " GROUP BY sex"]):
            statement = parse_statement(settings.domain, f"SELECT {select} FROM people{group}", settings.tables)
            units = draw.randint(2, 10 ** draw.randint(4, 9))
            release = Release.plan(settings, statement, units)
            assert len(release.mechanisms) == len(statement.aggregates) == (2 if "AVG" in select else 1)
            spent = sum(
                spent_by(measure, mechanism, moves(aggregate, (low, high), neighbours))
                for mechanism, aggregate in zip(release.mechanisms, statement.aggregates, strict=True)
            )
            assert spent <= Fraction(units, 10**9)
            if units > 10**6 and min(mechanism.scale for mechanism in release.mechanisms) > 1:
                # And no number gets much more noise than its part buys; an average's two get half each.
                assert spent >= Fraction(units, 10**9) * (Fraction(9, 10) if "AVG" not in select else Fraction(2, 5))


@pytest.mark.parametrize(("measure", "rows"), list(product(MEASURES, [1, 2, 3])))
def test_a_quota_is_for_all_rows_of_a_person(tmp_path, measure, rows):
    """What an analyst spends on a row times k (ε, μ) or k² (ρ) is within the quota, and no less is refused."""
    parameter = MEASURES[measure].parameter
    factor = rows * rows if measure == "zcdp" else rows
    with open_custodian(
        tmp_path, measure=measure, budget="100", rows_per_person=rows, quotas={"anna": "3.6"}
    ) as custodian:
        most = Fraction("3.6") / factor
        with pytest.raises(RefusedError, match="the quota of anna"):
            custodian.ask(WOMEN, **{parameter: str(float(most * Fraction(1001, 1000)))}, analyst="anna")
        custodian.ask(WOMEN, **{parameter: str(float(most))}, analyst="anna")
        for sql in (YOUNG, "SELECT COUNT(*) FROM people"):
            with pytest.raises(RefusedError, match="the quota of anna"):
                custodian.ask(sql, **{parameter: "0.001"}, analyst="anna")
        own = sum(charge.units for charge in custodian.charges())
        spent = own * (rows if measure == "pure" else rows * rows)
        assert spent <= MEASURES[measure].budget_down("3.6")
        assert isqrt(spent) >= 0.99 * isqrt(MEASURES[measure].budget_down("3.6"))


def test_of_two_processes_that_count_at_once_both_release_what_was_stored_first(tmp_path, monkeypatch):
    """While one counts, another draws noise for the same charge and stores it: the first one's own noise is dropped."""
    with open_custodian(tmp_path) as slow, Custodian.open(tmp_path / "custodian.toml") as quick:
        table = slow._table()
        measure = type(table).measure
        released = []

        def interrupted(self, statements):
            monkeypatch.setattr(type(table), "measure", measure)
            released.append(quick.ask(WOMEN, epsilon="0.000001"))
            return measure(self, statements)

        monkeypatch.setattr(type(table), "measure", interrupted)
        answer = slow.ask(WOMEN, epsilon="0.000001")
        # Noise of scale 10⁶ is not drawn twice by chance.
        assert (answer.charge, answer.value) == (released[0].charge, released[0].value)
        assert slow.balance().charges == 1
        assert quick.ask(WOMEN, epsilon="0.000001").value == answer.value


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_after_a_failed_commit_the_books_are_as_before(tmp_path, monkeypatch, neighbours):
    """The ledger undoes the transaction, so what was entered in it is taken back: budget, quota, and what is paid."""
    with open_custodian(tmp_path, neighbours=neighbours, quotas={"anna": "1.0"}) as custodian:
        custodian.ask(YOUNG, epsilon="0.1", analyst="anna")
        begin = custodian._ledger.transaction

        @contextmanager
        def failing():
            with begin() as transaction:
                yield transaction
                raise LedgerError("the disk is full")

        before = custodian.balance(), custodian.quote(WOMEN, epsilon="0.4", analyst="anna")
        monkeypatch.setattr(custodian._ledger, "transaction", failing)
        for key in (None, "k"):
            with pytest.raises(LedgerError, match="the disk is full"):
                custodian.ask_batch([WOMEN, WOMEN + " AND age = 1"], epsilon="0.4", analyst="anna", key=key)
            assert (custodian.balance(), custodian.quote(WOMEN, epsilon="0.4", analyst="anna")) == before
        monkeypatch.undo()
        answer = custodian.ask(WOMEN, epsilon="0.4", analyst="anna")
        assert (answer.charge, answer.cached, custodian.balance().charges) == (2, False, 2)

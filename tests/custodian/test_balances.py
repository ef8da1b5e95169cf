"""What was spent, by whom, what is left, and which limit says so."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal

import pytest

import parcomp as pc
from parcomp.costs import UNITS_PER_ONE
from parcomp.custodian import books as books_module
from parcomp.custodian.accountant import Account
from parcomp.errors import CostError, RefusedError, SettingsError
from parcomp.privacy.measures import MEASURES
from tests.custodians import open_custodian, write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 5"
EVERYONE = "SELECT COUNT(*) FROM people"
NOBODY = "SELECT COUNT(*) FROM people WHERE age > 5 AND age < 3"
STATED = {"epsilon": "1", "delta": "1e-6"}


def random_question(chance):
    """A condition on one sex or on all, and on a range of ages."""
    low = chance.randint(0, 9)
    sex = chance.choice(["", "sex = 'F' AND ", "sex = 'M' AND "])
    return f"SELECT COUNT(*) FROM people WHERE {sex}age BETWEEN {low} AND {chance.randint(low, 9)}"


def heaviest(charges, domain):
    """The most that charges cost on any row, in units, row by row."""
    queries = [(domain.query(json.loads(charge.where)), charge.units) for charge in charges]
    rows = ((sex, age) for sex in range(2) for age in range(10))
    return max(sum(units for query, units in queries if satisfies(row, query)) for row in rows)


def satisfies(row, query):
    """Whether a row, as the codes of its values, satisfies a query."""
    return all(any(start <= row[index] < stop for start, stop in predicate.runs()) for index, predicate in query.terms)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("seed", range(4))
def test_the_share_of_each_analyst_is_never_below_what_a_row_has_paid(tmp_path, neighbours, seed):
    """Held against every row, for analysts with and without a quota; exact where a row is added or removed."""
    chance = random.Random(seed)
    quotas = {"anna": "0.5", "ben": None, "cy": "1"}
    with open_custodian(tmp_path, quotas=quotas, neighbours=neighbours) as custodian:
        for _ in range(12):
            try:
                custodian.ask(
                    random_question(chance),
                    epsilon=f"0.{chance.randint(1, 9):02d}",
                    analyst=chance.choice(["anna", "ben", "cy"]),
                )
            except RefusedError:
                continue
        balance, charges = custodian.balance(), custodian.charges()
        for name, share in balance.analysts.items():
            own = [charge for charge in charges if charge.analyst == name]
            truth, total = heaviest(own, custodian.settings.domain), sum(charge.units for charge in own)
            loss = min(2 * truth, total) if neighbours == "replace-one" else truth
            assert share.spent * UNITS_PER_ONE == pytest.approx(loss)
            assert Decimal(repr(share.spent)) * UNITS_PER_ONE >= loss
            assert share.spent <= balance.spent
            assert share.charges == len(own)
        assert list(balance.analysts) == ["anna", "ben", "cy"]
        assert custodian.balance() == balance
    with pc.Custodian.open(tmp_path / "custodian.toml") as reopened:
        assert reopened.balance() == balance


def test_a_share_follows_the_charges(custodian_of_two):
    """It grows with an analyst's own charges only, is for the named one if one is named, and says what is left."""
    custodian_of_two.ask(WOMEN, epsilon="0.2", analyst="anna")
    custodian_of_two.ask(MEN, epsilon="0.2", analyst="anna")
    custodian_of_two.ask(EVERYONE, epsilon="0.6", analyst="ben")
    anna = custodian_of_two.balance("anna").analysts
    assert {name: (share.quota, share.spent, share.remaining, share.charges) for name, share in anna.items()} == {
        "anna": (0.3, 0.2, 0.1, 2)
    }
    everyone = custodian_of_two.balance()
    ben = everyone.analysts["ben"]
    assert (ben.quota, ben.spent, ben.remaining) == (None, 0.6, None)
    assert (everyone.budget, everyone.spent, everyone.remaining, everyone.sequential) == (1, 0.8, 0.2, 1)
    with pytest.raises(SettingsError, match="unknown analyst 'zoe'; the settings name anna, ben"):
        custodian_of_two.balance("zoe")


@pytest.fixture
def custodian_of_two(tmp_path):
    with open_custodian(tmp_path, quotas={"anna": "0.3", "ben": None}) as opened:
        yield opened


def test_without_declared_analysts_those_who_asked_have_a_share(tmp_path):
    """By the names they gave; who gave none is in the total only."""
    with open_custodian(tmp_path) as custodian:
        custodian.ask(WOMEN, epsilon="0.2", analyst="zoe")
        custodian.ask(MEN, epsilon="0.3")
        balance = custodian.balance()
        assert {name: (share.quota, share.spent) for name, share in balance.analysts.items()} == {"zoe": (None, 0.2)}
        assert custodian.balance("nobody").analysts["nobody"].spent == 0


def test_all_shares_together_take_a_bounded_amount_of_work(custodian_of_two, monkeypatch):
    """Counted in word operations, not seconds; and nothing is worked out twice."""
    for age in range(10):
        analyst = "anna" if age % 2 else "ben"
        custodian_of_two.ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", epsilon="0.1", analyst=analyst)
    works, proven_upper = [], Account.proven_upper

    def noting(account, work):
        works.append(work)
        return proven_upper(account, work)

    monkeypatch.setattr(Account, "proven_upper", noting)
    before = custodian_of_two.balance()
    assert len(works) == 2
    assert 0.9 * books_module.SHARES_WORK <= sum(works) <= books_module.SHARES_WORK
    assert custodian_of_two.balance() == before
    assert len(works) == 2
    custodian_of_two.ask(WOMEN, epsilon="0.1", analyst="anna")
    assert custodian_of_two.balance().analysts["anna"].spent == 0.2
    assert len(works) == 2, "one more charge is taken in by itself"


def test_a_quote_names_the_limit_that_leaves_least_and_what_each_leaves(custodian_of_two):
    """The quota first, then the budget, as others spend on the same rows."""
    quote = custodian_of_two.quote(WOMEN, epsilon="0.2", analyst="anna")
    assert (quote.limit, quote.left, quote.remaining) == ("quota of anna", {"budget": 1, "quota of anna": 0.3}, 0.3)
    custodian_of_two.ask(WOMEN, epsilon="0.9", analyst="ben")
    quote = custodian_of_two.quote(YOUNG, epsilon="0.2", analyst="anna")
    assert (quote.limit, quote.left, quote.fits) == ("budget", {"budget": 0.1, "quota of anna": 0.3}, False)
    assert custodian_of_two.quote(MEN, epsilon="0.2", analyst="ben").left == {"budget": 1}


def test_a_refusal_names_both_limits(custodian_of_two):
    """Which of them it was, and what the other leaves."""
    custodian_of_two.ask(WOMEN, epsilon="0.2", analyst="anna")
    with pytest.raises(RefusedError) as refused:
        custodian_of_two.ask(EVERYONE, epsilon="0.25", analyst="anna")
    assert str(refused.value) == (
        "the quota of anna leaves epsilon 0.1 on the rows of this query, which costs epsilon 0.25; the budget leaves "
        "epsilon 0.8; ask at epsilon 0.1 or less"
    )
    assert (refused.value.limit, refused.value.remaining, refused.value.position) == ("quota of anna", 0.1, None)
    custodian_of_two.ask(MEN, epsilon="0.95", analyst="ben")
    with pytest.raises(
        RefusedError, match=r"^the budget leaves epsilon 0\.05 .*; the quota of anna leaves epsilon 0\.1; "
    ) as by:
        custodian_of_two.ask(EVERYONE, epsilon="0.25", analyst="anna")
    assert (by.value.limit, by.value.left) == ("budget", {"budget": 0.05, "quota of anna": 0.1})


def test_a_refused_batch_says_which_statement(custodian_of_two):
    """By its position, and nothing of the batch is charged; a quote of the batch agrees."""
    batch = [WOMEN, MEN, YOUNG, NOBODY]
    with pytest.raises(RefusedError, match=r"^statement 3 of 4: the quota of anna leaves epsilon 0\.1 ") as refused:
        custodian_of_two.ask_batch(batch, epsilon="0.2", analyst="anna")
    assert refused.value.position == 3
    assert custodian_of_two.balance().charges == 0
    quotes = custodian_of_two.quote_batch(batch, epsilon="0.2", analyst="anna").quotes
    assert [quote.fits for quote in quotes] == [True, True, False, True]


def test_of_equal_statements_the_dearest_is_the_one_that_is_refused(custodian_of_two):
    """That is the one that would have been charged."""
    with pytest.raises(RefusedError) as refused:
        custodian_of_two.ask_batch([MEN, WOMEN, WOMEN], epsilon=["0.1", "0.1", "0.5"], analyst="anna")
    assert refused.value.position == 3


def test_what_is_free_is_quoted_at_0(custodian_of_two):
    """What was bought before, by anyone, and what no row can satisfy; no limit binds it."""
    custodian_of_two.ask(WOMEN, epsilon="0.3", analyst="anna")
    for sql in (WOMEN, NOBODY):
        quote = custodian_of_two.quote(sql, epsilon="0.2", analyst="anna")
        assert (quote.cost, quote.adds, quote.fits, quote.limit) == (0, 0, True, "")
    assert custodian_of_two.quote(WOMEN, epsilon="0.4", analyst="ben").cost == 0.4


def test_a_replayed_key_shows_what_the_request_showed(custodian_of_two):
    """Cost and charge are those of the first time, and nothing is charged again."""
    first = custodian_of_two.ask(WOMEN, epsilon="0.2", analyst="anna", key="k")
    again = custodian_of_two.ask(WOMEN, epsilon="0.2", analyst="anna", key="k")
    assert first == again
    assert (again.cost, again.cached) == (0.2, False)
    assert custodian_of_two.balance().charges == 1


@pytest.mark.parametrize("measure", ["zcdp", "gdp"])
def test_a_budget_of_two_numbers_is_kept_and_shown_in_both(tmp_path, measure):
    """The ledger counts ρ or μ²; balances, quotes and refusals show ε at δ too, and never more than was stated."""
    parameter = MEASURES[measure].parameter
    quotas = {"anna": {"epsilon": "0.5", "delta": "1e-6"}, "ben": "0.001"}
    with open_custodian(tmp_path, measure=measure, budget=STATED, quotas=quotas) as custodian:
        quote = custodian.quote(WOMEN, analyst="anna", **{parameter: "0.002"})
        assert quote.delta == 1e-6
        assert quote.epsilon["remaining"] == pytest.approx(0.5, rel=1e-5)
        assert quote.epsilon["remaining"] <= 0.5
        custodian.ask(WOMEN, analyst="anna", **{parameter: quote.remaining})
        balance = custodian.balance()
        assert (balance.delta, balance.epsilon["budget"]) == (1e-6, 1)
        assert balance.epsilon["spent"] == pytest.approx(0.5, rel=1e-5)
        assert balance.epsilon["spent"] <= 0.5
        assert balance.epsilon["remaining"] < 1
        with pytest.raises(RefusedError, match=rf"leaves {parameter} \S+ \(epsilon \S+ at delta 1e-6\) on the rows"):
            custodian.ask(EVERYONE, analyst="anna", **{parameter: "0.2"})
        with pytest.raises(CostError, match=f"--{parameter} X"):
            custodian.ask(EVERYONE, analyst="anna", epsilon="0.2")
    write_custodian(tmp_path, measure=measure, budget={"epsilon": "1.1", "delta": "1e-6"}, quotas=quotas, init=False)
    with pytest.raises(pc.errors.LedgerError, match="the budget is"):
        pc.Custodian.open(tmp_path / "custodian.toml")


def test_an_epsilon_is_against_all_rows_of_a_person(tmp_path):
    """The budget is stated for a person; with two rows each, ρ of a row counts four times."""
    with open_custodian(tmp_path, measure="zcdp", budget=STATED, rows_per_person=2) as custodian:
        quote = custodian.quote(WOMEN, rho="0.001")
        assert quote.epsilon["remaining"] == pytest.approx(1, rel=1e-5)
        one = custodian.settings.approximate
        assert quote.epsilon["cost"] == one.epsilon_up(4_000_000)
        custodian.ask(WOMEN, rho=quote.remaining)
        assert custodian.balance().epsilon["spent"] == pytest.approx(1, rel=1e-5)
        assert not math.isinf(custodian.balance().epsilon["sequential"])


def test_a_share_is_against_all_rows_of_a_person(tmp_path):
    """As the budget and the quotas are: three rows each, three times the ε of a row."""
    with open_custodian(tmp_path, rows_per_person=3, quotas={"anna": "0.6"}) as custodian:
        custodian.ask(WOMEN, epsilon="0.1", analyst="anna")
        share = custodian.balance().analysts["anna"]
        assert (share.quota, share.spent, share.remaining) == (0.6, 0.3, 0.3)


def test_a_balance_is_printed_in_words(tmp_path):
    with open_custodian(tmp_path, measure="zcdp", budget=STATED, quotas={"anna": "0.001"}) as custodian:
        custodian.ask(WOMEN, rho="0.0005", analyst="anna")
        balance = custodian.balance()
    assert repr(balance) == "<Balance of people 1: ρ = 0.0005 of ρ = 0.0243559 spent>"
    lines = str(balance).splitlines()
    assert lines[0].startswith("budget         ρ = 0.0243559 (ε = 1 at δ = 1e-6)")
    assert "spent by anna  ρ = 0.0005 of a quota of ρ = 0.001" in lines
    assert lines[-1].startswith("people 1, 1 charge: zCDP with ρ = 0.0005 (ε = ")


@pytest.mark.parametrize("measure", ["zcdp", "gdp"])
def test_a_quota_of_epsilon_and_delta_is_shown_as_it_was_stated(measure, tmp_path):
    """Whole, in balances and in quotes; and rounded down once some of it is spent."""
    quota = {"epsilon": "0.5", "delta": "1e-6"}
    with open_custodian(tmp_path, measure=measure, budget=STATED, quotas={"anna": quota}) as custodian:
        parameter = {"zcdp": "rho", "gdp": "mu"}[measure]
        share = custodian.balance().analysts["anna"]
        assert share.epsilon["quota"] == share.epsilon["remaining"] == 0.5
        assert custodian.quote(WOMEN, analyst="anna", **{parameter: "0.001"}).epsilon["remaining"] == 0.5
        custodian.ask(WOMEN, analyst="anna", **{parameter: "0.001"})
        share = custodian.balance().analysts["anna"]
        assert share.epsilon["quota"] == 0.5
        assert share.epsilon["remaining"] < 0.5

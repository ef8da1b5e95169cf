"""Random sessions with a custodian, step by step against a brute-force model on a small domain."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from parcomp.costs import MAX_UNITS
from parcomp.custodian import Custodian
from parcomp.errors import CostError, RefusedError, WorkloadError
from tests.custodians import open_custodian

AGES = (4, 65, 130, 300)
"""How many ages there may be: also more than one word of bits holds."""

ATOMS = {
    "sex = 'F'": lambda sex, age, ages: sex == "F",
    "sex <> 'F'": lambda sex, age, ages: sex == "M",
    "sex IS NULL": lambda sex, age, ages: sex is None,
    "NOT sex IS NULL": lambda sex, age, ages: sex is not None,
    "age < 2": lambda sex, age, ages: age < 2,
    "age BETWEEN 1 AND 2": lambda sex, age, ages: age in (1, 2),
    "age IN (0, 3)": lambda sex, age, ages: age in (0, 3),
    "age >= 64": lambda sex, age, ages: age >= 64,
    "age NOT IN (1, 63, 64, 128)": lambda sex, age, ages: age not in (1, 63, 64, 128),
    "age = 700": lambda sex, age, ages: False,
    "sex = 'M' OR age = 0": lambda sex, age, ages: sex == "M" or age == 0,
}
"""Conditions with their meaning, written down independently of the SQL that is parsed."""

PARAMETER = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu"}

wheres = st.lists(st.sampled_from(sorted(ATOMS)), max_size=2, unique=True).map(tuple)
costs = st.integers(1, 12)
statements = st.tuples(wheres, st.booleans())


def sql_of(statement):
    """The statement in SQL: a count where all conditions hold, in groups of sex if asked for."""
    conditions, grouped = statement
    where = " WHERE " + " AND ".join(f"({condition})" for condition in conditions) if conditions else ""
    return f"SELECT COUNT(*) FROM people{where}{' GROUP BY sex' if grouped else ''}"


@cache
def rows_of(ages):
    """All rows of the domain."""
    return list(product(["F", "M", None], range(ages)))


@cache
def counted(statement, ages):
    """The rows that the statement counts; those of a whole batch are given as they are."""
    if isinstance(statement[0], frozenset):
        return statement[0]
    return frozenset(row for row in rows_of(ages) if all(ATOMS[condition](*row, ages) for condition in statement[0]))


@cache
def covered(statement, ages):
    """The rows that the statement is charged for: all that agree on each attribute with rows that it counts."""
    chosen = counted(statement, ages)
    sexes, years = {sex for sex, _ in chosen}, {age for _, age in chosen}
    return frozenset(row for row in rows_of(ages) if row[0] in sexes and row[1] in years)


class CustodianMachine(RuleBasedStateMachine):
    """A custodian with a budget of 20 parts beside a list of what it should have charged, in exact units."""

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.charged = []
        self.together = set()

    @initialize(
        replace=st.booleans(),
        quota=st.integers(5, 20),
        measure=st.sampled_from(sorted(PARAMETER)),
        rows=st.sampled_from([1, 1, 2, 3]),
        ages=st.sampled_from(AGES),
        large=st.booleans(),
    )
    def start(self, replace, quota, measure, rows, ages, large):
        """Open a ledger under either neighbor relation and any measure, with a quota for one analyst."""
        self.replace, self.quota, self.measure, self.rows, self.ages = replace, quota, measure, rows, ages
        # A part is a tenth, or so many that losses have more digits than a float.
        self.part = Fraction(1, 10) if not large else Fraction(10**3 if measure == "gdp" else 10**8)
        self.factor = rows if measure == "pure" else rows * rows
        self.custodian = open_custodian(
            Path(self.directory.name),
            rows=[{"sex": sex or "", "age": age} for sex, age in rows_of(ages)[:: max(1, ages // 8)]],
            domain={
                "name": "people",
                "attributes": {
                    "sex": {"values": ["F", "M"], "nullable": True},
                    "age": {"low": 0, "high": ages - 1},
                },
            },
            measure=measure,
            budget=self.amount(20),
            neighbours="replace-one" if replace else "add-remove",
            rows_per_person=rows,
            quotas={"anna": self.amount(quota), "ben": self.amount(20)},
        )

    def teardown(self):
        """Let go of the files."""
        if hasattr(self, "custodian"):
            self.custodian.close()
        self.directory.cleanup()

    def amount(self, parts):
        """So many parts in the measure's parameter, as a decimal."""
        return f"{float(parts * self.part):.1f}"

    def units(self, parts):
        """So many parts in additive units."""
        exact = parts * self.part
        whole = exact**2 * 10**9 if self.measure == "gdp" else exact * 10**9
        assert whole.denominator == 1
        return int(whole)

    def costing(self, parts):
        """The cost as the custodian is told it."""
        return {PARAMETER[self.measure]: self.amount(parts)}

    def loss(self, charges):
        """The true loss against a person, by brute force over all rows."""
        by_row = dict.fromkeys(rows_of(self.ages), 0)
        for statement, cost, _ in charges:
            for row in covered(statement, self.ages):
                by_row[row] += cost
        gamma = max(by_row.values())
        if not self.replace:
            return self.factor * gamma
        return self.factor * min(
            2 * gamma,
            sum(cost * (2 if statement[1] else 1) for statement, cost, _ in charges if covered(statement, self.ages)),
        )

    def fits(self, charges, analyst):
        """Whether an exact solver would admit these charges."""
        own = [charge for charge in charges if charge[2] == analyst]
        return self.loss(charges) <= self.units(20) and (analyst != "anna" or self.loss(own) <= self.units(self.quota))

    def identity(self, statement):
        """What makes two statements the same: the counted rows and the groups."""
        # Of what was measured as a whole, ``together`` has the statements.
        return counted(statement, self.ages), "whole" if isinstance(statement[0], frozenset) else statement[1]

    def paid(self, statement, cost, charges, cached=False):
        """Whether it is free: nothing to count, or bought at least as accurately.

        Of a statement that was measured with others, the custodian alone knows how accurate it is, and says so.
        """
        return (
            not covered(statement, self.ages)
            or any(self.identity(other) == self.identity(statement) and bought >= cost for other, bought, _ in charges)
            or (cached and self.identity(statement) in self.together)
        )

    def beyond(self, units):
        """Whether all costs together would exceed 64 bits, in which they are added up: then nothing more is charged."""
        return sum(cost for _, cost, _ in self.charged) + units > MAX_UNITS

    def is_shown(self, shown, units, slack=0.0):
        """Whether a number stands for additive units: never below them, and above by rounding only."""
        exact = Fraction(units, 10**9)
        written = Fraction(repr(shown))
        if self.measure == "gdp":
            written = written**2
        return exact <= written <= exact * (1 + Fraction(1, 10**12)) + Fraction(slack)

    @rule(statement=statements, cost=costs, analyst=st.sampled_from(["anna", "ben"]))
    def ask(self, statement, cost, analyst):
        """Asking is free, charged or refused exactly as the model says."""
        units = self.units(cost)
        charges = [*self.charged, (statement, units, analyst)]
        if self.beyond(units):
            if not self.paid(statement, units, self.charged, cached=True):
                with pytest.raises((CostError, RefusedError)):
                    self.custodian.ask(sql_of(statement), **self.costing(cost), analyst=analyst)
            return
        quote = self.custodian.quote(sql_of(statement), **self.costing(cost), analyst=analyst)
        free = self.paid(statement, units, self.charged, quote.cached)
        admissible = free or self.fits(charges, analyst)
        assert quote.fits == admissible
        try:
            answer = self.custodian.ask(sql_of(statement), **self.costing(cost), analyst=analyst)
        except RefusedError:
            assert not admissible
            return
        assert admissible
        assert answer.cost == (0 if free else float(cost * self.part))
        if not free:
            if self.charged and self.measure != "gdp":
                assert self.is_shown(quote.adds, self.loss(charges) - self.loss(self.charged))
            self.charged = charges

    @rule(
        batch=st.lists(st.tuples(statements, costs), min_size=1, max_size=3), analyst=st.sampled_from(["anna", "ben"])
    )
    def ask_batch(self, batch, analyst):
        """A batch is charged as a whole or not at all."""
        sqls = [sql_of(one) for one, _ in batch]
        amounts = {PARAMETER[self.measure]: [self.amount(cost) for _, cost in batch]}
        if self.beyond(sum(self.units(cost) for _, cost in batch)):
            charges = self.charged_for(batch, [True] * len(batch), analyst)
            if self.beyond(sum(units for _, units, _ in charges[len(self.charged) :])):
                with pytest.raises((CostError, RefusedError)):
                    self.custodian.ask_batch(sqls, **amounts, analyst=analyst)
            return
        quoted = self.custodian.quote_batch(sqls, **amounts, analyst=analyst)
        charges = self.charged_for(batch, [quote.cached for quote in quoted.quotes], analyst)
        admissible = charges == self.charged or self.fits(charges, analyst)
        assert quoted.fits == admissible
        try:
            self.custodian.ask_batch(sqls, **amounts, analyst=analyst)
        except RefusedError:
            assert not admissible
            return
        assert admissible
        self.charged = charges

    def charged_for(self, batch, cached, analyst):
        """All charges, with those for the statements of a batch that are not free."""
        charges = list(self.charged)
        for (statement, cost), free in sorted(zip(batch, cached, strict=True), key=lambda one: -one[0][1]):
            if not self.paid(statement, self.units(cost), charges, free):
                charges.append((statement, self.units(cost), analyst))
        return charges

    @rule(batch=st.lists(statements, min_size=1, max_size=4), budget=costs)
    def ask_with_a_budget(self, batch, budget):
        """What a planned batch is charged discloses no more than its budget, by itself."""
        if self.beyond(self.units(budget) * len(batch)):
            return
        try:
            answers = self.custodian.ask_batch(
                [sql_of(one) for one in batch], budget=self.amount(budget), analyst="ben"
            )
        except RefusedError:
            return
        units = {charge.number: charge.units for charge in self.custodian.charges()}
        bought, known = [], len(self.charged)
        for statement, answer in zip(batch, answers, strict=True):
            if answer.charge is not None and answer.charge > known and not answer.cached:
                bought.append((answer.charge, (statement, units[answer.charge], "ben")))
        bought.sort()
        assert [number for number, _ in bought] == list(range(known + 1, known + len(bought) + 1))
        made = [charge for _, charge in bought]
        if made:
            assert self.loss(made) <= self.units(budget)
        self.charged = [*self.charged, *made]

    @rule(
        batch=st.lists(statements, min_size=1, max_size=3),
        budget=costs,
        strategy=st.sampled_from(["correlated", "atoms", "auto"]),
    )
    def ask_as_a_whole(self, batch, budget, strategy):
        """A batch that is measured as a whole is one charge on its hull, and discloses its budget at most."""
        if self.beyond(self.units(budget) * len(batch)):
            return
        asked = [sql_of(one) for one in batch]
        try:
            answers = self.custodian.ask_batch(asked, budget=self.amount(budget), strategy=strategy, analyst="ben")
        except (RefusedError, CostError, WorkloadError):
            return
        known = len(self.charged)
        made = self.custodian.charges()[known:]
        if any('"kind":"strategy"' in charge.statement for charge in made):
            assert len(made) == 1
            self.together |= {self.identity(one) for one in batch}
            whole = frozenset().union(*(counted(one, self.ages) for one in batch))
            entries = [((whole, True), charge.units, "ben") for charge in made]
        else:
            bought = {a.charge: one for one, a in zip(reversed(batch), reversed(answers), strict=True)}
            entries = [(bought[charge.number], charge.units, "ben") for charge in made]
        if entries:
            assert self.loss(entries) <= self.units(budget)
        self.charged = [*self.charged, *entries]

    @rule()
    def restart(self):
        """Close everything and open it again from the files."""
        self.custodian.close()
        self.custodian = Custodian.open(Path(self.directory.name) / "custodian.toml")

    @invariant()
    def balances_are_equal(self):
        """The recorded loss is the true one, and never above the budget."""
        if hasattr(self, "custodian"):
            balance = self.custodian.balance()
            true_loss = self.loss(self.charged)
            assert true_loss <= self.units(20)
            assert balance.charges == len(self.charged)
            assert self.is_shown(balance.loss, true_loss)


TestCustodianMachine = CustodianMachine.TestCase
TestCustodianMachine.settings = settings(
    max_examples=30, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)

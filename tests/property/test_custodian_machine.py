"""Random sessions with a custodian, step by step against a brute-force model on a small domain."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import product
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from parcomp.custodian import Custodian
from parcomp.errors import RefusedError
from tests.custodians import write_custodian

DOMAIN = {
    "name": "people",
    "attributes": {"sex": {"values": ["F", "M"], "nullable": True}, "age": {"low": 0, "high": 3}},
}
ROWS = list(product(["F", "M", None], range(4)))
TABLE = [{"sex": sex or "", "age": age} for sex, age in ROWS]

ATOMS = {
    "sex = 'F'": lambda sex, age: sex == "F",
    "sex <> 'F'": lambda sex, age: sex == "M",
    "sex IS NULL": lambda sex, age: sex is None,
    "NOT sex IS NULL": lambda sex, age: sex is not None,
    "age < 2": lambda sex, age: age < 2,
    "age BETWEEN 1 AND 2": lambda sex, age: age in (1, 2),
    "age IN (0, 3)": lambda sex, age: age in (0, 3),
    "age = 7": lambda sex, age: False,
    "sex = 'M' OR age = 0": lambda sex, age: sex == "M" or age == 0,
}
"""Conditions with their meaning, written down independently of the SQL that is parsed."""

wheres = st.lists(st.sampled_from(sorted(ATOMS)), max_size=2, unique=True)
costs = st.integers(1, 12)
statements = st.tuples(wheres, st.booleans())


def sql_of(statement):
    """The statement in SQL: a count where all conditions hold, in groups of sex if asked for."""
    conditions, grouped = statement
    where = " WHERE " + " AND ".join(f"({condition})" for condition in conditions) if conditions else ""
    return f"SELECT COUNT(*) FROM people{where}{' GROUP BY sex' if grouped else ''}"


def covered(statement):
    """The rows that the statement is charged for: all that agree on each attribute with rows that it counts."""
    counted = [row for row in ROWS if all(ATOMS[condition](*row) for condition in statement[0])]
    sexes, ages = {sex for sex, _ in counted}, {age for _, age in counted}
    return frozenset(row for row in ROWS if row[0] in sexes and row[1] in ages)


def identity(statement):
    """What makes two statements the same: the counted rows and the groups."""
    counted = frozenset(row for row in ROWS if all(ATOMS[condition](*row) for condition in statement[0]))
    return counted, statement[1]


class CustodianMachine(RuleBasedStateMachine):
    """A custodian with a budget of 20 tenths beside a list of what it should have charged."""

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.charged = []

    @initialize(replace=st.booleans(), quota=st.integers(5, 20))
    def start(self, replace, quota):
        """Open a ledger under either neighbor relation, with a quota for one analyst."""
        self.replace, self.quota = replace, quota
        self.path = write_custodian(
            Path(self.directory.name),
            rows=TABLE,
            domain=DOMAIN,
            budget="2.0",
            neighbours="replace-one" if replace else "add-remove",
            quotas={"anna": str(quota / 10), "ben": "2.0"},
        )
        self.custodian = Custodian.open(self.path)

    def teardown(self):
        """Let go of the files."""
        if hasattr(self, "custodian"):
            self.custodian.close()
        self.directory.cleanup()

    def loss(self, charges):
        """The true loss, by brute force over all rows."""
        gamma = max(sum(cost for statement, cost, _ in charges if row in covered(statement)) for row in ROWS)
        if not self.replace:
            return gamma
        return min(2 * gamma, sum(cost * (2 if statement[1] else 1) for statement, cost, _ in charges))

    def fits(self, charges, analyst):
        """Whether an exact solver would admit these charges."""
        own = [charge for charge in charges if charge[2] == analyst]
        return self.loss(charges) <= 20 and (analyst != "anna" or self.loss(own) <= self.quota)

    def paid(self, statement, cost, charges):
        """Whether it is free: nothing to count, or bought at least as accurately."""
        return not covered(statement) or any(
            identity(other) == identity(statement) and bought >= cost for other, bought, _ in charges
        )

    @rule(statement=statements, cost=costs, analyst=st.sampled_from(["anna", "ben"]))
    def ask(self, statement, cost, analyst):
        """Asking is free, charged or refused exactly as the model says."""
        free = self.paid(statement, cost, self.charged)
        charges = [*self.charged, (statement, cost, analyst)]
        admissible = free or self.fits(charges, analyst)
        quote = self.custodian.quote(sql_of(statement), epsilon=cost / 10, analyst=analyst)
        assert quote.fits == admissible
        try:
            answer = self.custodian.ask(sql_of(statement), epsilon=cost / 10, analyst=analyst)
        except RefusedError:
            assert not admissible
            return
        assert admissible
        assert answer.cost == (0 if free else cost / 10)
        if not free:
            expected = Fraction(self.loss(charges) - self.loss(self.charged), 10) if self.charged else None
            if expected is not None:
                assert abs(Fraction(quote.adds) - expected) < Fraction(1, 10**9)
            self.charged = charges

    @rule(
        batch=st.lists(st.tuples(statements, costs), min_size=1, max_size=3), analyst=st.sampled_from(["anna", "ben"])
    )
    def ask_batch(self, batch, analyst):
        """A batch is charged as a whole or not at all."""
        charges = list(self.charged)
        for statement, cost in sorted(batch, key=lambda one: -one[1]):
            if not self.paid(statement, cost, charges):
                charges.append((statement, cost, analyst))
        admissible = charges == self.charged or self.fits(charges, analyst)
        sqls, amounts = [sql_of(one) for one, _ in batch], [cost / 10 for _, cost in batch]
        assert self.custodian.quote_batch(sqls, epsilon=amounts, analyst=analyst).fits == admissible
        try:
            self.custodian.ask_batch(sqls, epsilon=amounts, analyst=analyst)
        except RefusedError:
            assert not admissible
            return
        assert admissible
        self.charged = charges

    @rule()
    def restart(self):
        """Close everything and open it again from the files."""
        self.custodian.close()
        self.custodian = Custodian.open(self.path)

    @invariant()
    def balances_are_equal(self):
        """The recorded loss is the true one, and never above the budget."""
        if hasattr(self, "custodian"):
            balance = self.custodian.balance()
            true_loss = self.loss(self.charged) if self.charged else 0
            assert true_loss <= 20
            assert balance.charges == len(self.charged)
            assert abs(Fraction(balance.loss) - Fraction(true_loss, 10)) < Fraction(1, 10**9)


TestCustodianMachine = CustodianMachine.TestCase
TestCustodianMachine.settings = settings(
    max_examples=30, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)

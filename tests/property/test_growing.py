"""Random histories of a growing table, step by step against brute force over every row of the last domain.

What a charge counted is written down here on its own: on each attribute that it tests, the values that it accepted, out
of those that were declared then.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from parcomp import Binned, Categorical, Domain, Integer
from parcomp.custodian import Custodian, Settings, append_load
from parcomp.custodian.request import read_request
from parcomp.errors import LedgerError, RefusedError
from parcomp.ledger import audit_charges, create_ledger
from parcomp.ledger.ledger import Ledger
from parcomp.model import Condition, Statement
from parcomp.privacy import Neighbours
from parcomp.privacy.measures import PURE

BUDGET = 20
OUTSIDE = object()
"""A value that is never declared."""

NAMES = ("sex", "age", "pay")


@dataclass(frozen=True)
class Sizes:
    """How many values each attribute has, and whether it has null."""

    counts: tuple[int, int, int]
    nullable: tuple[bool, bool, bool]

    def values(self, name: str) -> list[Any]:
        index = NAMES.index(name)
        known: list[Any] = [f"v{n}" if name == "sex" else n for n in range(self.counts[index])]
        return known + [None] * self.nullable[index]

    def domain(self) -> Domain:
        sex, age, pay = self.counts
        return Domain(
            {
                "sex": Categorical([f"v{number}" for number in range(sex)], self.nullable[0]),
                "age": Integer(0, age - 1, self.nullable[1]),
                "pay": Binned(0, pay, pay, self.nullable[2]),
            },
            name="people",
        )

    def rows(self) -> list[tuple[Any, ...]]:
        """Every row of the domain, and those with undeclared values."""
        return list(product(*([*self.values(name), OUTSIDE] for name in NAMES)))


@dataclass(frozen=True)
class Question:
    """Alternatives of accepted values by attribute, what is summed, and what is grouped by."""

    alternatives: tuple[dict[str, frozenset[Any]], ...]
    summed: bool
    groups: tuple[str, ...]
    sizes: Sizes

    def statement(self, domain: Domain, negated: bool) -> Statement:
        wheres = [
            {
                name: {"not": [v for v in self.sizes.values(name) if v not in accepted]} if negated else list(accepted)
                for name, accepted in alternative.items()
            }
            for alternative in self.alternatives
        ]
        condition = Condition(domain, tuple(domain.query(where) for where in wheres))
        groups = tuple(NAMES.index(name) for name in self.groups)
        return Statement.one("sum" if self.summed else "count", condition, "age" if self.summed else None, groups)

    @cached_property
    def boxes(self) -> list[dict[str, frozenset[Any]]]:
        """What each alternative accepts on the attributes that it tests; those that accept nothing are left out."""
        boxes = []
        for alternative in self.alternatives:
            box = dict(alternative)
            tests = [(name, frozenset(self.sizes.values(name))) for name in self.groups]
            tests += [("age", frozenset(self.sizes.values("age")) - {None})] * self.summed
            for name, accepted in tests:
                box[name] = box.get(name, accepted) & accepted
            if all(box.values()):
                boxes.append(box)
        return boxes

    def counts(self, row: tuple[Any, ...]) -> bool:
        """Whether the row is in some number."""
        return any(all(row[NAMES.index(name)] in box[name] for name in box) for box in self.boxes)

    def charged(self, row: tuple[Any, ...]) -> bool:
        """Whether the row agrees, attribute by attribute, with rows that are counted."""
        return bool(self.boxes) and all(
            any(name not in box or row[NAMES.index(name)] in box[name] for box in self.boxes) for name in NAMES
        )


@st.composite
def questions(draw: st.DrawFn, sizes: Sizes) -> Question:
    def values(name: str) -> st.SearchStrategy[frozenset[Any]]:
        known = sizes.values(name)
        every = frozenset(known)
        # All but one are written as a negation, whose meaning depends on what is declared.
        but_one = st.sampled_from(known).map(lambda value: every - {value})
        return st.one_of(st.just(every), but_one, st.frozensets(st.sampled_from(known)))

    boxes = st.fixed_dictionaries({}, optional={name: values(name) for name in NAMES})
    alternatives = tuple(draw(st.lists(boxes, min_size=1, max_size=2)))
    groups = draw(st.lists(st.sampled_from(NAMES), max_size=1))
    return Question(alternatives, draw(st.booleans()), tuple(groups), sizes)


class GrowingMachine(RuleBasedStateMachine):
    """A custodian whose table is loaded again and again, beside a list of what was counted and what it cost."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.charges: list[tuple[Question, int, str]] = []
        self.since: list[tuple[str, int]] = []
        """The statements and costs that were charged since the last load."""
        self.loads = 0

    @initialize(
        counts=st.tuples(*[st.integers(1, 4)] * 3), nullable=st.tuples(*[st.booleans()] * 3), replacing=st.booleans()
    )
    def start(self, counts: Any, nullable: Any, replacing: bool) -> None:
        self.sizes = Sizes(counts, nullable)
        self.replacing = replacing
        self.settings = Settings(
            name="people",
            version="1",
            source="people.csv",
            domain=self.sizes.domain(),
            measure=PURE,
            budget_units=BUDGET,
            ledger=f"sqlite:///{self.directory.name}/ledger.db",
            neighbours=Neighbours.REPLACE_ONE if replacing else Neighbours.ADD_REMOVE,
            quotas={"anna": BUDGET // 2, "ben": None},
            mark=f"{self.directory.name}/mark",
        )
        create_ledger(self.settings.ledger, self.settings.binding).close()
        self.custodian = Custodian(self.settings)

    def teardown(self) -> None:
        if hasattr(self, "custodian"):
            self.custodian.close()
        self.directory.cleanup()

    def loss(self, charges: list[tuple[Question, int, str]], *, exact: bool) -> int:
        """The loss by brute force: by the rows that charges are for, or by those that they counted."""
        covers = Question.charged if exact else Question.counts
        spent = [(q, units) for q, units, _ in charges if q.boxes]
        gamma = max(sum(units for q, units in spent if covers(q, row)) for row in self.sizes.rows())
        if not self.replacing:
            return gamma
        return min(2 * gamma, sum(units * (2 if q.groups else 1) for q, units in spent))

    def fits(self, charges: list[tuple[Question, int, str]], analyst: str) -> bool:
        own = [charge for charge in charges if charge[2] == analyst]
        limit = BUDGET // 2 if analyst == "anna" else BUDGET
        return self.loss(charges, exact=True) <= BUDGET and self.loss(own, exact=True) <= limit

    @rule(data=st.data(), units=st.integers(1, 8), analyst=st.sampled_from(["anna", "ben"]), negated=st.booleans())
    def charge(self, data: Any, units: int, analyst: str, negated: bool) -> None:
        """A statement is charged, free or refused as brute force over the domain there is says."""
        question = data.draw(questions(self.sizes))
        statement = question.statement(self.settings.domain, negated)
        asked = read_request(self.settings, analyst, [statement], epsilon=f"{units}e-9")
        charges = [*self.charges, (question, units, analyst)]
        bought = any(text == statement.text and cost >= units for text, cost in self.since)
        free = bought or not question.boxes
        try:
            with self.custodian._opened_books():
                [(paid, fresh)] = self.custodian._charge(asked, None)
        except RefusedError:
            assert not free
            assert not self.fits(charges, analyst)
            return
        assert fresh != free
        assert (paid is None) == (not question.boxes)
        if not free:
            assert self.fits(charges, analyst)
            self.charges = charges
            self.since.append((statement.text, units))

    @rule(grown=st.tuples(*[st.integers(0, 2)] * 3))
    def load(self, grown: tuple[int, int, int]) -> None:
        """Rows come, and perhaps values; the custodian that is open must not go on."""
        counts = tuple(min(a + b, 5) for a, b in zip(self.sizes.counts, grown, strict=True))
        self.sizes = Sizes(counts, self.sizes.nullable)  # type: ignore[arg-type]
        settings = replace(self.settings, domain=self.sizes.domain())
        entry = append_load(settings, f"rows {self.loads}", self.custodian._ledger.known_rows())
        self.loads += 1
        assert (entry.units, entry.number) == (0, len(self.charges) + self.loads)
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"loaded anew since .* Open it again"):
                self.custodian.balance()
        self.settings, self.since = settings, []
        self.restart()
        rows = [row for row in self.sizes.rows() if OUTSIDE not in row]
        # The last rows have later values, those in between some of them.
        for row in {rows[0], *rows[-1 :: -(len(rows) // 12 + 1)]}:
            self.check_spent_on(row)

    @rule()
    def restart(self) -> None:
        """Open everything again from the files."""
        self.custodian.close()
        self.custodian = Custodian(self.settings)

    @precondition(lambda self: self.loads)
    @rule()
    def taken_back(self) -> None:
        """The books are the same after a load that failed to be committed."""
        books = self.custodian._books
        before = (books.number, books.domain, books.dataset.loss, books.dataset.sequential)
        entries = self.custodian.charges()
        first = next(one.number for one in entries if one.is_load)
        books.take_back(first - 1)
        assert not books._domains[1:]
        books.enter(entries[first - 1 :])
        assert (books.number, books.domain, books.dataset.loss, books.dataset.sequential) == before

    @invariant()
    def nothing_is_understated(self) -> None:
        """The loss is that of the rows that were charged for, and no row was in more."""
        if not hasattr(self, "custodian"):
            return
        true, exact = self.loss(self.charges, exact=False), self.loss(self.charges, exact=True)
        assert true <= exact <= BUDGET
        balance = self.custodian.balance()
        assert self.custodian._books.dataset.loss == exact
        assert balance.charges == len(self.charges)

    @rule(data=st.data())
    def spent_on_rows(self, data: Any) -> None:
        """What is spent on any one row is what was charged for it, on rows with later values too."""
        rows = st.sampled_from([row for row in self.sizes.rows() if OUTSIDE not in row])
        for row in data.draw(st.lists(rows, min_size=1, max_size=5)):
            self.check_spent_on(row)

    def check_spent_on(self, row: tuple[Any, ...]) -> None:
        point = self.settings.domain.query({name: [value] for name, value in zip(NAMES, row, strict=True)})
        spent = sum(units for question, units, _ in self.charges if question.charged(row))
        assert self.custodian._books.dataset._live.quote(point, 1).spent == spent

    @rule()
    def audited(self) -> None:
        """An audit from the chain alone comes to the same loss."""
        ledger = self.custodian._ledger
        assert isinstance(ledger, Ledger)
        found = audit_charges(ledger.charges(), ledger.binding, self.settings.domain)
        assert found.ok, found.problems
        assert found.lower == found.loss == self.loss(self.charges, exact=True)
        assert (found.charges, found.loads) == (len(self.charges), self.loads)


TestGrowingMachine = GrowingMachine.TestCase
TestGrowingMachine.settings = settings(
    max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
class TestManyLongHistories(GrowingMachine.TestCase):
    """The same machine, twenty times as often and twice as long."""

    settings = settings(
        max_examples=400, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )

"""An audit accepts what a custodian does, finds what was tampered with, and never understates the loss."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp import Categorical, Domain, Integer, Workload
from parcomp.ledger import Binding
from parcomp.ledger.audit import _Accountant, _Reader, audit_charges
from parcomp.ledger.charge import Charge, Entry, chain
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.predicate import Predicate
from parcomp.model.statement import Grouping, Item, Statement
from parcomp.overlap import WorkloadOverlap
from parcomp.overlap.live.live_overlap import LiveOverlap
from parcomp.privacy.measures import GDP, MEASURES, PURE, ZCDP, Measure
from parcomp.sql import parse_selection

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 3), "area": Categorical(["N", "S", "W"], True)})
ROWS = [dict(zip(DOMAIN.names, values, strict=True)) for values in product("FM", range(4), ["N", "S", "W", None])]


def chained(binding: Binding, entries: Sequence[Entry]) -> list[Charge]:
    charges: list[Charge] = []
    for number, entry in enumerate(entries, 1):
        charges.append(chain(charges[-1].digest if charges else binding.digest, number, entry))
    return charges


def entry_of(statement: Statement, units: int, upper: int) -> Entry:
    where = json.dumps(statement.query.where(), ensure_ascii=False)
    return Entry("2026-01-31T12:00:00Z", "anna", statement.text, where, units, upper)


def bound(measure: Measure = PURE, budget: int = 1000, **more: Any) -> Binding:
    return Binding.of("people", "1", DOMAIN, measure, budget, **more)


def statement(groups: tuple[int, ...] = (), **where: Any) -> Statement:
    return Statement.one("count", Condition.of(DOMAIN.query(where)), groups=groups)


values = {"sex": ["F", "M"], "age": [0, 1, 2, 3], "area": ["N", "S", "W", None]}
wheres = st.fixed_dictionaries(
    {}, optional={name: st.lists(st.sampled_from(known), unique=True) for name, known in values.items()}
)
YOUNG_OR_OLD = Bands(("young", 65), tuple(Predicate.from_codes(4, codes) for codes in ([0, 1], [3])))
SOMEWHERE = Bands((True, None), tuple(Predicate.from_codes(4, codes) for codes in ([0, 2], [3])))
statements = st.builds(
    lambda alternatives, items, groups: Statement(
        Condition(DOMAIN, tuple(DOMAIN.query(where) for where in alternatives)), tuple(items), tuple(groups)
    ),
    st.lists(wheres, min_size=1, max_size=2),
    st.lists(
        st.sampled_from([Item("count"), Item("sum", "age"), Item("distinct", "area"), Item("count", "area")]),
        min_size=1,
        max_size=3,
    ),
    st.lists(
        st.sampled_from([Grouping(0), Grouping(1), Grouping(2), Grouping(1, YOUNG_OR_OLD), Grouping(2, SOMEWHERE)]),
        max_size=2,
    ),
)
expenses = st.lists(st.tuples(statements, st.integers(1, 50)), max_size=7)


def spent_by(expense: tuple[Statement, int], before: dict[str, Any] | None, after: dict[str, Any] | None) -> int:
    """What an answer discloses, in units of ε or ρ, of one row that takes the place of another (None: of none)."""
    asked, units = expense
    groups = [None if row is None else group_of(asked, row) for row in (before, after)]
    if groups[0] == groups[1]:
        # The number of rows stays, and other numbers may not; noise is made for both.
        return 0 if groups[0] is None or asked.items == (Item("count"),) else units
    return units * sum(group is not None for group in groups)


def group_of(asked: Statement, row: dict[str, Any]) -> tuple[Any, ...] | None:
    """The labels of a row that is in some number."""
    if not any(asked.rows_of(one).covers(row) for one in asked.aggregates):
        return None
    labels: list[Any] = []
    for grouping in asked.groups:
        name = DOMAIN.names[grouping.index]
        code = DOMAIN.attributes[name].code(row[name])
        if grouping.bands is None:
            labels.append(row[name])
        elif not any(code in member for member in grouping.bands.members):
            return None
        else:
            labels += [i for i, member in enumerate(grouping.bands.members) if code in member]
    return tuple(labels)


@settings(max_examples=80, deadline=None)
@given(
    expenses,
    st.sampled_from(list(MEASURES.values())),
    st.sampled_from(["add-remove", "replace-one"]),
    st.integers(1, 3),
)
def test_the_loss_is_never_below_what_any_row_discloses(
    spent: list[tuple[Statement, int]], measure: Measure, neighbours: str, rows: int
) -> None:
    binding = bound(measure, 10**9, neighbours=neighbours, rows_per_person=rows)
    total = sum(units for _, units in spent)
    found = audit_charges(chained(binding, [entry_of(asked, units, total) for asked, units in spent]), binding, DOMAIN)
    changes = [(row, None) for row in ROWS] if neighbours == "add-remove" else list(product(ROWS, ROWS))
    disclosed = max(sum(spent_by(expense, before, after) for expense in spent) for before, after in changes)
    factor = rows**measure.group_power
    assert found.ok, found.problems
    assert found.loss >= disclosed * factor
    replaced = sum(2 * units if asked.groups and not asked.query.is_contradiction else units for asked, units in spent)
    assert found.sequential == (total if neighbours == "add-remove" else replaced) * factor
    assert found.sequential >= found.loss
    assert found.checked
    if neighbours == "add-remove" and all(len(asked.where.alternatives) < 2 for asked, _ in spent):
        # Each statement is charged by its own rows, so the bound is met.
        assert found.lower == found.loss == disclosed * factor


@settings(max_examples=40, deadline=None)
@given(expenses)
def test_what_the_online_state_admits_passes_an_audit(spent: list[tuple[Statement, int]]) -> None:
    binding = bound(budget=60)
    live = LiveOverlap(DOMAIN, 60)
    entries = []
    for asked, units in spent:
        if live.add(asked.query, units):
            entries.append(entry_of(asked, units, live.upper))
    found = audit_charges(chained(binding, entries), binding, DOMAIN)
    assert found.ok, found.problems
    assert found.loss <= 60


@pytest.mark.parametrize("compiled", [True, False])
def test_a_ledger_on_a_domain_of_20_000_digits(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """As masks or without them the loss is exact, and no more than on the three attributes that all ask about."""
    if not compiled:
        monkeypatch.setattr("parcomp.overlap.units.compilable", lambda _: False)
    randomness = random.Random(3)
    domain = Domain({f"a{number}": Integer(0, 9) for number in range(20_000)})
    assert domain.size == 10**20_000
    # All ask about the first three attributes, so that many are disjoint, and about fifty others.
    queries = [
        domain.query(
            {
                f"a{number}": randomness.sample(range(10), 4)
                for number in (*range(3), *randomness.sample(range(3, 20_000), 50))
            }
        )
        for _ in range(30)
    ]
    best = max(sum(query.covers(row) for query in small) for small, row in first_attributes_only(queries))
    binding = Binding.of("d", "1", domain, PURE, 1000)
    entries = [entry_of(Statement.one("count", Condition.of(query)), 1, 30) for query in queries]
    found = audit_charges(chained(binding, entries), binding, domain, time_limit=30.0)
    assert found.ok, found.problems
    assert found.lower == found.loss <= best


def first_attributes_only(queries):
    """What the queries ask of the first three attributes alone, with each row of these: more overlaps there."""
    domain = Domain({f"a{number}": Integer(0, 9) for number in range(3)})
    small = [
        domain.query({name: written for name, written in query.where().items() if name in domain.names})
        for query in queries
    ]
    return [(small, dict(zip(domain.names, row, strict=True))) for row in product(range(10), repeat=3)]


def test_a_budget_that_stays_in_doubt_is_a_problem_until_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scattered subsets of many values, where the first bound is not the loss."""
    monkeypatch.setattr("parcomp.ledger.audit._FIRST_WORK", 1)
    monkeypatch.setattr("parcomp.ledger.audit._PROVEN_CHARGES", 0)
    randomness = random.Random(5)
    domain = Domain({f"a{number}": Integer(0, 9) for number in range(12)})
    queries = [
        domain.query({name: randomness.sample(range(10), 6) for name in randomness.sample(domain.names, 5)})
        for _ in range(120)
    ]
    spent = [(Statement.one("count", Condition.of(query)), 1) for query in queries]
    loose = Binding.of("d", "1", domain, PURE, 1000)
    entries = [entry_of(asked, units, 120) for asked, units in spent]
    quick = audit_charges(chained(loose, entries), loose, domain, time_limit=0.0)
    # By work and not by time, some of which compiling may take.
    workload = Workload(domain, queries)
    gamma = WorkloadOverlap(workload).within_work(np.ones(len(queries), np.int64), 1 << 36).upper
    assert quick.ok
    assert quick.lower <= gamma < quick.loss
    tight = replace(loose, budget_units=gamma)
    hasty = audit_charges(chained(tight, entries), tight, domain, time_limit=0.0)
    assert len(hasty.problems) == 1
    assert "not shown to be within the budget" in hasty.problems[0]
    assert "allow more time" in hasty.problems[0]
    patient = audit_charges(chained(tight, entries), tight, domain, time_limit=120.0)
    assert patient.ok
    assert patient.loss == gamma


@settings(max_examples=40, deadline=None)
@given(expenses)
def test_admitting_again_bounds_the_maximum_overlap(spent: list[tuple[Statement, int]]) -> None:
    binding = bound(budget=60)
    charges = chained(binding, [entry_of(asked, units, 350) for asked, units in spent])
    read = [_Reader(DOMAIN, binding, lambda _: None).expense(charge) for charge in charges]
    gamma = max(sum(units for asked, units in spent if asked.query.covers(row)) for row in ROWS)
    again = _Accountant(read, binding, DOMAIN)._admitted_again(10**6, time.monotonic() + 60)
    assert again == (gamma if gamma <= 60 else 10**6)


def test_an_empty_ledger_has_spent_nothing() -> None:
    found = audit_charges([], bound(), DOMAIN)
    assert (found.ok, found.charges, found.loss, found.sequential) == (True, 0, 0, 0)
    assert found.head == bound().digest


WOMEN, MEN, OLD = statement(sex="F"), statement(sex="M"), statement(age=3)


@pytest.mark.parametrize(
    ("binding", "loss"),
    [
        (bound(budget=9), 9),
        (bound(ZCDP, budget=36, rows_per_person=2), 36),
        (bound(GDP, budget=36, rows_per_person=2), 36),
        (bound(budget=18, rows_per_person=2), 18),
        (bound(budget=13, neighbours="replace-one"), 13),
    ],
)
def test_a_budget_may_be_used_up_but_not_exceeded(binding: Binding, loss: int) -> None:
    """Women 5, men 4, the old 4: at most 9 on one row, 13 altogether."""
    entries = [entry_of(WOMEN, 5, 5), entry_of(MEN, 4, 5), entry_of(OLD, 4, 9)]
    found = audit_charges(chained(binding, entries), binding, DOMAIN)
    assert (found.ok, found.loss, found.lower, found.checked) == (True, loss, loss, True)
    smaller = replace(binding, budget_units=binding.budget_units - 1)
    found = audit_charges(chained(smaller, entries), smaller, DOMAIN)
    measure = MEASURES[binding.measure]
    lost, budget = (f"{measure.parameter} {measure.parameter_down(units)}" for units in (loss, loss - 1))
    assert found.problems == (f"the loss: is {lost} or more, the budget {budget}",)
    assert not found.checked


def test_replacing_a_row_counts_groups_twice() -> None:
    binding = bound(budget=10, neighbours="replace-one")
    entries = [entry_of(statement(groups=(0,)), 5, 5)]
    assert audit_charges(chained(binding, entries), binding, DOMAIN).loss == 10
    assert audit_charges(chained(binding, [entry_of(statement(), 5, 5)]), binding, DOMAIN).loss == 5
    # Also where the same rows were counted before as a whole.
    binding = bound(budget=20, neighbours="replace-one")
    entries = [entry_of(WOMEN, 5, 5), entry_of(statement(groups=(1,), sex="F"), 5, 10)]
    assert audit_charges(chained(binding, entries), binding, DOMAIN).loss == 15


def test_a_charge_that_covers_no_row_adds_nothing() -> None:
    binding = bound(budget=5, neighbours="replace-one")
    entries = [entry_of(WOMEN, 5, 5), entry_of(statement(age=[]), 4, 5)]
    found = audit_charges(chained(binding, entries), binding, DOMAIN)
    assert (found.ok, found.loss, found.sequential) == (True, 5, 9)


def test_a_value_is_read_on_its_own_attribute() -> None:
    """1 is the second value of one attribute, and the first of another one of the same size."""
    domain = Domain({"first": Integer(0, 1), "second": Integer(1, 2)})
    binding = Binding.of("d", "1", domain, PURE, 9)
    spent = [({"first": 1}, 5, 5), ({"second": 1}, 4, 9), ({"second": 2}, 3, 9)]
    entries = [entry_of(Statement.one("count", Condition.of(domain.query(where))), *costs) for where, *costs in spent]
    found = audit_charges(chained(binding, entries), binding, domain)
    assert (found.ok, found.loss) == (True, 9)


def test_there_is_doubt_only_while_the_budget_lies_between_the_bounds() -> None:
    accountant = _Accountant([], bound(budget=10), DOMAIN)
    doubtful = {
        (lower, upper) for lower in range(8, 13) for upper in range(lower, 14) if accountant._in_doubt(lower, upper)
    }
    assert doubtful == {(lower, upper) for lower in (8, 9, 10) for upper in (11, 12, 13)}


BINDING = bound(budget=100)
ENTRIES = [entry_of(WOMEN, 5, 5), entry_of(MEN, 4, 5), entry_of(OLD, 4, 9), entry_of(statement(), 1, 10)]
CHARGES = chained(BINDING, ENTRIES)


def problems(charges: Sequence[Charge], binding: Binding = BINDING, **more: Any) -> str:
    return "\n".join(audit_charges(charges, binding, DOMAIN, **more).problems)


def test_the_charges_that_are_tampered_with_below_are_sound_themselves() -> None:
    found = audit_charges(CHARGES, BINDING, DOMAIN, noted_head=CHARGES[1].digest)
    assert found.ok
    assert (found.charges, found.head, found.loss, found.sequential) == (4, CHARGES[-1].digest, 10, 14)


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (2, {"units": 1}),
        (1, {"where": '{"sex": "M"}'}),
        (3, {"analyst": "berta"}),
        (4, {"upper": 99}),
        (2, {"batch": "b"}),
    ],
)
def test_a_charge_that_was_changed_is_named(number: int, changes: dict[str, Any]) -> None:
    changed = [replace(one, **changes) if one.number == number else one for one in CHARGES]
    assert f"charge {number}: its digest is not that of what it says" in problems(changed)


def test_labels_that_are_no_whole_numbers_are_read_as_they_were_written() -> None:
    """Numbers of a statement are read as exact decimals, and bands have floats."""
    selection = parse_selection(DOMAIN, "SELECT age / 2, COUNT(*) FROM people GROUP BY 1", ["people"])
    entries = [entry_of(selection.statement, 3, 3), entry_of(selection.statement, 4, 7)]
    found = audit_charges(chained(BINDING, entries), BINDING, DOMAIN)
    assert found.ok, found.problems
    assert (found.loss, found.sequential) == (7, 7)


@pytest.mark.parametrize("statement", ['{"kind":"count"}', '{"kind":"no such kind","where":[{}]}'])
def test_a_charge_that_is_not_understood_counts_for_every_row(statement: str) -> None:
    """What it spent must not be missing from the loss."""
    entries = [entry_of(WOMEN, 3, 3), replace(entry_of(MEN, 4, 4), statement=statement), entry_of(OLD, 2, 9)]
    found = audit_charges(chained(BINDING, entries), BINDING, DOMAIN)
    assert "charge 2: " in "\n".join(found.problems)
    assert (found.loss, found.sequential) == (9, 9)


def test_dropped_swapped_and_inserted_charges_are_named() -> None:
    one, two, three, four = CHARGES
    assert "charge 3: stands where charge 2 is due" in problems([one, three, four])
    assert "charge 3: stands where charge 2 is due" in problems([one, three, two, four])
    false = chain(two.digest, 3, ENTRIES[0])
    assert "charge 3: stands where charge 4 is due" in problems([one, two, false, three, four])


def test_charges_that_were_cut_off_are_found_by_a_noted_head_only() -> None:
    assert problems(CHARGES[:2]) == ""
    assert problems(CHARGES, noted_head=BINDING.digest) == ""
    assert "noted head" in problems(CHARGES[:2], noted_head=CHARGES[-1].digest)
    written_anew = chained(BINDING, [*ENTRIES[:2], ENTRIES[3]])
    assert problems(written_anew) == ""
    assert "noted head" in problems(written_anew, noted_head=CHARGES[2].digest)


def test_another_binding_or_domain_is_found() -> None:
    assert "charge 1: does not follow" in problems(CHARGES, replace(BINDING, budget_units=1000))
    other = Domain({**DOMAIN.attributes, "age": Integer(0, 4)})
    assert "the binding: is for another domain" in audit_charges(CHARGES, BINDING, other).problems


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"where": '{"height": 3}'}, "unknown attribute 'height'"),
        ({"where": '{"age": "old"}'}, "not an integer"),
        ({"where": '{"age": 1, "age": 2}'}, "duplicate key"),
        ({"where": '{"age": [1]}'}, "does not cover all rows that the statement asks about"),
        ({"where": '{"sex": "F"}'}, "does not cover all rows that the statement asks about"),
        ({"where": '{"age": 3, "sex": "F"}'}, "does not cover all rows that the statement asks about"),
        ({"statement": '{"kind":"count"}'}, 'has no "where"'),
        ({"statement": '{"where":[3]}'}, 'has no "where"'),
        ({"upper": 3}, "bounds the maximum overlap by 3 units, it is 4"),
    ],
)
def test_a_charge_that_makes_no_sense_is_named_though_its_digest_is_right(
    changes: dict[str, Any], message: str
) -> None:
    found = problems(chained(BINDING, [replace(entry_of(OLD, 4, 4), **changes)]))
    assert "charge 1: " in found
    assert message in found


@pytest.mark.parametrize("where", ['{"age": 3}', '{"age": 3, "sex": "M"}', '{"sex": "F"}'])
def test_a_charge_covers_every_alternative_of_its_statement(where: str) -> None:
    either = Condition(DOMAIN, (DOMAIN.query(sex="M", age=[2, 3]), DOMAIN.query(sex="F", age=3)))
    assert len(either.alternatives) == 2
    sound = entry_of(Statement.one("count", either), 4, 4)
    assert problems(chained(BINDING, [sound])) == ""
    assert "charge 1: where: does not cover all rows" in problems(chained(BINDING, [replace(sound, where=where)]))


def test_a_charge_that_tests_an_attribute_covers_only_what_tests_it() -> None:
    """Rows with an undeclared value satisfy no predicate on the attribute, not even one that lists every value."""
    every = {"sex": ["F", "M"]}
    for sound in (statement(), statement(age=3), statement(groups=(1,))):
        found = problems(chained(BINDING, [replace(entry_of(sound, 4, 4), where=json.dumps(every))]))
        assert "charge 1: where: does not cover all rows" in found
    for sound in (statement(sex=["F", "M"]), statement(sex="M", age=3), statement(groups=(0, 1)), statement(age=[])):
        assert problems(chained(BINDING, [replace(entry_of(sound, 4, 4), where=json.dumps(every))])) == ""
    # Grouping tests an attribute for being declared, not for more.
    grouped = replace(entry_of(statement(groups=(0,)), 4, 4), where='{"sex":"F"}')
    assert "charge 1: where: does not cover all rows" in problems(chained(BINDING, [grouped]))


BANDS = '{"attribute":"age","bands":[["young",[0,1]],["old",3]]}'


def test_a_charge_of_bands_covers_the_values_that_bear_a_label() -> None:
    """No more need be charged: a value without a label has no group."""
    said = f'{{"groups":[{BANDS}],"kind":"count","where":[{{"age":[0,1,2,3]}}]}}'
    asked = Statement(Condition.of(DOMAIN.query(age={"not": []})), groups=(Grouping(1, YOUNG_OR_OLD),))
    sound = replace(entry_of(asked, 4, 4), statement=said)
    assert sound.where == '{"age": {"not": 2}}'
    assert problems(chained(BINDING, [sound])) == ""
    for short in ('{"age":[0,1]}', '{"age":[0,3]}', '{"age":[1,2,3]}', '{"age":[0,1,3],"sex":["F","M"]}'):
        assert "does not cover all rows" in problems(chained(BINDING, [replace(sound, where=short)])), short


def test_a_charge_of_several_items_covers_the_rows_of_each() -> None:
    said = '{"items":[{"attribute":"area","kind":"distinct"},{"attribute":"age","kind":"sum"}],"where":[{}]}'
    sound = replace(entry_of(statement(), 4, 4), statement=said)
    assert problems(chained(BINDING, [sound])) == ""
    for short in ('{"area":["N","S","W"]}', '{"age":[0,1,2,3],"area":["N","S","W"]}', '{"age":[0,1]}'):
        assert "does not cover all rows" in problems(chained(BINDING, [replace(sound, where=short)])), short
    alone = '{"items":[{"attribute":"area","kind":"distinct"},{"attribute":"area","kind":"count"}],"where":[{}]}'
    assert problems(chained(BINDING, [replace(sound, statement=alone, where='{"area":["N","S","W"]}')])) == ""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('"items":[]', "has items"),
        ('"items":3', "has items"),
        ('"items":[{"kind":"count"}],"kind":"count"', "has items"),
        ('"items":[3]', "an item has a kind"),
        ('"items":[{"kind":["count"]}]', "an item has a kind"),
        ('"items":[{"kind":"count","what":1}]', "an item has a kind"),
        ('"items":[{"kind":"mode","attribute":"age"}]', "an item is one of count, sum"),
        ('"items":[{"kind":"sum"}]', "taken of an attribute"),
        ('"items":[{"kind":"sum","attribute":"height"}]', "unknown attribute"),
        ('"items":[{"kind":"sum","attribute":["age"]}]', "told by name"),
        ('"kind":"variance","attribute":"age","of":"people"', "of rows or of a sample"),
        ('"kind":"quantile","attribute":"age","at":"1/0"', "a fraction such as 1/2"),
        ('"kind":"quantile","attribute":"age","at":"1e999999999"', "a fraction such as 1/2"),
        ('"kind":"quantile","attribute":"age","at":0.5', "a fraction such as 1/2"),
        ('"kind":"quantile","attribute":"age","at":"3/2"', "from 0 to 1"),
        ('"kind":"quantile","attribute":"age"', "has a place"),
        ('"kind":"count","extra":1', "unknown key"),
        ('"kind":"count","groups":[{"attribute":"age"}]', "a group is an attribute"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[],"more":1}]', "a group is an attribute"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[["a"]]}]', "pairs of a label"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[["a",[0,1]],["b",[1,2]]]}]', "in two bands"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[["a",0],["a",1]]}]', "the same label"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[[["a"],0]]}]', "a label is a text"),
        ('"kind":"count","groups":[{"attribute":"age","bands":[["a","x"]]}]', "not an integer"),
        ('"kind":"count","groups":[{"attribute":"area","bands":[["a",{"unless":0}]]}]', "unknown key"),
        ('"kind":"count","groups":[{"attribute":"height","bands":[["a",0]]}]', "unknown attribute"),
    ],
)
def test_items_and_bands_that_make_no_sense_are_named(said: str, why: str) -> None:
    forged = replace(entry_of(statement(), 4, 4), statement=f'{{{said},"where":[{{}}]}}')
    found = problems(chained(BINDING, [forged]))
    assert "charge 1: " in found
    assert why in found


@pytest.mark.parametrize("groups", ['"sex"', "[3]", '{"sex":1}', '["height"]'])
def test_groups_that_are_no_attributes_are_named(groups: str) -> None:
    said = f'{{"groups":{groups},"kind":"count","where":[{{}}]}}'
    assert "charge 1: " in problems(chained(BINDING, [replace(entry_of(statement(), 4, 4), statement=said)]))


def test_a_bound_that_shrinks_is_named() -> None:
    entries = [entry_of(WOMEN, 5, 5), entry_of(MEN, 4, 4), entry_of(OLD, 4, 9)]
    assert problems(chained(BINDING, entries)) == "charge 2: bounds the maximum overlap by 4 units, it is 5"


def test_a_bound_that_is_too_low_for_all_charges_together_is_named() -> None:
    entries = [entry_of(WOMEN, 5, 5), entry_of(OLD, 4, 5)]
    assert problems(chained(BINDING, entries)) == (
        "charge 2: says that the maximum overlap is at most 5 units, it is 9 or more"
    )


@pytest.mark.parametrize("damage", [{"units": 0}, {"units": "lots"}, {"units": 2.5}, {"time": ""}, {"where": None}])
def test_damage_is_told_and_not_raised(damage: dict[str, Any]) -> None:
    found = problems([CHARGES[0], replace(CHARGES[1], **damage), *CHARGES[2:]])
    assert "charge 2: its digest" in found
    assert found.count("charge 2: ") == 2


def test_amounts_beyond_what_floats_hold_are_exact() -> None:
    units = 2**61 + 1
    binding = bound(budget=units)
    found = audit_charges(chained(binding, [entry_of(WOMEN, units, units)]), binding, DOMAIN)
    assert found.ok
    assert found.loss == units
    found = audit_charges(chained(binding, [entry_of(WOMEN, units + 1, units + 1)]), binding, DOMAIN)
    assert not found.ok

"""Batches that are measured as a whole: what they are charged, and that they are answered for it."""

from __future__ import annotations

import json
import math
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from parcomp.costs import UNITS_PER_ONE
from parcomp.custodian import Answer, Custodian, estimating, strategic
from parcomp.custodian.release import Release
from parcomp.custodian.request import one_by_one, read_request
from parcomp.custodian.strategic import _chosen
from parcomp.custodian.strategy import Strategy, plan_strategy, read_strategy
from parcomp.errors import ArgumentError, CostError, IdempotencyError, LedgerError, RefusedError, WorkloadError
from parcomp.ledger import StrategyRecord, matrix_digest, packed
from parcomp.model import Domain
from parcomp.planning.strategies import atoms
from parcomp.privacy import discrete_gaussian_mu
from parcomp.service.bodies import fixed_width_json
from parcomp.service.console.wording import sql_of
from parcomp.sql import parse_statement
from parcomp.tabular import error_text
from tests.custodians import ROWS, audited, load_settings, open_custodian

NAMES = ["a", "b", "c"]
OUTSIDE = object()
"""A value that no attribute declares."""

BATCH = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex = 'F'",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 7",
    "SELECT COUNT(*) FROM people WHERE age >= 5 AND sex = 'M'",
]


class RandomCounts:
    """A small random domain and counts on it, as SQL and as what each counts in each group."""

    def __init__(self, draw: random.Random) -> None:
        self.sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
        self.domain = {
            "name": "people",
            "attributes": {name: {"low": 0, "high": size - 1} for name, size in zip(NAMES, self.sizes, strict=False)},
        }
        self.rows = list(product(*([*range(size), OUTSIDE] for size in self.sizes)))
        self.counts: list[list[dict[int, set[int]]]] = []
        self.sql = [self._statement(draw) for _ in range(draw.randint(1, 5))]

    def _statement(self, draw: random.Random) -> str:
        tested = {
            place: set(draw.sample(range(size), draw.choice([size, draw.randint(1, size)])))
            for place, size in enumerate(self.sizes)
            if draw.random() < 0.6
        }
        keys = [place for place in range(len(self.sizes)) if draw.random() < 0.25]
        where = " AND ".join(f"{NAMES[at]} IN ({', '.join(map(str, values))})" for at, values in tested.items())
        by = ", ".join(NAMES[at] for at in keys)
        sql = f"SELECT {by + ', ' if by else ''}COUNT(*) FROM people{f' WHERE {where}' if where else ''}"
        groups = product(*(sorted(tested.get(at, set(range(self.sizes[at])))) for at in keys))
        self.counts.append([tested | {at: {value} for at, value in zip(keys, group, strict=True)} for group in groups])
        return f"{sql}{f' GROUP BY {by}' if by else ''}"

    def satisfied(self, row, texts: list[str]) -> list[int]:
        """Which counts a row is in, of the statements with these texts, in their order."""
        domain = Domain.described(self.domain)
        counted = {parse_statement(domain, sql).text: one for sql, one in zip(self.sql, self.counts, strict=True)}
        return [
            int(all(row[at] in values for at, values in tested.items())) for text in texts for tested in counted[text]
        ]


def settings_of(directory, batch, measure, neighbours, rows):
    return load_settings(
        directory,
        rows=[],
        domain=batch.domain,
        measure=measure,
        budget="1000",
        neighbours=neighbours,
        rows_per_person=rows,
    )


def units_of(measure: str, form: int, sigma: float) -> int:
    """What a squared shift costs, written down independently of the code."""
    noise = Fraction(sigma)
    cost = Fraction(form, 2) / noise**2 if measure == "zcdp" else form * Fraction(discrete_gaussian_mu(sigma)) ** 2
    return math.ceil(cost * UNITS_PER_ONE)


def planned(settings, batch: RandomCounts, kind: str, budget: str = "0.7") -> Strategy:
    asked = read_request(settings, "", batch.sql, budget=budget, strategy=kind)
    assert asked.together is not None
    return plan_strategy(settings, asked.together.statements, kind, asked.together.row_budget)


def drawn(settings, batch: RandomCounts, draw: random.Random) -> Strategy:
    """A strategy that nobody would plan, as a charge would have it."""
    asked = read_request(settings, "", batch.sql, budget="0.7", strategy="correlated")
    statements = asked.together.statements
    columns = sum(one.group_count for one in statements)
    signed = [[10 * draw.randint(-5, 5) for _ in range(columns)] for _ in range(draw.randint(1, 2))]
    matrix = np.vstack((np.array(signed, np.int64), np.eye(columns, dtype=np.int64)))
    record = StrategyRecord(
        tuple(one.text for one in statements), "correlated", 10**9, matrix_digest(matrix), draw.uniform(3, 90)
    )
    return Strategy.restored(settings, record, packed(matrix), statements)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("measure", ["zcdp", "gdp"])
def test_a_correlated_batch_costs_what_the_dearest_row_does(tmp_path, measure, neighbours):
    """Over every row, those with undeclared values among them, in exact arithmetic."""
    compare_with_every_row(tmp_path, measure, neighbours, 40)


def compare_with_every_row(tmp_path, measure, neighbours, cases):
    draw = random.Random(f"correlated {measure} {neighbours}")
    beyond = 0
    for number in range(cases):
        batch, persons = RandomCounts(draw), draw.choice([1, 1, 2, 3])
        settings = settings_of(tmp_path / str(number), batch, measure, neighbours, persons)
        strategy = planned(settings, batch, "correlated") if number % 10 == 0 else drawn(settings, batch, draw)
        matrix, texts = strategy.plan.matrix.astype(object), list(strategy.record.statements)
        shifts = [matrix @ np.array(batch.satisfied(row, texts), object) for row in batch.rows]
        forms = [int(shift @ shift) for shift in shifts]
        declared = [form for row, form in zip(batch.rows, forms, strict=True) if OUTSIDE not in row]
        beyond += max(forms) > max(declared)
        cost = units_of(measure, max(forms), strategy.plan.sigma)
        pairs = [units_of(measure, int((x - y) @ (x - y)), strategy.plan.sigma) for x in shifts for y in shifts]
        if neighbours == "add-remove":
            assert strategy.units == cost
        else:
            assert cost <= strategy.units
            assert max(pairs) <= 2 * strategy.units
        if number % 10 == 0:
            # Replacing a row is accounted as twice the charge at most.
            most = cost if neighbours == "add-remove" else 2 * strategy.units
            assert persons**2 * most <= settings.measure.budget_down("0.7")
        # What k rows move together costs no more than k² times what was charged.
        some = [sum(draw.choices(shifts, k=persons)) for _ in range(20)]
        assert all(
            units_of(measure, int(one @ one), strategy.plan.sigma) <= persons**2 * strategy.units for one in some
        )
        covered = [strategy_covers(strategy, row) for row in batch.rows]
        assert all(inside or not form for inside, form in zip(covered, forms, strict=True))
    assert beyond, "rows with undeclared values must be the dearest ones now and then"


@pytest.mark.soak
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("measure", ["zcdp", "gdp"])
def test_correlated_batches_at_length(tmp_path, measure, neighbours):
    compare_with_every_row(tmp_path, measure, neighbours, 4_000)


def strategy_covers(strategy: Strategy, row) -> bool:
    """Whether the charge covers a row of codes."""
    return all(row[at] is not OUTSIDE and row[at] in predicate for at, predicate in strategy.hull.tested)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("measure", ["pure", "gdp"])
def test_a_row_is_in_one_atom_and_all_atoms_together_cost_what_is_charged(tmp_path, measure, neighbours):
    draw = random.Random(f"atoms {measure} {neighbours}")
    for number in range(12):
        batch, persons = RandomCounts(draw), draw.choice([1, 2])
        settings = settings_of(tmp_path / str(number), batch, measure, neighbours, persons)
        strategy = planned(settings, batch, "atoms")
        texts, dearest = list(strategy.record.statements), 0
        for row in batch.rows:
            flags, cost = np.array(batch.satisfied(row, texts), np.bool_), 0
            for histogram in strategy.plan.histograms:
                own = flags[histogram.queries]
                [atom] = histogram.locate(own[np.newaxis]).tolist()
                assert (atom >= 0) == own.any(), "a row that satisfies a query is in an atom"
                cost += histogram.units if own.any() else 0
            dearest = max(dearest, cost)
            assert strategy_covers(strategy, row) or not flags.any()
        assert dearest <= strategy.units
        factor = (2 if neighbours == "replace-one" else 1) * (persons if measure == "pure" else persons**2)
        assert factor * strategy.units <= settings.measure.budget_down("0.7")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("measure", ["pure", "gdp"])
def test_parts_that_cannot_be_listed_get_noise_of_their_own_within_one_charge(
    tmp_path, monkeypatch, measure, neighbours
):
    """Ages are counted by their classes, all else by itself; every row is paid for."""
    monkeypatch.setattr(atoms, "ATOM_LIMIT", 14)
    names = ["x", "y", "z"]
    domain = {
        "name": "people",
        "attributes": {"age": {"low": 0, "high": 9}, **{name: {"low": 0, "high": 2} for name in names}},
    }
    rows = [{"age": n % 10, "x": n % 3, "y": n % 4, "z": n % 2} for n in range(130)]
    ages = [f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in range(1, 10)]
    draw = random.Random(8)
    tested = [{name: draw.sample(range(3), draw.randint(1, 2)) for name in draw.sample(names, 2)} for _ in range(8)]
    others = [
        "SELECT COUNT(*) FROM people WHERE "
        + " AND ".join(f"{name} IN ({str(some)[1:-1]})" for name, some in one.items())
        for one in tested
    ]
    by_value = "SELECT x, COUNT(*) FROM people WHERE y = 1 GROUP BY x"
    batch = [*ages, *others, by_value, "SELECT COUNT(*) FROM people WHERE x = 0 AND y = 1"]
    with open_custodian(
        tmp_path, domain=domain, rows=rows, measure=measure, budget="1000", neighbours=neighbours
    ) as custodian:
        for kind in ["atoms", "auto"] if measure == "pure" else ["atoms"]:
            answers = custodian.ask_batch(batch, budget="4", strategy=kind, estimate=True)
            assert {one.strategy for one in answers} == {"atoms"}
            charge = custodian.charges()[-1]
            strategy = read_strategy(custodian.settings, charge, None)
            assert {len(one.atoms) for one in strategy.plan.histograms} >= {1, 9}
            exact = json.loads(strategy.release(custodian._table(), draw=lambda mechanism, counts: list(counts)))
            assert exact["answers"] == [
                sum(all(row[name] in values for name, values in where_of(query)) for row in rows)
                for query in strategy.queries
            ]
            cells = product(range(-1, 10), *(range(-1, 3) for _ in names))
            costs = [
                sum(
                    histogram.units
                    for histogram in strategy.plan.histograms
                    if any(
                        all(
                            cell[["age", *names].index(name)] in values
                            for name, values in where_of(strategy.queries[at])
                        )
                        for at in histogram.queries
                    )
                )
                for cell in cells
            ]
            assert max(costs) <= charge.units
            most = custodian.settings.measure.budget_down("4") // (2 if neighbours == "replace-one" else 1)
            assert 0.95 * most < charge.units <= most
        settings = custodian.settings
    assert audited(settings).ok


def where_of(query):
    """The values that a query of integers from 0 on accepts, by attribute."""
    names = list(query.domain.attributes)
    return [(names[at], set(np.flatnonzero(predicate.flags()).tolist())) for at, predicate in query.tested]


def test_a_batch_is_one_charge_and_asking_again_is_free(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        quoted = custodian.quote_batch(BATCH, budget="1", strategy="correlated")
        first = custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        [charge] = custodian.charges()
        assert [one.charge for one in first] == [1] * len(BATCH)
        assert [one.cost for one in first] == [quoted.quotes[0].cost, 0, 0, 0, 0]
        assert quoted.quotes[0].cost <= 1
        assert {one.strategy for one in first} == {"correlated"}
        assert [one.expected_error for one in first] == pytest.approx([one.expected_error for one in quoted.quotes])
        again = custodian.ask_batch(BATCH[::-1] + BATCH[:1], budget="0.9", strategy="correlated")
        assert [one.groups for one in again] == [one.groups for one in (*first[::-1], first[0])]
        assert all(one.cached and one.cost == 0 for one in again)
        assert custodian.charges() == [charge]
        assert custodian.quote_batch(BATCH, budget="1", strategy="correlated").quotes[0].cached
        # Another strategy, or more budget, is another purchase.
        custodian.ask_batch(BATCH, budget="1", strategy="atoms")
        custodian.ask_batch(BATCH, budget="1.1", strategy="correlated")
        assert len(custodian.charges()) == 3
        settings = custodian.settings
        stored = custodian._ledger.answer(charge.digest)
        strategy = read_strategy(settings, charge, custodian._ledger.strategy(charge.digest))
        assert len(strategy.queries) == len(strategy.answers(stored)) == len(strategy.noise.covariance) == 6
        [total] = [
            value for query, value in zip(strategy.queries, strategy.answers(stored), strict=True) if not query.tested
        ]
        assert total == first[0].value
    assert audited(settings).ok


def test_answers_are_near_the_truth_and_say_what_they_are(tmp_path):
    for measure, strategy in (("pure", "atoms"), ("zcdp", "correlated"), ("gdp", "auto")):
        with open_custodian(tmp_path / measure, measure=measure, budget="1000") as custodian:
            answers = custodian.ask_batch(BATCH, budget="900", strategy=strategy, estimate=True)
            truth = [len(ROWS), 55, 55, 60, 35]
            values = [one.groups[0].value for one in answers]
            assert values == pytest.approx(truth, abs=0.6)
            assert answers[0].estimate == pytest.approx(100, abs=0.6)
            low, high = answers[0].interval
            assert low <= answers[0].value <= high
            document = json.loads(json.dumps(answers[2].as_json()))
            assert document.get("strategy", "") == answers[2].strategy
            assert len(document["estimates"][1]) == 2
            assert type(answers[2]).read(document).columns[1].estimates == answers[2].columns[1].estimates


def test_rows_with_undeclared_values_are_counted_as_they_are_charged(tmp_path):
    """A predicate that lists every declared value leaves them out; a statement without one does not."""
    rows = [*ROWS, *({"sex": "X", "age": 3} for _ in range(40)), *({"sex": "F", "age": 99} for _ in range(20))]
    sql = ["SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE sex IN ('F', 'M')", BATCH[2], BATCH[3]]
    truth = [160, 120, 75, 60 + 40]
    for measure, strategy in (("pure", "atoms"), ("gdp", "correlated"), ("gdp", "atoms")):
        directory = tmp_path / f"{measure}-{strategy}"
        with open_custodian(directory, rows=rows, measure=measure, budget="1000") as custodian:
            answers = custodian.ask_batch(sql, budget="900", strategy=strategy)
            assert [one.groups[0].value for one in answers] == pytest.approx(truth, abs=0.6)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT COUNT(*) FROM people WHERE sex = 'F' OR age = 3", "OR goes across attributes"),
        ("SELECT AVG(age) FROM people", "more than COUNT"),
        ("SELECT COUNT(*), SUM(age) FROM people", "more than COUNT"),
    ],
)
def test_what_is_no_count_of_a_conjunction_is_not_measured_together(tmp_path, statement, reason):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        with pytest.raises(WorkloadError, match=f"statement 2 cannot be part of a strategy.*{reason}.*--strategy auto"):
            custodian.ask_batch([BATCH[0], statement], budget="1", strategy="correlated")
        assert not custodian.charges()
        answers = custodian.ask_batch([BATCH[0], statement], budget="1", strategy="auto")
        assert [one.strategy for one in answers] == ["", ""]
        assert any("each statement has noise of its own: statement 2" in note for note in answers[0].notes)
        quoted = custodian.quote_batch([BATCH[0], statement], budget="1", strategy="auto")
        assert "statement 2" in quoted.notes[0]


def test_what_a_strategy_needs_is_said_before_anything_is_charged(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="3") as custodian:
        with pytest.raises(CostError, match="give the batch a budget"):
            custodian.ask_batch(BATCH, epsilon="0.1", strategy="atoms")
        with pytest.raises(WorkloadError, match="Gaussian noise"):
            custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        with pytest.raises(ArgumentError, match="unknown strategy"):
            custodian.ask_batch(BATCH, budget="1", strategy="best")
        with pytest.raises(RefusedError, match="as a whole") as refused:
            custodian.ask_batch(BATCH, budget="4", strategy="atoms")
        assert (refused.value.cost, refused.value.remaining) == (4, 3)
        assert not custodian.charges()


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


def test_estimates_where_noise_is_next_to_nothing(tmp_path):
    """Where floats tell no product from 0 any more."""
    domain = {"name": "people", "attributes": {"a": {"low": 0, "high": 1}}}
    rows = [{"a": 0}, {"a": 1}, {"a": 9999}]
    with open_custodian(tmp_path, domain=domain, rows=rows, measure="gdp", budget="1000") as custodian:
        asked = ["SELECT a, COUNT(*) FROM people GROUP BY a", "SELECT COUNT(*) FROM people"]
        by_value, total = custodian.ask_batch(asked, budget="25", strategy="atoms", estimate=True)
        assert [group.value for group in by_value.groups] == [1, 1]
        assert total.value == 3


def test_a_matrix_that_was_not_charged_is_refused(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        [charge] = custodian.charges()
        other = packed(np.eye(6, dtype=np.int64))
        custodian._ledger.strategy = lambda _: other  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="not the one that was charged"):
            custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        record = StrategyRecord.read(charge.statement)
        with pytest.raises(LedgerError, match="not the one that was charged"):
            Strategy.restored(custodian.settings, record, None, [parse_statement(custodian.settings.domain, BATCH[0])])


def test_auto_takes_what_has_the_least_error(tmp_path):
    settings = load_settings(tmp_path, measure="gdp", budget="3")
    for statements in (BATCH, BATCH[:1]):
        asked = read_request(settings, "", statements, budget="1", strategy="auto")
        made = _chosen(settings, asked)
        alone = read_request(settings, "", statements, budget="1")
        errors = {one.statement.text: one.expected_error for one in alone.releases}
        mean = sum(errors.values()) / len(errors)
        if isinstance(made, Strategy):
            assert made.mean_error < mean
        else:
            assert [one.units for one in made.releases] == [one.units for one in alone.releases]


def test_statements_are_counted_in_their_groups_and_bands(tmp_path):
    band = "CASE WHEN age < 3 THEN 'few' WHEN age < 7 THEN 'some' END"
    sql = f"SELECT {band} AS band, sex, COUNT(*) FROM people GROUP BY {band}, sex"
    with open_custodian(tmp_path, measure="zcdp", budget="1000") as custodian:
        whole = custodian.ask_batch([sql, BATCH[0]], budget="400", strategy="correlated")[0]
        alone = custodian.ask(sql, rho="400")
        assert [one.row for one in whole.groups] == [one.row for one in alone.groups]
        assert [one.value for one in whole.groups] == pytest.approx([one.value for one in alone.groups], abs=0.6)


def test_nothing_to_count_costs_nothing(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="1") as custodian:
        none = "SELECT COUNT(*) FROM people WHERE age < 0"
        for key in (None, "k", "k"):
            [answer] = custodian.ask_batch([none], budget="1", strategy="atoms", key=key)
            assert (answer.value, answer.cost, answer.charge) == (0, 0, None)
        answers = custodian.ask_batch([none, BATCH[0]], budget="1", strategy="atoms")
        assert [one.charge for one in answers] == [None, 1]


def test_a_rehearsal_is_free_and_says_so(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="1") as custodian:
        answers = custodian.ask_batch(BATCH, budget="1", strategy="correlated", estimate=True, dummy=True)
        assert all(one.rehearsed and one.charge is None for one in answers)
        assert answers[0].estimate is not None
        assert not custodian.charges()


def test_estimates_stand_beside_answers_with_noise_of_their_own(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="5") as custodian:
        mixed = [*BATCH, "SELECT AVG(age) FROM people"]
        answers = custodian.ask_batch(mixed, budget="2", estimate=True)
        plain = custodian.ask_batch(mixed, budget="2")
        assert [one.groups for one in answers] == [one.groups for one in plain]
        assert all(one.measured[0].estimates is not None for one in answers[:-1])
        assert answers[-1].measured[0].estimates is None
        # It is said of estimates where there are some, and once of a batch.
        said = [any("say together" in note for note in one.notes) for one in answers]
        assert said == [True] * (len(answers) - 1) + [False]
        assert str(answers).count("say together") == 1
        total, women, men = answers[0].estimate, *(one.value for one in answers[2].columns[1].estimates)
        assert women + men <= total + 1e-6
        assert {"estimate", "estimate_low", "estimate_high"} <= set(answers[0].to_pandas().columns)


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


@pytest.mark.parametrize(("measure", "strategy"), [("pure", "atoms"), ("gdp", "correlated"), ("zcdp", "auto")])
def test_neighbors_are_treated_alike(tmp_path, measure, strategy):
    """What is quoted, charged, refused and said, and how long it is, does not depend on the rows."""
    tables = [ROWS, ROWS[1:], [*ROWS, {"sex": "X", "age": 99}], []]
    seen = []
    for number, rows in enumerate(tables):
        with open_custodian(tmp_path / str(number), rows=rows, measure=measure, budget="1") as custodian:
            quoted = custodian.quote_batch(BATCH, budget="0.9", strategy=strategy).as_json()
            answers = custodian.ask_batch(BATCH, budget="0.9", strategy=strategy, estimate=True)
            with pytest.raises(RefusedError) as refused:
                custodian.ask_batch(BATCH[:2], budget="0.9", strategy=strategy)
            charges = [(one.units, one.upper, one.where, one.statement) for one in custodian.charges()]
            lengths = [len(fixed_width_json(answer)) for answer in answers]
            paid = [(one.cost, one.charge, one.cached, one.expected_error, one.strategy) for one in answers]
            seen.append((quoted, charges, lengths, paid, str(refused.value)))
    assert all(one == seen[0] for one in seen[1:])


def test_released_answers_are_distributed_as_they_say(tmp_path):
    """Means are the truth, the covariance is that of the noise, and intervals hold in 95 of 100 answers at least."""
    draws = 400
    for measure, strategy in (("pure", "atoms"), ("gdp", "correlated")):
        with open_custodian(tmp_path / measure, measure=measure, budget="1") as custodian:
            asked = read_request(custodian.settings, "", BATCH, budget="1", strategy=strategy)
            made = plan_strategy(custodian.settings, asked.together.statements, strategy, asked.together.row_budget)
            table = custodian._table()
            truth = [number for one in table.measure(made.statements) for number in one[0]]
            released = np.array([made.answers(made.release(table)) for _ in range(draws)], np.float64) - truth
            deviation = np.sqrt(np.diag(made.noise.covariance))
            assert (np.abs(released.mean(axis=0)) < 5 * deviation / math.sqrt(draws)).all()
            found, scale = np.cov(released.T), np.outer(deviation, deviation)
            # Each entry is off by about √(2/draws) of its scale, or more where tails are long.
            assert np.abs((found - made.noise.covariance) / scale).max() < 6 * math.sqrt(5 / draws)
            held = (np.abs(released) <= made.noise.half_widths_up(0.95)).mean(axis=0)
            assert (held > 0.95 - 5 * math.sqrt(0.05 * 0.95 / draws)).all()
            errors = np.abs(released).mean(axis=0)
            assert errors == pytest.approx(made.plan.expected_errors, rel=0.25)


def test_the_graph_and_the_map_show_the_charge_on_its_hull(tmp_path):
    sql = ["SELECT COUNT(*) FROM people WHERE age < 3", "SELECT COUNT(*) FROM people WHERE age < 6 AND sex = 'F'"]
    with open_custodian(tmp_path, measure="pure", budget="1") as custodian:
        custodian.ask_batch(sql, budget="0.5", strategy="atoms")
        [node] = custodian.overlook.graph(10).as_json(custodian.settings)["nodes"]
        assert (node["number"], node["cost"], node["maximum"]) == (1, 0.5, True)
        cells = custodian.overlook.map("age", "sex").as_json(custodian.settings)["cells"]
        assert cells == [[0.5, 0.5]] * 6 + [[0, 0]] * 4
        told = sql_of(custodian.settings.domain, custodian.charges()[0].statement).splitlines()
        assert told[0] == "-- 2 statements, measured together (atoms)"
        domain = custodian.settings.domain
        texts = {parse_statement(domain, one.removesuffix(";")).text for one in told[1:]}
        assert texts == {parse_statement(domain, one).text for one in sql}


@pytest.mark.parametrize("strategy", ["independent", "auto"])
def test_estimates_of_a_batch_say_what_they_are_by(tmp_path, strategy):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        told: list[str] = []
        done = custodian.ask_batch(
            BATCH, budget="2", strategy=strategy, estimate=True, time_limit=60, progress=told.append
        )
        assert {one.estimate_method for one in done} == {"projection"}
        assert any("round 1" in one for one in told)
        assert all(estimating.NOTE in one.notes for one in done)
        late = custodian.ask_batch(BATCH, budget="2", strategy=strategy, estimate=True, time_limit=1e-9)
        assert {one.estimate_method for one in late} == {"partial projection"}
        assert [one.value for one in late[:2]] == [one.value for one in done[:2]]
        assert all("--time-limit" in " ".join(one.notes) and estimating.NOTE not in one.notes for one in late)
        assert Answer.read(late[0].as_json()).estimate_method == "partial projection"
        # The length of a response tells nothing of whether the time was enough.
        assert len(fixed_width_json(late[0])) == len(fixed_width_json(done[0]))
        plain = custodian.ask_batch(BATCH, budget="2", strategy=strategy)
        assert {one.estimate_method for one in plain} == {""}
        assert "estimate_method" not in plain[0].as_json()
        with pytest.raises(ArgumentError, match="time limit"):
            custodian.ask_batch(BATCH, budget="2", estimate=True, time_limit=0)


def test_a_quote_says_why_a_strategy_was_chosen(tmp_path, monkeypatch):
    """With the mean expected error of each that was compared; where one is asked for, its own."""
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        chosen = custodian.quote_batch(BATCH, budget="2", strategy="auto")
        mean = np.mean([one.expected_error for one in chosen.quotes])
        alone = np.mean([one.expected_error for one in custodian.quote_batch(BATCH, budget="2").quotes])
        [told] = [note for note in chosen.notes if note.startswith("auto: ")]
        assert f"whose mean expected error is {error_text(mean)}" in told
        assert f"noise of its own for each statement would have {error_text(alone)}" in told
        [_, told] = custodian.quote_batch(BATCH, budget="2", strategy="atoms").notes
        assert told.startswith("the mean expected error is ± ")
    monkeypatch.setattr(Strategy, "mean_error", 99.0)
    with closing(open_custodian(tmp_path / "apart", measure="gdp", budget="9")) as custodian:
        [told] = custodian.quote_batch(BATCH, budget="2", strategy="auto").notes
        assert "no strategy has less error at this budget; " in told
        assert "atoms would have ± 99" in told
        assert f"and this has {error_text(alone)} on average" in told


def test_a_quote_says_how_many_statements_are_free_by_deriving(tmp_path):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9", complete=["sex"])) as custodian:
        assert custodian.quote_batch(BATCH, mu="0.1").notes == ()
        custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", mu="1")
        custodian.ask("SELECT COUNT(*) FROM people", mu="1")
        for more in ({"mu": "0.1"}, {"budget": "0.5", "strategy": "correlated"}):
            quoted = custodian.quote_batch(
                [*BATCH[:2], "SELECT COUNT(*) FROM people WHERE sex = 'M'", BATCH[3]], **more
            )
            assert not quoted.quotes[3].derivable
            assert quoted.quotes[2].derivable
            assert quoted.quotes[2].derived_error > 0
            counted = sum(bool(one.derivable) for one in quoted.quotes)
            assert f"{counted:,} of the statements follow" in quoted.notes[-1]
        assert custodian.balance().charges == 2

"""Batches that are measured as a whole cost what the dearest row does."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from parcomp.costs import UNITS_PER_ONE
from parcomp.custodian.request import read_request
from parcomp.custodian.strategy import Strategy, plan_strategy, read_strategy
from parcomp.ledger import StrategyRecord, matrix_digest, packed
from parcomp.model import Domain
from parcomp.planning.strategies import atoms
from parcomp.privacy import discrete_gaussian_mu
from parcomp.sql import parse_statement
from tests.custodians import audited, load_settings, open_custodian

NAMES = ["a", "b", "c"]
OUTSIDE = object()
"""A value that no attribute declares."""


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

"""A database is the judge: a WHERE clause finds the same rows there and here, on every row of the domain."""

from __future__ import annotations

import random

import pytest

from parcomp.sql import parse_statement
from tests.sql.conditions import DOMAIN, random_condition, table_of_all_rows, truth_in

CONDITIONS = 2_200


@pytest.mark.parametrize("seed", range(4))
def test_a_condition_finds_the_rows_that_the_database_finds(seed: int) -> None:
    draw = random.Random(seed)
    connection, rows = table_of_all_rows()
    codes = [tuple(attribute.code(row[name]) for name, attribute in DOMAIN.attributes.items()) for row in rows]
    found_some = 0
    for _ in range(CONDITIONS // 4):
        condition = random_condition(draw)
        truth = truth_in(connection, condition)
        statement = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {condition}")
        alternatives = [query.terms for query in statement.where.alternatives]
        mine = {
            row: any(all(row[index] in predicate for index, predicate in terms) for terms in alternatives)
            for row in set(codes)
        }
        assert {number for number, row in enumerate(codes) if mine[row]} == truth, condition
        found_some += 0 < len(truth) < len(rows)
        # What is charged covers what is counted, and no value more than it must.
        hull = statement.query
        for index, attribute in enumerate(DOMAIN.attributes.values()):
            charged = dict(hull.terms).get(index)
            counted = {codes[number][index] for number in truth}
            if truth:
                assert counted == set(range(attribute.size) if charged is None else _members(charged)), condition
        assert hull.is_contradiction == (not truth)
    # Most of the conditions decide something.
    assert found_some > CONDITIONS // 4 * 0.5


def test_rows_are_found_by_their_values_as_by_their_codes() -> None:
    draw = random.Random(9)
    connection, rows = table_of_all_rows()
    for _ in range(40):
        condition = random_condition(draw)
        where = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {condition}").where
        assert {number for number, row in enumerate(rows) if where.covers(row)} == truth_in(connection, condition)


def _members(predicate) -> list[int]:
    return [code for start, stop in predicate.runs() for code in range(start, stop)]


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "COUNT(a)", "COUNT(b)", "COUNT(d)"])
def test_a_count_of_an_attribute_leaves_out_its_nulls(aggregate: str) -> None:
    connection, rows = table_of_all_rows()
    for condition in ("TRUE", "c", "a IS NULL OR b = 'x'", "NOT (a = 1 AND b = 'x')"):
        sql = f"SELECT {aggregate} FROM t WHERE {condition}"
        where = parse_statement(DOMAIN, sql).where
        (truth,) = connection.execute(sql).fetchone() or (None,)
        assert sum(where.covers(row) for row in rows) == truth


@pytest.mark.parametrize("aggregate", ["SUM(a)", "AVG(a)"])
def test_a_sum_is_over_the_rows_that_have_a_value(aggregate: str) -> None:
    connection, rows = table_of_all_rows()
    sql = f"SELECT {aggregate} FROM t WHERE b <> 'x' OR a > 0"
    chosen = [row["a"] for row in rows if parse_statement(DOMAIN, sql).where.covers(row)]
    (truth,) = connection.execute(sql).fetchone() or (None,)
    assert None not in chosen
    total = sum(value for value in chosen if isinstance(value, int))
    assert (total if aggregate == "SUM(a)" else total / len(chosen)) == pytest.approx(truth)


@pytest.mark.parametrize("columns", [["b"], ["c", "b"], ["d", "a"], ["a"]])
def test_the_groups_of_the_database_are_among_the_declared_ones(columns: list[str]) -> None:
    connection, rows = table_of_all_rows()
    listed = ", ".join(columns)
    sql = f"SELECT {listed}, COUNT(*) FROM t WHERE b = 'x' AND (a > 0 OR c) GROUP BY {listed}"
    statement = parse_statement(DOMAIN, sql)
    places = [[DOMAIN.names[one.index] for one in statement.groups].index(name) for name in columns]
    declared = {tuple(labels[place] for place in places) for labels in statement.group_labels()}
    counted = {tuple(row[:-1]): row[-1] for row in connection.execute(sql).fetchall()}
    assert set(counted) <= declared
    assert len(declared) == statement.group_count
    for group in declared:
        mine = sum(statement.where.covers(row) and tuple(row[name] for name in columns) == group for row in rows)
        assert mine == counted.get(group, 0)

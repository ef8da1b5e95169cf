"""Batches of statements that differ in their conditions and groups, on a table small enough to count by hand."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parcomp.data import Table, open_table
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Kind, Statement

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9), "area": Categorical(["N", "S", "W"])})

ROWS: list[dict[str, Any]] = [
    {"sex": "FM"[number % 2], "age": number % 9, "area": "NSW"[number % 3]} for number in range(50)
]
"""Nobody is 9."""


def asked(*wheres: dict[str, Any], kind: Kind = "count", of: str | None = None, by: tuple[int, ...] = ()) -> Statement:
    return Statement(kind, Condition(DOMAIN, tuple(DOMAIN.query(where) for where in wheres)), of, by)


def by_hand(statement: Statement) -> list[list[int]]:
    return [
        [
            sum(
                1 if aggregate.attribute is None else row[aggregate.attribute] - aggregate.center
                for row in ROWS
                if statement.where.covers(row) and group.items() <= row.items()
            )
            for group in statement.group_rows()
        ]
        for aggregate in statement.aggregates
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    path: Path = tmp_path_factory.mktemp("batch") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, DOMAIN.names)
        writer.writeheader()
        writer.writerows(ROWS)
    table = open_table(str(path), None, DOMAIN)
    yield table
    table.close()


BATCHES = {
    "several conditions": [asked({"age": 2}), asked({"sex": "F"}), asked({"age": 2}, kind="sum", of="age")],
    "one condition": [asked({"age": [2, 3, 5]}), asked({"age": [2, 3, 5]}, kind="average", of="age")],
    "one condition, by group": [asked({"age": 2}, by=(0,)), asked({"age": 2}, by=(0, 2)), asked({"age": 2})],
    "several conditions, by group": [asked({"age": 2}, by=(0,)), asked({"age": 3}, by=(0,)), asked({"sex": "M"})],
    "groups of one attribute each": [asked({}, by=(0,)), asked({}, by=(2,))],
    "groups of several attributes": [asked({}, by=(0,)), asked({}, by=(0, 2)), asked({}, by=(1, 2))],
    "values here and there": [asked({"age": [1, 3, 5]}), asked({"age": [0, 1, 4, 6, 7, 8]})],
    "runs and another attribute": [asked({"sex": "F", "age": [0, 1, 4, 6, 7, 8]})],
    "either of two": [asked({"sex": "F", "age": 2}, {"sex": "M", "age": [3, 4]})],
    "no such row": [asked({"age": 9}, kind="sum", of="age"), asked({"age": 9}, kind="average", of="age", by=(0,))],
    "nobody": [asked(), asked(kind="sum", of="age")],
    "nobody and others": [asked(), asked({}), asked({"age": 2})],
}


@pytest.mark.parametrize("statements", BATCHES.values(), ids=BATCHES)
def test_a_batch_measures_what_is_counted_by_hand(table: Table, statements: list[Statement]) -> None:
    assert table.measure(statements) == [by_hand(statement) for statement in statements]

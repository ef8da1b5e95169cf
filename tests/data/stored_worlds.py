"""Random small worlds: a domain of attributes of all kinds, rows in and outside it, and what is asked of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.encoding import TableEncoder
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from parcomp.model.statement import Grouping, Item, Kind, Statement
from tests.data.coded_rows import Codes

__all__ = ["NULLS", "World", "domain_rows", "random_attribute", "random_statement", "random_world"]

NULLS = ("", "NA")
"""Texts that stand for null."""

Stored = tuple[Any, ...]


@dataclass(frozen=True)
class World:
    """``types`` are the columns that a table of the domain has, and ``pool`` stored rows that tables are made of."""

    domain: Domain
    types: tuple[pa.DataType, ...]
    pool: tuple[Stored, ...]
    statements: tuple[Statement, ...]

    def batch(self, rows: Sequence[Stored], persons: Sequence[Any] | None = None) -> pa.RecordBatch:
        """Stored rows, as an encoder takes them."""
        arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(self.types)]
        if persons is not None:
            arrays.append(pa.array(list(persons)))
        return pa.RecordBatch.from_arrays(arrays, [f"x{i}" for i in range(len(arrays))])

    def encoded(
        self, rows: Sequence[Stored], persons: Sequence[Any] | None = None, key: bytes | None = None
    ) -> list[pa.RecordBatch]:
        """The rows as they are staged."""
        encoder = TableEncoder(self.domain, NULLS, "UTC", key)
        return list(encoder.encoded(iter([self.batch(rows, persons)])))

    def codes(self, rows: Sequence[Stored]) -> list[Codes]:
        """The codes of each row."""
        return [
            codes for batch in self.encoded(rows) for codes in zip(*(one.to_pylist() for one in batch), strict=True)
        ]


def random_attribute(chance: random.Random) -> Attribute:
    """An attribute of few values, of any kind."""
    nullable = chance.random() < 0.4
    size = chance.randint(1, 4)
    clip = chance.random() < 0.5
    match chance.randrange(7):
        case 0:
            return Categorical(["F", "M", "x", "y"][:size], nullable)
        case 1:
            return Categorical(chance.sample(range(-3, 9), size), nullable)
        case 2:
            return Categorical(chance.choice([[True, False], [False, True], [True]]), nullable)
        case 3:
            low = chance.choice([-9, -2, -1, 0, 3, 50])
            return Integer(low, low + size - 1, nullable, clip)
        case 4:
            low = chance.choice([-1, 0, 2])
            return Binned(low, low + size * chance.choice([1, 2]), size, nullable, clip)
        case 5:
            step = Decimal(chance.choice(["0.5", "0.01", "2", "0.125"]))
            base = chance.choice([-7, -2, 0, 1, 30])
            return Stepped(base * step, (base + size - 1) * step, step, nullable, clip)
    day = date(2024, 2, 27)
    return Dated(day, day + timedelta(days=size - 1), "day", nullable)


def _column(chance: random.Random, attribute: Attribute) -> tuple[pa.DataType, list[Any]]:
    """A type of a column for the attribute, and values that it may hold: declared ones, and others of all sorts."""
    values = [attribute.value(code) for code in range(attribute.null)]
    texts = [str(value) for value in values] + ["", "NA", "?", "nan", "-1e9", "1e9", "inf", f"{values[0]} ", None]
    if chance.random() < 0.4:
        return pa.string(), texts
    if isinstance(attribute, Dated):
        days = [date.fromisoformat(str(value)) for value in values] + [date(1, 1, 1), date(9999, 12, 31), None]
        if chance.random() < 0.5:
            return pa.date32(), days
        moments = [datetime(day.year, day.month, day.day, chance.randrange(24)) for day in days if day] + [None]
        return pa.timestamp("us"), moments
    if isinstance(attribute, Categorical):
        if isinstance(values[0], str):
            return pa.string(), texts
        if isinstance(values[0], bool) and chance.random() < 0.5:
            return pa.bool_(), [True, False, None]
    if isinstance(attribute, Integer | Categorical) and chance.random() < 0.5:
        return pa.int64(), [*(int(value) for value in values), 2**62, -(2**62), 77, None]  # type: ignore[arg-type]
    numbers = [float(value) for value in values]  # type: ignore[arg-type]
    near = [numbers[0] - 1, numbers[-1] + 1, numbers[0] + 1e-9, numbers[-1] - 0.25, numbers[-1] + 0.4]
    return pa.float64(), [*numbers, *near, float("nan"), float("inf"), float("-inf"), 1e300, None]


def _stored(chance: random.Random, attribute: Attribute, values: list[Any]) -> Any:
    """Declared values more often than others."""
    return chance.choice(values[: attribute.null] if chance.random() < 0.65 else values)


def _condition(chance: random.Random, domain: Domain) -> Condition:
    found = Condition(domain, ())
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        terms = []
        for index, attribute in enumerate(domain.attributes.values()):
            if chance.random() < 0.5:
                # Listing all values is charged as naming none, and counts less; listing none is a contradiction.
                many = chance.choice(
                    [attribute.size, chance.randint(0, attribute.size), chance.randint(1, attribute.size)]
                )
                codes = chance.sample(range(attribute.size), many)
                terms.append((index, Predicate.from_codes(attribute.size, codes)))
        found |= Condition.of(Query(domain, tuple(terms)))
    return found


def random_item(chance: random.Random, domain: Domain) -> Item:
    """An item of any kind, of an attribute that bears it."""
    summable = [name for name, attribute in domain.attributes.items() if attribute.scale is not None]
    kind: Kind = chance.choice(get_args(Kind) if summable else ["count", "distinct"])
    match kind:
        case "count":
            return Item("count", chance.choice([None, None, *domain.names]))
        case "distinct":
            return Item("distinct", chance.choice(domain.names))
        case "quantile":
            return Item("quantile", chance.choice(summable), Fraction(chance.choice(["0", "1/4", "1/2", "9/10", "1"])))
    return Item(kind, chance.choice(summable), sample=kind not in ("variance", "deviation") or chance.random() < 0.5)


def random_grouping(chance: random.Random, domain: Domain) -> Grouping:
    """A key of GROUP BY: the values of an attribute, or bands of them, in which some values may be in none."""
    index = chance.randrange(len(domain.names))
    if chance.random() < 0.5:
        return Grouping(index)
    size = list(domain.attributes.values())[index].size
    bands = chance.randint(1, 3)
    owner = [chance.randrange(-1, bands) for _ in range(size)]
    members = [Predicate.from_codes(size, [c for c in range(size) if owner[c] == band]) for band in range(bands)]
    return Grouping(index, Bands(tuple(["low", None, 3][:bands]), tuple(members)))


def random_statement(chance: random.Random, domain: Domain, most_items: int = 3) -> Statement:
    """Items over a union of conjunctions, with groups or without; at most 0 of them stands for a count or a sum."""
    items = [random_item(chance, domain) for _ in range(chance.randint(1, most_items or 1))]
    if not most_items:
        summable = [name for name, attribute in domain.attributes.items() if attribute.scale is not None]
        items = [chance.choice([Item("count"), *(Item("sum", name) for name in summable)])]
    groups = [random_grouping(chance, domain) for _ in range(chance.choice([0, 0, 0, 1, 1, 2]))]
    return Statement(_condition(chance, domain), tuple(items), tuple(groups))


def random_world(chance: random.Random, pool: int, statements: int) -> World:
    """A world with so many stored rows, some of them equal, and up to so many statements."""
    count = chance.choice([1, 2, 3, 3])
    domain = Domain({f"a{index}": random_attribute(chance) for index in range(count)})
    columns = [_column(chance, attribute) for attribute in domain.attributes.values()]
    rows = [
        tuple(
            _stored(chance, attribute, values)
            for attribute, (_, values) in zip(domain.attributes.values(), columns, strict=True)
        )
        for _ in range(pool)
    ]
    items = chance.choice([0, 1, 3])
    asked = tuple(random_statement(chance, domain, items) for _ in range(chance.randint(1, statements)))
    return World(domain, tuple(kind for kind, _ in columns), tuple(rows), asked)


def domain_rows(domain: Domain) -> npt.NDArray[np.int64]:
    """The codes of every row of the domain."""
    ranges = (range(attribute.size) for attribute in domain.attributes.values())
    return np.array(list(product(*ranges)), np.int64)

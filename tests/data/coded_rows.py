"""Random coded rows of random domains, and a judge in plain Python of what a coded table of them must count."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from parcomp.data.layout import Imprint, code_type, staging_schema
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.statement import Aggregate, Grouping, Item, Kind, Statement
from tests.property.strategies import domains, wheres

__all__ = [
    "IMPRINT",
    "Codes",
    "batches_of",
    "coded_rows",
    "domains_to_count",
    "expected",
    "grouped_values",
    "key",
    "statements_to_count",
    "told_apart",
    "wide_domain",
]

Codes = tuple[int, ...]

IMPRINT = Imprint("people", "1", "the domain's text", "people.csv")


def wide_domain() -> Domain:
    """Attributes of every width of integers, one of them far too large for a table of its values."""
    return Domain(
        {
            "sex": Categorical(["F", "M"]),
            "hour": Integer(0, 126),
            "minute": Integer(0, 127, nullable=True),
            "income": Binned(0, 750_000, bins=40_000),
            "cents": Integer(-(10**8), 10**8, nullable=True),
            "far": Integer(10**30, 10**30 + 2**31 - 2),
        }
    )


def domains_to_count() -> st.SearchStrategy[Domain]:
    """Small domains of all kinds of attributes, and the wide one."""
    return domains() | st.builds(wide_domain)


def _code(attribute: Attribute) -> st.SearchStrategy[int]:
    """Codes, with those at the ends and outside more often than others."""
    size = attribute.size
    return st.integers(0, size) | st.sampled_from([0, size - 1, size]) | st.integers(0, min(size, 3))


def coded_rows(domain: Domain, most: int = 40) -> st.SearchStrategy[list[Codes]]:
    """Rows, many of them more than once."""
    row = st.tuples(*(_code(attribute) for attribute in domain.attributes.values()))
    pairs = st.lists(st.tuples(row, st.integers(1, 4)), max_size=most)
    return pairs.map(lambda pairs: [codes for codes, times in pairs for _ in range(times)])


@st.composite
def bands_to_group_by(draw: st.DrawFn, attribute: Attribute) -> Bands:
    """Some values of an attribute under a few labels, and some under none."""
    label = st.one_of(st.sampled_from(["a", "b", 1, 1.0, True, None, 0.5, ""]))
    labels = draw(st.lists(label, max_size=4, unique_by=lambda one: (type(one), one)))
    codes = range(attribute.size)
    if attribute.size < 200:
        owner = draw(st.lists(st.integers(-1, len(labels) - 1), min_size=attribute.size, max_size=attribute.size))
        runs = [[(code, code + 1) for code in codes if owner[code] == band] for band in range(len(labels))]
    else:
        edges = draw(st.lists(st.integers(0, attribute.size), min_size=len(labels) + 1, max_size=len(labels) + 1))
        runs = [[run] for run in pairwise(sorted(edges))]
    return Bands(tuple(labels), tuple(Predicate.from_runs(attribute.size, some) for some in runs))


@st.composite
def items_to_count(draw: st.DrawFn, domain: Domain) -> Item:
    """An item of any kind that some attribute bears."""
    summable = [name for name, attribute in domain.attributes.items() if attribute.scale is not None]
    every = draw(st.sampled_from(domain.names))
    kind: Kind = draw(st.sampled_from(get_args(Kind) if summable else ["count", "distinct"]))
    if kind in ("count", "distinct"):
        return Item(kind, every if kind == "distinct" or draw(st.booleans()) else None)
    at = draw(st.fractions(0, 1, max_denominator=10)) if kind == "quantile" else None
    return Item(kind, draw(st.sampled_from(summable)), at, kind not in ("variance", "deviation") or draw(st.booleans()))


@st.composite
def statements_to_count(draw: st.DrawFn, domain: Domain) -> Statement:
    """Items of all kinds, of unions of conjunctions, with groups by values and by bands."""
    condition = Condition(domain, ())
    for where in draw(st.lists(wheres(domain), min_size=1, max_size=3)):
        condition |= Condition.of(domain.query(where))
    attributes = list(domain.attributes.values())
    groups = []
    for index in draw(st.lists(st.integers(0, len(attributes) - 1), max_size=2)):
        if attributes[index].size >= 200 or draw(st.booleans()):
            groups.append(Grouping(index, draw(bands_to_group_by(attributes[index]))))
        else:
            groups.append(Grouping(index))
    items = draw(st.lists(items_to_count(domain), min_size=1, max_size=3))
    return Statement(condition, tuple(items), tuple(groups))


def expected(rows: Sequence[Codes], statement: Statement) -> list[Any]:
    """What must be measured, row by row; of ranks how many rows have each value."""
    return [
        [_number(aggregate, values) for values in grouped_values(rows, statement, aggregate)]
        for aggregate in statement.aggregates
    ]


def grouped_values(rows: Sequence[Codes], statement: Statement, aggregate: Aggregate) -> list[list[Any]]:
    """The values, in steps or else as codes, of the rows of each group that an aggregate is of."""
    domain = statement.domain
    values: dict[tuple[Any, ...], list[Any]] = {told_apart(one): [] for one in statement.group_labels()}
    for codes in rows:
        group = _labels(codes, statement)
        if group is None or group not in values or not _satisfies(codes, statement.where):
            continue
        if aggregate.attribute is None:
            values[group].append(None)
            continue
        attribute, code = domain.attributes[aggregate.attribute], codes[domain.index(aggregate.attribute)]
        if code < attribute.null:
            values[group].append(code if attribute.scale is None else _steps(attribute, code))
    return list(values.values())


def told_apart(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Labels such that 1, 1.0 and True differ."""
    return tuple((type(label), label) for label in labels)


def _labels(codes: Codes, statement: Statement) -> tuple[Any, ...] | None:
    """The labels of a row, None if it has none on some key of GROUP BY."""
    found = []
    for grouping in statement.groups:
        attribute, code = list(statement.domain.attributes.values())[grouping.index], codes[grouping.index]
        if code == attribute.size:
            return None
        if grouping.bands is None:
            found.append(attribute.value(code))
            continue
        mine = [
            label for label, member in zip(grouping.bands.labels, grouping.bands.members, strict=True) if code in member
        ]
        if not mine:
            return None
        found += mine
    return told_apart(found)


def _steps(attribute: Attribute, code: int) -> int:
    assert attribute.scale is not None
    steps = Fraction(str(attribute.value(code))) / Fraction(attribute.scale.step)
    assert steps == int(steps)
    return int(steps)


def _number(aggregate: Aggregate, values: list[Any]) -> Any:
    match aggregate.kind:
        case "rows":
            return len(values)
        case "sum":
            return sum(value - aggregate.center for value in values)
        case "squares":
            ends = {abs(aggregate.low - aggregate.center), abs(aggregate.high - aggregate.center), 1}
            return sum((value - aggregate.center) ** 2 - max(ends) ** 2 // 2 for value in values)
        case "distinct":
            return len(set(values))
    return dict(Counter(values))


def _satisfies(codes: Codes, where: Condition) -> bool:
    sizes = [attribute.size for attribute in where.domain.attributes.values()]
    return any(
        all(codes[index] != sizes[index] and codes[index] in predicate for index, predicate in query.tested)
        for query in where.alternatives
    )


def key(*parts: object) -> bytes:
    """A hash of 16 bytes."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def batches_of(
    domain: Domain, rows: Sequence[Codes], persons: Sequence[tuple[bytes, bytes]] | None = None, size: int = 7
) -> Iterator[pa.RecordBatch]:
    """Rows as they are staged, few in each batch; ``persons`` has the hashes of each row's person and rank."""
    schema = staging_schema(domain, persons=persons is not None)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        arrays = [
            pa.array(np.array([codes[i] for codes in part], np.int64)).cast(code_type(attribute))
            for i, attribute in enumerate(domain.attributes.values())
        ]
        for side in (0, 1) if persons is not None else ():
            arrays.append(pa.array([pair[side] for pair in persons[start : start + size]], pa.binary(16)))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

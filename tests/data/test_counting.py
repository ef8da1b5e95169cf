"""Statements on a coded table, by each of the two ways of counting, against a judge that goes row by row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcomp.data.codes import counting
from parcomp.data.codes.counting import Conditional, Passes, Scan
from parcomp.data.codes.duckdb_codes import DuckDBCodes, DuckDBWriter
from parcomp.errors import DataError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.bands import Bands
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from parcomp.model.statement import Grouping, Item, Kind, Statement
from tests.data.coded_rows import (
    IMPRINT,
    Codes,
    batches_of,
    coded_rows,
    domains_to_count,
    expected,
    statements_to_count,
    wide_domain,
)


def made(path: Path, domain: Domain, rows: Sequence[Codes]) -> DuckDBCodes:
    with DuckDBWriter(path, domain) as writer:
        writer.stage(batches_of(domain, rows))
        writer.finish(IMPRINT)
    return DuckDBCodes(path, domain)


def one_by_one(table: DuckDBCodes, statements: Sequence[Statement]) -> list[list[list[int]]]:
    return [table.measure([statement])[0] for statement in statements]


FORMS: dict[str, tuple[dict[str, int], Callable[[DuckDBCodes, Sequence[Statement]], list[list[list[int]]]]]] = {
    "as it comes": ({}, DuckDBCodes.measure),
    "conditional sums": ({"FEW_CONDITIONS": 10**9, "_FEW_TERMS": 10**9}, one_by_one),
    "one scan": ({"FEW_CONDITIONS": 0}, DuckDBCodes.measure),
    "conditions tested here": ({"_FEW_TERMS": -1}, DuckDBCodes.measure),
    "scans of one condition": (
        {"FEW_CONDITIONS": 0, "MOST_WORDS": 1, "_TABLE_SIZE": 0, "_SLICE": 3},
        DuckDBCodes.measure,
    ),
}


def test_every_way_of_counting_counts_what_the_rows_say(tmp_path):
    """Items of all kinds, of unions, with groups and bands, over rows of which many have values outside the domain."""

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def counts(data):
        domain = data.draw(domains_to_count())
        rows = data.draw(coded_rows(domain))
        statements = data.draw(st.lists(statements_to_count(domain), min_size=1, max_size=6))
        table = made(tmp_path / "codes.duckdb", domain, rows)
        assert (table.imprint.rows, table.imprint.kept, table.imprint.stored) == (len(rows), len(rows), len(set(rows)))
        judged = [expected(rows, statement) for statement in statements]
        for form, (changed, measure) in FORMS.items():
            with pytest.MonkeyPatch.context() as patch:
                for name, value in changed.items():
                    patch.setattr(counting, name, value)
                assert measure(table, statements) == judged, form
        table.close()

    counts()


DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9), "area": Categorical(["N", "S", "W"])})
ROWS = [(number % 3, number % 11, number % 4) for number in range(60)]
"""A third is outside sex, an eleventh outside age, a quarter outside area."""


def asked(*wheres: dict[str, Any], kind: Kind = "count", of: str | None = None, by: tuple[int, ...] = ()) -> Statement:
    return Statement.one(kind, Condition(DOMAIN, tuple(DOMAIN.query(where) for where in wheres)), of, by)


OLD_OR_YOUNG = Bands(("old", "young"), tuple(Predicate.from_codes(10, codes) for codes in ([7, 9], [0, 1, 2, 6])))
"""Bands in no order, and of several runs; some values bear no label."""


def banded(
    *wheres: dict[str, Any], items: tuple[Item, ...] = (Item("count"),), by: tuple[Grouping, ...] = ()
) -> Statement:
    condition = Condition(DOMAIN, tuple(DOMAIN.query(where) for where in wheres or [{}]))
    return Statement(condition, items, (Grouping(1, OLD_OR_YOUNG), *by))


BATCHES = {
    "several conditions": [asked({"age": 2}), asked({"sex": "F"}), asked({"age": 2}, kind="sum", of="age")],
    "one condition": [asked({"age": [2, 3, 5]}), asked({"age": [2, 3, 5]}, kind="average", of="age")],
    "one condition, by group": [asked({"age": 2}, by=(0,)), asked({"age": 2}, by=(0, 2)), asked({"age": 2})],
    "several conditions, by one group": [asked({"age": 2}, by=(0,)), asked({"age": [3, 4]}, by=(0,))],
    "groups of one attribute each": [asked({}, by=(0,)), asked({}, by=(2,))],
    "every declared value": [asked({"sex": ["F", "M"]}), asked({})],
    "values here and there": [asked({"age": [1, 3, 5]}), asked({"age": [0, 1, 4, 6, 7, 8]})],
    "values here and there of some": [asked({"sex": "F", "age": [0, 1, 4, 6, 7, 8], "area": ["N", "W"]})],
    "a sum of no row": [asked({"sex": "F", "age": 0, "area": "W"}, kind="sum", of="age")],
    "items about different attributes": [
        Statement(Condition.of(DOMAIN.query()), (Item("sum", "age"), Item("distinct", "sex"), Item("count", "area"))),
        Statement(Condition.of(DOMAIN.query(sex="F")), (Item("variance", "age"), Item("count"))),
    ],
    "either of two": [asked({"sex": "F", "age": 2}, {"sex": "M", "age": [2, 3, 4]})],
    "either of two that share rows": [asked({"sex": "F"}, {"age": [2, 3, 4]}, by=(2,))],
    "nobody": [asked(), asked(kind="sum", of="age"), asked(by=(0, 2))],
    "nobody and others": [asked(), asked({}), asked({"age": 2})],
    "no statement": [],
    "bands": [banded(), banded({"age": [0, 1, 7]}), asked({"age": [0, 1, 7]}, by=(1,))],
    "bands of one condition": [banded({"sex": "F"}), banded({"sex": "F"}, items=(Item("sum", "age"), Item("count")))],
    "bands beside values": [banded(by=(Grouping(0), Grouping(1))), banded({"area": "N"}, {"sex": "M"})],
    "bands that bear no label": [banded({"age": [3, 4]}), banded({"age": [3, 4]}, items=(Item("distinct", "sex"),))],
    "values spread out": [
        banded(items=(Item("variance", "age"), Item("distinct", "area"), Item("quantile", "age", Fraction(1, 4)))),
        asked({"sex": "F"}, {"age": 3}, kind="distinct", of="age", by=(2,)),
        asked({"sex": ["F", "M"]}, kind="deviation", of="age"),
    ],
    "values of nobody": [asked(kind="variance", of="age", by=(0,)), asked(kind="distinct", of="sex")],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBCodes]:
    table = made(tmp_path_factory.mktemp("counting") / "codes.duckdb", DOMAIN, ROWS)
    yield table
    table.close()


@pytest.mark.parametrize("few", [0, 24])
@pytest.mark.parametrize("statements", BATCHES.values(), ids=BATCHES)
def test_a_batch_measures_what_is_counted_by_hand(statements, few, table, monkeypatch):
    """Both ways, on the same table."""
    monkeypatch.setattr(counting, "FEW_CONDITIONS", few)
    assert table.measure(statements) == [expected(ROWS, statement) for statement in statements]


def test_a_row_outside_counts_where_its_attribute_is_not_tested(table):
    """The count of all rows is their number, and listing every declared value leaves the rows outside out."""
    assert table.measure([asked({}), asked({"sex": ["F", "M"]}), asked({}, by=(0,))]) == [[[60]], [[40]], [[20, 20]]]


def test_many_statements_are_one_scan_of_the_columns_in_use(table):
    """However many conditions there are and however they group, the table is read once, and no column in vain."""
    statements = [asked({"age": age, "area": area}, by=by) for age in range(9) for area in "NSW" for by in ((), (2,))]
    [sql] = table.sql(statements)
    assert sql == "SELECT c1, c2, n FROM place.codes"
    [sql] = table.sql(statements[:2:2])
    assert sql == "SELECT SUM(n) FROM place.codes WHERE (c1 = 0 AND c2 = 0)"


def test_codes_in_use_are_added_up_first_where_they_are_few():
    """An engine adds up equal codes faster than it hands them out one by one."""
    statements = [asked({"sex": "F"}, {"area": area}) for area in "NSW"] + [asked({}, by=(0,)), asked({})]

    def scanned(stored: int) -> str:
        [one] = Passes.of(statements, DOMAIN, "codes", stored).passes
        assert isinstance(one, Scan)
        return one.sql

    assert "GROUP BY c0, c2" in scanned(4 * 3 * 4)
    assert scanned(4 * 3 * 4 - 1) == "SELECT c0, c2, n FROM codes"


def test_bands_are_the_same_query_on_every_engine(table):
    """A CASE on codes, of comparisons that are the same in all dialects."""
    [sql] = table.sql([banded({"sex": "F"})])
    case = "CASE WHEN c1 IN (7, 9) THEN 0 WHEN (c1 BETWEEN 0 AND 2 OR c1 = 6) THEN 1 ELSE -1 END"
    assert sql == f"SELECT {case}, SUM(n) FROM place.codes WHERE (c0 = 0) GROUP BY {case}"
    [sql] = table.sql([asked({"sex": "F"}, kind="distinct", of="area", by=(1,))])
    assert sql == (
        "SELECT c1, c2, CAST(SUM(n) AS BIGINT) AS n FROM place.codes "
        "WHERE (c0 = 0 AND c2 BETWEEN 0 AND 2) GROUP BY c1, c2"
    )


def test_values_are_spread_out_once_for_all_that_follows_from_them(table):
    """Variance, quantiles and different values of one attribute, over the same rows and groups, share a query."""
    items = (Item("variance", "age"), Item("quantile", "age", Fraction(1, 2)), Item("distinct", "age"))
    statements = [banded({"age": [1, 7]}, items=items), banded({"age": [1, 7]}, items=items[1:])]
    assert sum("c1, CAST" in sql for sql in table.sql(statements)) == 1
    assert len(table.sql(statements)) == 2


def test_long_lists_of_values_are_no_part_of_a_query():
    """What an engine makes of thousands of comparisons is not asked."""
    domain = Domain({"code": Integer(0, 10_000)})
    even = Condition.of(Query(domain, ((0, Predicate.from_codes(10_001, range(0, 10_000, 2))),)))
    [one] = Passes.of([Statement.one("count", even)], domain, "codes", 1).passes
    assert isinstance(one, Scan)
    [one] = Passes.of([Statement.one("count", Condition.of(domain.query(code=[1, 3])))], domain, "codes", 1).passes
    assert isinstance(one, Conditional)


def test_many_conditions_at_once(tmp_path):
    """Hundreds of conjunctions over several words of bits, each counted on its own."""
    chance = random.Random(5)
    domain = wide_domain()
    sizes = [attribute.size for attribute in domain.attributes.values()]
    edges = [sorted(chance.sample(range(size + 1), min(size + 1, 30))) for size in sizes]
    # Rows at the edges of predicates, on either side.
    rows = [
        tuple(min(max(chance.choice(edges[i]) - chance.randrange(2), 0), size) for i, size in enumerate(sizes))
        for _ in range(300)
    ]

    def conjunction() -> Query:
        chosen = sorted(chance.sample(range(len(sizes)), chance.randrange(1, 3)))
        runs = [(i, sorted(chance.sample(edges[i], 2))) for i in chosen]
        return Query(domain, tuple((i, Predicate.from_runs(sizes[i], [tuple(run)])) for i, run in runs))

    conditions = [Condition(domain, tuple(conjunction() for _ in range(chance.randrange(1, 4)))) for _ in range(300)]
    statements = [
        Statement.one("average", condition, "cents", (0,)) if number % 5 == 0 else Statement.one("count", condition)
        for number, condition in enumerate(conditions)
    ]
    table = made(tmp_path / "codes.duckdb", domain, rows)
    assert table.measure(statements) == [expected(rows, statement) for statement in statements]
    table.close()


def test_a_statement_about_another_domain_is_refused(table):
    other = Domain({"sex": Categorical(["F", "M"])})
    with pytest.raises(DataError, match="another domain"):
        table.measure([Statement.one("count", Condition.of(other.query()))])

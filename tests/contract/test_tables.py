"""Every kind of table measures what a plain evaluation of its rows does."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcomp.data import Table, open_table
from parcomp.errors import DataError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Statement
from tests.data.stored_rows import (
    ATTRIBUTES,
    COLUMNS,
    domains_of_table,
    expected,
    rows_inside,
    rows_outside,
    statements_about,
    tables,
    write_csv,
    write_duckdb,
    write_parquet,
    write_postgres,
)

Opener = Callable[[Sequence[tuple[Any, ...]], Domain], Table]

EXAMPLES = {
    "parquet": 40,
    "csv": 40,
    "duckdb": 30,
    "postgres": 40,
    "spark": 4,
}


@pytest.fixture
def opener(request, tmp_path) -> Opener:
    """Stores rows in a source and opens it."""

    def open_rows(rows, domain):
        match request.param:
            case "csv":
                return open_table(write_csv(tmp_path / "people.csv", rows), None, domain)
            case "duckdb":
                return open_table(write_duckdb(tmp_path / "people.duckdb", rows), "people", domain)
            case "postgres":
                return open_table(write_postgres(request.getfixturevalue("postgres_url"), rows), "people", domain)
            case "spark":
                # A path of its own each time, since Spark remembers what it read.
                path = write_parquet(tmp_path / f"people{len(list(tmp_path.iterdir()))}.parquet", rows)
                return open_table(request.getfixturevalue("spark_master") + path, None, domain)
            case _:
                return open_table(write_parquet(tmp_path / "people.parquet", rows), None, domain)

    return open_rows


@pytest.mark.parametrize(("opener", "examples"), EXAMPLES.items(), indirect=["opener"], ids=EXAMPLES)
def test_every_table_measures_what_its_rows_say(opener, examples):
    """Counts, sums and averages with groups, in one batch, over rows of which some are outside the domain."""
    most_statements, most_rows = (8, 120) if examples < 10 else (5, 40)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def measures(data):
        domain = data.draw(domains_of_table())
        rows = data.draw(tables(most_rows))
        statements = data.draw(
            st.lists(statements_about(domain), min_size=most_statements // 2, max_size=most_statements)
        )
        table = opener(rows, domain)
        try:
            assert table.measure(statements) == expected(domain, rows, statements)
        finally:
            table.close()

    measures()


ROWS = rows_inside(60)


@pytest.mark.parametrize("opener", EXAMPLES, indirect=True)
def test_one_value_outside_the_domain_takes_a_row_out_of_every_count(opener):
    """All attributes at once: whatever is amiss, and with whichever attribute, only the rows within are counted."""
    domain = Domain(ATTRIBUTES)
    whole = Condition.of(domain.query())
    statements = [Statement("count", whole, groups=(index,)) for index in range(len(ATTRIBUTES))]
    summable = ("age", "beyond_64", "huge", "income", "real", "amount", "count")
    statements += [Statement("count", whole), *(Statement("sum", whole, name) for name in summable)]
    table = opener([*rows_outside(), *ROWS], domain)
    measured = table.measure(statements)
    assert measured == expected(domain, ROWS, statements)
    assert measured[len(ATTRIBUTES)] == [[len(ROWS)]]
    table.close()


_ODD_ROWS = [
    tuple({"sex": "F", "age": 5, "number": 2**63 - 1, "huge": 10**38 - 1, "beyond_64": 2}.get(name) for name in COLUMNS)
]


@pytest.mark.parametrize("opener", EXAMPLES, indirect=True)
def test_a_batch_is_one_scan_of_the_table(opener):
    """Statements with different conditions and groups, sums among them, are one query that scans the table once."""
    domain = Domain({name: ATTRIBUTES[name] for name in ("sex", "many", "age", "income", "flag")})
    conditions = [Condition.of(domain.query(where)) for where in ({}, {"age": 2}, {"sex": ["F", "f"]}, {"flag": True})]
    statements = [
        Statement("count", condition, groups=groups) for condition in conditions for groups in ((), (0,), (0, 2))
    ]
    statements += [Statement("average", conditions[1], "income", groups=(4,)), Statement("sum", conditions[0], "age")]
    table = opener(ROWS, domain)
    [sql] = table.sql(statements)
    plan = "\n".join(str(cell) for row in table._run(f"EXPLAIN {sql}") for cell in row)
    assert len(re.findall(r"─ Seq Scan|Seq Scan on|Scan ExistingRDD", plan)) == 1, plan
    assert table.measure(statements) == expected(domain, ROWS, statements)
    table.close()


@pytest.mark.parametrize("opener", ["parquet", "postgres"], indirect=True)
def test_more_numbers_than_one_query_returns_are_measured_too(opener):
    """Of a thousand different numbers and more none is lost."""
    domain = Domain({"age": ATTRIBUTES["age"], "number": ATTRIBUTES["number"], "many": ATTRIBUTES["many"]})
    pairs = [(first, second) for first in range(50) for second in range(first)][:520]
    statements = [
        Statement("sum", Condition.of(domain.query(many=[f"v{first:02}", f"v{second:02}"])), "age")
        for first, second in pairs
    ]
    table = opener(ROWS, domain)
    assert len(table.sql(statements)) == 2
    assert table.measure(statements) == expected(domain, ROWS, statements)
    table.close()


@pytest.mark.parametrize("opener", ["parquet", "csv", "duckdb", "postgres"], indirect=True)
def test_tables_are_measured_from_several_threads(opener):
    """Each thread gets the numbers of its own statements."""
    domain = Domain({name: ATTRIBUTES[name] for name in ("sex", "age")})
    statements = [
        Statement("count", Condition.of(domain.query(sex=sex, age=age))) for sex in ("F", "f") for age in range(-3, 7)
    ]
    table = opener(ROWS, domain)
    with ThreadPoolExecutor(8) as pool:
        measured = list(pool.map(lambda one: table.measure([one])[0], statements * 3))
    assert measured == expected(domain, ROWS, statements) * 3
    table.close()


@pytest.mark.parametrize("opener", EXAMPLES, indirect=True)
def test_a_closed_table_says_so_and_another_domain_is_refused(opener):
    """Neither is an error of the engine's own."""
    domain, other = Domain({"age": ATTRIBUTES["age"]}), Domain({"flag": ATTRIBUTES["flag"]})
    table = opener(ROWS[:3], domain)
    with pytest.raises(DataError, match="another domain"):
        table.measure([Statement("count", Condition.of(other.query()))])
    table.ready()
    table.close()
    table.close()
    with pytest.raises(DataError, match="closed"):
        table.ready()
    with pytest.raises(DataError, match="closed"):
        table.measure([Statement("count", Condition.of(domain.query()))])


@pytest.mark.parametrize("opener", EXAMPLES, indirect=True)
def test_values_that_no_row_can_hold_are_declared_without_harm(opener):
    """A NUL in a string, which PostgreSQL cannot store, and integers beyond the column's type."""
    held = Domain(
        {
            "sex": Categorical(["F", "nul\0", "';--"]),
            "number": Integer(2**63 - 2, 2**63 + 5),
            "huge": Integer(10**38 - 2, 10**38 + 5),
        }
    )
    never = Domain({"age": Integer(-(2**80), -(2**80) + 2), "beyond_64": Categorical([1, 10**60, -(10**60)])})
    counts = []
    for domain in (held, never):
        table = opener(_ODD_ROWS, domain)
        groups = [(index,) for index in range(len(domain.names))]
        counts += table.measure([Statement("count", Condition.of(domain.query()), groups=one) for one in groups])
        table.close()
    assert counts == [[[1, 0, 0]], [[0, 1, 0, 0, 0, 0, 0, 0]], [[0, 1, 0, 0, 0, 0, 0, 0]], [[0, 0, 0]], [[0, 0, 0]]]

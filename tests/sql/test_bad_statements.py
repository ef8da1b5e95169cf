"""What the dialect does not have is refused by name, at its place."""

from __future__ import annotations

import pytest

from parcomp.errors import SqlError
from parcomp.sql import parse_statement, parse_statements
from tests.sql.bad_statements import BAD_CONDITIONS, BAD_STATEMENTS, CENSUS

CASES = [*BAD_STATEMENTS, *((f"SELECT COUNT(*)\nFROM census WHERE {text}", says) for text, says in BAD_CONDITIONS)]


def test_the_table_is_long_and_without_doubles() -> None:
    assert len({text for text, _ in CASES}) == len(CASES) > 120


@pytest.mark.parametrize(("marked", "says"), CASES, ids=[text for text, _ in CASES])
def test_a_refusal_names_the_construct_and_its_place(marked: str, says: str) -> None:
    before, mark, after = marked.partition("‸")
    assert mark
    with pytest.raises(SqlError) as caught:
        parse_statement(CENSUS, before + after, tables=("survey",))
    error = caught.value
    assert says in error.message
    assert (error.line, error.column) == (before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
    assert str(error) == f"line {error.line}, column {error.column}: {error.message}"
    assert str(error).isprintable()


def test_the_place_is_counted_in_the_whole_text() -> None:
    text = (
        "SELECT COUNT(*) FROM census;\n\n/* second\n*/ SELECT COUNT(*) FROM census\nWHERE sex = 'a\nb' AND age GLOB 3"
    )
    with pytest.raises(SqlError) as caught:
        parse_statements(CENSUS, text)
    assert (caught.value.line, caught.value.column) == (6, 12)


def test_a_union_of_too_many_conjunctions_is_refused_where_it_begins() -> None:
    pairs = " OR ".join(f"age = {number} AND income < {150 * (number + 1)}" for number in range(65))
    with pytest.raises(SqlError, match="line 1, column 35: the condition is a union of 65 conjunctions"):
        parse_statement(CENSUS, f"SELECT COUNT(*) FROM census WHERE {pairs}")
    fewer = pairs.rpartition(" OR ")[0]
    assert len(parse_statement(CENSUS, f"SELECT COUNT(*) FROM census WHERE {fewer}").where.alternatives) == 64


def test_a_part_of_an_and_that_leaves_few_conjunctions_spares_the_others() -> None:
    first, second = (
        " OR ".join(f"age = {number} AND income < {width * (number + 1)}" for number in range(40))
        for width in (150, 300)
    )
    found = parse_statement(CENSUS, f"SELECT COUNT(*) FROM census WHERE ({first}) AND ({second}) AND age = 1")
    assert found.query == CENSUS.query(age=1, income={"from": 0, "below": 300})


def test_too_many_comparisons_are_refused_at_the_first_that_is_too_many() -> None:
    text = "SELECT COUNT(*) FROM census WHERE " + " OR ".join(["age = 1"] * 1001)
    with pytest.raises(SqlError, match="more than 1,000 comparisons") as caught:
        parse_statement(CENSUS, text)
    assert caught.value.column == text.rindex("age") + 1
    assert parse_statement(CENSUS, text.rpartition(" OR ")[0])

"""What a statement is, whichever way it is worded."""

from __future__ import annotations

import pytest

from parcomp.errors import SqlError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.statement import Grouping, Item, Statement
from parcomp.sql import parse_statement, parse_statements
from tests.sql.bad_statements import CENSUS


def where(condition: str) -> Statement:
    return parse_statement(CENSUS, f"SELECT COUNT(*) FROM census WHERE {condition}")


SAME = [
    ["sex = 'F'", "NOT sex = 'M'", "sex <> 'M'", "sex IN ('F')", "sex NOT IN ('M')", "'F' = sex", "sex < 'G'"],
    [
        "age >= 65",
        "NOT age < 65",
        "age > 64",
        "64.5 <= age",
        "64 < age",
        "age BETWEEN 65 AND 1e9",
        "age NOT BETWEEN -5 AND 64",
    ],
    [
        "NOT (sex = 'M' OR age < 65)",
        "sex = 'F' AND age >= 65",
        "NOT sex = 'M' AND NOT age < 65",
        "age >= 65 AND sex = 'F' AND (sex = 'F' OR age >= 65)",
        "(sex = 'F' AND age >= 65) OR (age > 100 AND sex <> 'M')",
    ],
    [
        "sex = 'F' OR age < 30",
        "NOT (sex = 'M' AND age >= 30)",
        "age < 30 OR sex = 'F' OR sex = 'F' AND married",
        "(sex = 'F' OR age < 30) AND (sex = 'F' OR age < 30)",
    ],
    ["married", "married = TRUE", "TRUE = married", "married IS TRUE", "NOT married = FALSE", "NOT NOT (married)"],
    ["NOT married", "married = FALSE", "married <> TRUE", "married IS FALSE", "married < TRUE"],
    ["married IS NOT TRUE", "married IS DISTINCT FROM TRUE", "married IS NULL OR NOT married"],
    ["income < 150", "income >= 0 AND income < 150", "NOT income >= 150", "150 > income", "income < 150.0"],
    ["income IS NOT NULL", "income >= 0", "income < 750000", "income > -1", "income <= 750000", "income <> 750000"],
    [
        "FALSE",
        "NULL",
        "age = NULL",
        "NOT age = NULL",
        "age <> NULL",
        "age NOT IN (1, NULL)",
        "1 = 2",
        "age IS NULL",
        "age = 1.5",
    ],
    ["TRUE", "NOT FALSE", "1 = 1", "2 > 1 AND 'a' = 'a'", "TRUE OR sex = 'F'", "sex IN ('F', 'M') OR TRUE"],
    ["age < 200", "age IS NOT NULL", "age <> 1.5", "age < 60 OR age >= 60"],
    ["sex IN ('F', 'M')", "sex = 'F' OR sex = 'M'", "sex IS NOT NULL"],
    ["age < 119", "age <= 118", "age <> 119", "119 > age"],
    ["born = DATE '2020-01-01'", "born = '2020-01-01'", "born < DATE '2020-07-01'"],
    ["mixed = 1", "mixed NOT IN ('1', TRUE)", "mixed = 1.0"],
    ["mixed = '1'", "mixed NOT IN (1, TRUE)"],
    ['"Limit" = 3', '"Limit" > 2', 'census."Limit" = 3'],
]


@pytest.mark.parametrize("wordings", SAME, ids=lambda wordings: wordings[0])
def test_wordings_of_the_same_have_the_same_text(wordings: list[str]) -> None:
    texts = {where(wording).text for wording in wordings}
    assert len(texts) == 1


def test_what_differs_has_another_text() -> None:
    assert len({where(wordings[0]).text for wordings in SAME}) == len(SAME)


def test_an_or_across_attributes_is_charged_by_its_hull() -> None:
    statement = where("(sex = 'F' AND age < 20) OR (sex = 'F' AND age > 90 AND married)")
    assert len(statement.where.alternatives) == 2
    assert statement.query == CENSUS.query(sex="F", age=[{"from": 0, "to": 19}, {"from": 91, "to": 119}])
    assert where("sex = 'F' OR age < 20").query == CENSUS.query()


def test_categories_are_ordered_by_value_not_as_declared() -> None:
    domain = Domain({"size": Categorical(["small", "large", "medium"]), "code": Categorical([10, 9, 100])}, name="t")
    size = parse_statement(domain, "SELECT COUNT(*) FROM t WHERE size < 'small'")
    assert size.query == domain.query(size=["large", "medium"])
    code = parse_statement(domain, "SELECT COUNT(*) FROM t WHERE code BETWEEN 9 AND 99.5")
    assert code.query == domain.query(code=[9, 10])


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) from census",
        "SELECT COUNT(*) AS n FROM census;",
        "SELECT COUNT(*) n FROM survey AS s",
        "/* how many */ SELECT count ( * ) -- all\nFROM Census c;;",
        'SELECT (COUNT(*)) AS "n" FROM public.people',
        "SELECT COUNT(*) FROM census WHERE (((TRUE)))",
    ],
)
def test_counts_of_every_row_are_one_statement(text: str) -> None:
    assert parse_statement(CENSUS, text, tables=("survey", "public.people")).text == where("TRUE").text


def test_a_count_of_an_attribute_leaves_out_rows_that_have_no_value_of_it() -> None:
    counted = parse_statement(CENSUS, "SELECT COUNT(c.sex) FROM census c")
    assert counted.text == where("sex IN ('F', 'M')").text != where("TRUE").text
    assert counted.query.coverage_size == CENSUS.size


def test_sums_and_averages_are_of_an_attribute() -> None:
    total = parse_statement(CENSUS, "SELECT SUM(age) FROM census")
    assert (total.items, total.query) == ((Item("sum", "age"),), CENSUS.query(age={"not": []}))
    mean = parse_statement(CENSUS, "SELECT AVG(c.Age) AS mean FROM census c WHERE sex = 'F'")
    assert mean.items == (Item("average", "age"),)
    assert mean.query == CENSUS.query(sex="F", age={"not": []})
    paid = Domain({"pay": Integer(0, 9, nullable=True)}, name="t")
    assert parse_statement(paid, "SELECT SUM(pay) FROM t").query == paid.query(pay={"not": None})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, married, COUNT(*) FROM census WHERE age < 30 GROUP BY sex, married",
        "SELECT married AS m, COUNT(*) AS n, sex FROM census WHERE age < 30 GROUP BY married, SEX",
        "SELECT COUNT(*) FROM census AS c WHERE c.age < 30 GROUP BY c.married, sex, sex",
        "SELECT COUNT(*) FROM census WHERE age < 30 GROUP BY (sex), married",
    ],
)
def test_group_by_names_attributes_in_any_order(text: str) -> None:
    statement = parse_statement(CENSUS, text)
    assert statement.groups == (Grouping(0), Grouping(3))
    assert list(statement.group_labels()) == [(sex, married) for sex in ("F", "M") for married in (True, False, None)]
    # A row whose value is not declared has no group.
    assert statement.query == CENSUS.query(sex={"not": []}, age=range(30), married={"not": []})


def test_groups_that_the_condition_rules_out_are_left_out() -> None:
    statement = parse_statement(CENSUS, "SELECT age, COUNT(*) FROM census WHERE age >= 118 AND sex = 'F' GROUP BY age")
    assert list(statement.group_labels()) == [(118,), (119,)]


def test_a_name_without_quotes_matches_in_any_case_if_that_is_clear() -> None:
    domain = Domain(
        {"age": Integer(0, 9), "Age": Integer(0, 9), "größe": Integer(0, 9), "year": Integer(0, 9)}, name="T"
    )
    queries = {
        '"age" = 1': domain.query(age=1),
        '"Age" = 1': domain.query(Age=1),
        "age = 1": domain.query(age=1),
        "GRÖßE = 1 AND Year = 2": domain.query({"größe": 1, "year": 2}),
    }
    for condition, query in queries.items():
        assert parse_statement(domain, f"SELECT COUNT(*) FROM t WHERE {condition}").query == query
    with pytest.raises(SqlError, match='written "age" or "Age"'):
        parse_statement(domain, "SELECT COUNT(*) FROM t WHERE AGE = 1")


def test_strings_have_no_escapes_but_doubled_quotes() -> None:
    domain = Domain({"name": Categorical(["O'Hara", "a\\", "x;y", "--"])}, name="t")
    for value, written in (("O'Hara", "'O''Hara'"), ("a\\", "'a\\'"), ("x;y", "'x;y'"), ("--", "'--'")):
        assert parse_statement(domain, f"SELECT COUNT(*) FROM t WHERE name = {written}").query == domain.query(
            name=value
        )


def test_constants_of_thirty_digits_are_exact() -> None:
    far = 10**30
    domain = Domain({"a": Integer(-far - 3, -far + 3), "b": Integer(far - 3, far + 3)}, name="t")
    for condition, query in {
        f"a = -{far + 1}": domain.query(a=-far - 1),
        f"a >= -{far + 1}": domain.query(a=range(-far - 1, -far + 4)),
        f"b < {far + 1}": domain.query(b=range(far - 3, far + 1)),
        f"b IN ({far - 1}, {far + 2}.0)": domain.query(b=[far - 1, far + 2]),
    }.items():
        assert parse_statement(domain, f"SELECT COUNT(*) FROM t WHERE {condition}").query == query


def test_each_statement_of_a_text_has_the_line_on_which_it_begins() -> None:
    text = "-- two\n\nSELECT COUNT(*)\nFROM census; ;\n/* and\n*/ SELECT SUM(age) FROM census"
    found = parse_statements(CENSUS, text)
    assert [(line, statement.items[0].kind) for line, statement in found] == [(3, "count"), (6, "sum")]
    assert parse_statements(CENSUS, " ; -- nothing") == []


def test_a_column_with_a_point_in_its_name_stands_in_quotes() -> None:
    """Without them it is a column of a table, and the error says what to write."""
    domain = Domain({"sample.yr": Integer(1995, 2003), "age": Integer(0, 119)}, name="study")
    quoted = parse_statement(domain, 'SELECT COUNT(*) FROM study WHERE "sample.yr" = 1997')
    assert quoted.query == domain.query({"sample.yr": 1997})
    with pytest.raises(SqlError, match=r"write the column 'sample\.yr' in double quotes"):
        parse_statement(domain, "SELECT COUNT(*) FROM study WHERE sample.yr = 1997")
    with pytest.raises(SqlError, match=r"unknown table 'sample'; the table is called study here"):
        parse_statement(domain, "SELECT COUNT(*) FROM study WHERE sample.age = 1997")

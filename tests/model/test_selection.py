"""Selections check themselves, and keep items as their statement does."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from parcomp.errors import WorkloadError
from parcomp.model import (
    Categorical,
    Column,
    Condition,
    Constant,
    Domain,
    Grouping,
    Integer,
    Item,
    Label,
    Mapped,
    Operation,
    Ordering,
    Selection,
    Statement,
    apply,
    as_value,
    item_name,
    items_in,
    rounded,
)

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9, nullable=True), "size": Integer(0, 5)})
EVERYTHING = Condition.of(DOMAIN.query())
COUNT = Item("count")
BY_SEX = Statement(EVERYTHING, (COUNT, Item("average", "age")), (Grouping(0),))


def test_equal_selections_are_equal_and_hash_alike() -> None:
    one, other = (Selection(BY_SEX, (Column("n", Operation("*", (COUNT, Constant(Fraction(2))))),)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Selection(BY_SEX, (Column("n", COUNT),))
    assert one != Selection(BY_SEX, one.columns, limit=3)


def test_items_stand_as_the_statement_keeps_them() -> None:
    """A count of an attribute of which all rows of the statement have a value is the count of rows."""
    statement = Statement(EVERYTHING, (Item("count", "age"), Item("average", "age")))
    selection = Selection(
        statement,
        (Column("n", Item("count", "age")),),
        having=Operation(">", (Item("count", "age"), Constant(Fraction(3)))),
        order=(Ordering(Item("count", "age")),),
    )
    assert [*items_in(selection.columns[0].expression)] == [COUNT]
    assert selection.having == Operation(">", (COUNT, Constant(Fraction(3))))
    assert selection.order == (Ordering(COUNT),)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"columns": ()}, "a column at least"),
        ({"columns": (Column("n", Item("sum", "age")),)}, r"SUM\(age\) is no item"),
        ({"columns": (Column("n", Label(1)),)}, "1 groups, not one at 1"),
        ({"columns": (Column("n", Mapped(-1, ())),)}, "not one at -1"),
        ({"columns": (Column("n", Operation("launch", (COUNT,))),)}, "unknown operation 'launch'"),
        ({"having": Item("sum", "age")}, "no item"),
        ({"order": (Ordering(Item("sum", "age")),)}, "no item"),
        ({"limit": -1}, "LIMIT is a whole number, not -1"),
        ({"limit": True}, "LIMIT is a whole number"),
        ({"offset": 1.5}, "OFFSET is a whole number"),
    ],
)
def test_what_does_not_fit_the_statement_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(WorkloadError, match=says):
        Selection(BY_SEX, **{"columns": (Column("n", COUNT),), **fields})  # type: ignore[arg-type]


def test_names_are_told_apart() -> None:
    columns = [Column(name, COUNT) for name in ("n", "n", "n_2", "n")]
    assert [column.name for column in Selection(BY_SEX, tuple(columns)).columns] == ["n", "n_2", "n_2_2", "n_3"]


def test_a_statement_as_it_is_lists_groups_and_items_by_name() -> None:
    selection = Selection.of(BY_SEX)
    assert [column.name for column in selection.columns] == ["sex", "AVG(age)", "COUNT(*)"]
    assert not selection.picks_by_noise


def test_items_are_named_as_sql_writes_them() -> None:
    items = [
        Item("count", "age"),
        Item("distinct", "age"),
        Item("deviation", "age"),
        Item("deviation", "age", sample=False),
        Item("quantile", "age", Fraction(9, 10)),
    ]
    names = ["COUNT(age)", "COUNT(DISTINCT age)", "STDDEV(age)", "STDDEV_POP(age)", "QUANTILE_CONT(age, 0.9)"]
    assert [item_name(item) for item in items] == names


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("/", (1, 0), None),
        ("div", (-7, 2), -3),
        ("%", (-7, 2), -1),
        ("%", (7, 0), None),
        ("round", ("5/2",), 3),
        ("round", ("-5/2",), -3),
        ("round", ("1/3", 2), "33/100"),
        ("trunc", ("-7/2",), -3),
        ("trunc", ("1239/1000", 2), "123/100"),
        ("sqrt", (-1,), None),
        ("ln", (0,), None),
        ("exp", (100_000,), None),
        ("power", (0, -1), None),
        ("power", (2, 10), 1024),
        ("greatest", (None, 3, 2), 3),
        ("least", (None, None), None),
        ("coalesce", (None, 4), 4),
        ("nullif", (None, 1), None),
        ("nullif", (1, None), 1),
        ("+", (1, None), None),
        ("sign", (-3,), -1),
    ],
)
def test_arithmetic_is_that_of_sql(name: str, arguments: tuple[int | str | None, ...], value: int | str | None) -> None:
    given = [None if one is None else Fraction(one) for one in arguments]
    assert apply(name, given) == (None if value is None else Fraction(value))


def test_numbers_do_not_grow_without_end() -> None:
    """Twenty-four squares of a number, as a short statement can ask for, and their order is kept."""
    for start in (Fraction(10**6), Fraction(-(10**6)), Fraction(1, 10**6), Fraction(10**6 + 1, 10**6)):
        number, larger = start, start + Fraction(1, 10**9)
        for _ in range(24):
            number, larger = (apply("*", (one, abs(one))) for one in (number, larger))  # type: ignore[arg-type]
            assert isinstance(number, Fraction)
            assert isinstance(larger, Fraction)
            assert number <= larger
        assert number.numerator.bit_length() <= 2 * 4_097
        assert as_value(number) is not None
    assert apply("power", (Fraction(10**300), Fraction(64))) is None
    assert apply("power", (Fraction(2), Fraction(1_000_000))) is None


def test_logic_has_three_values() -> None:
    values = (True, False, None)
    for one in values:
        for other in values:
            assert apply("and", (one, other)) is (
                False if False in (one, other) else None if None in (one, other) else True
            )
            assert apply("or", (one, other)) is (
                True if True in (one, other) else None if None in (one, other) else False
            )
    assert [apply("not", (one,)) for one in values] == [False, True, None]
    assert apply("case", (None, "a", False, "b", "c")) == "c"
    assert apply("case", (None, "a", True, "b", "c")) == "b"
    assert apply("same", (None, None)) is True
    assert apply("is null", (None,)) is True


def test_numbers_are_shown_whole_where_they_are() -> None:
    assert [as_value(one) for one in (Fraction(4), Fraction(1, 4), "x", None, True)] == [4, 0.25, "x", None, True]
    assert rounded(Fraction(1, 3), 1_000_000) == rounded(Fraction(1, 3), 30)


@pytest.mark.parametrize("digits", [3, 12, 30])
def test_logarithms_are_precise_where_floats_of_their_arguments_are_not(digits: int) -> None:
    """Intervals allow for an error of one in 10¹², and the float nearest to 1 + 10⁻³⁰ is 1."""
    small = Fraction(1, 10**digits)
    # ln(1 + x) = x - x²/2 + x³/3 - …, and ATANH(1 - x) = ln((2 - x) / x) / 2.
    near = sum((-1) ** (power + 1) * small**power / power for power in range(1, 8))
    for name, base in (("ln", 1.0), ("log", math.log(10)), ("log2", math.log(2))):
        found = apply(name, (1 + small,))
        assert isinstance(found, Fraction)
        assert abs(found * Fraction(base) / near - 1) < Fraction(1, 10**13)
    for sign in (1, -1):
        found = apply("atanh", (sign * (1 - small),))
        wanted = sign * (math.log(2 - float(small)) + digits * math.log(10)) / 2
        assert isinstance(found, Fraction)
        assert float(found) == pytest.approx(wanted, rel=1e-13)
    assert [apply(name, (Fraction(8),)) for name in ("log2", "atanh")] == [3, None]
    assert apply("atanh", (Fraction(1),)) is apply("atanh", (Fraction(-1),)) is None

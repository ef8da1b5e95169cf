"""Columns are found by name and checked by type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parcomp.data.encoding import match_columns
from parcomp.data.sources.sql_types import UNREAD, sql_type
from parcomp.errors import DataError
from parcomp.model import Domain
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped

ATTRIBUTES: dict[str, Attribute] = {
    "strings": Categorical(["F", "M"]),
    "named integers": Categorical([1, 2]),
    "booleans": Categorical([True, False]),
    "integers": Integer(0, 9),
    "bins": Binned(0, 9, bins=3),
    "steps": Stepped("0", "9", "0.5"),
    "dates": Dated("2020-01-01", "2020-12-31"),
}
TEXT = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.null()]
NUMBERS = [pa.int8(), pa.uint64(), pa.decimal128(9, 2), pa.decimal256(60), pa.float16(), pa.float32(), pa.float64()]
DATES = [pa.date32(), pa.date64(), pa.dictionary(pa.int32(), pa.date32())]
TIMES = [pa.timestamp("s"), pa.timestamp("ns", "UTC")]
NEVER = [
    pa.binary(),
    pa.large_binary(),
    pa.time64("us"),
    pa.duration("s"),
    pa.list_(pa.int8()),
    pa.struct({"a": pa.int8()}),
]
TAKEN = {
    "strings": DATES,
    "booleans": [pa.bool_(), *NUMBERS],
    "dates": [*DATES, *TIMES],
    **dict.fromkeys(("named integers", "integers", "bins", "steps"), NUMBERS),
}


@pytest.mark.parametrize("declared", ATTRIBUTES)
@pytest.mark.parametrize("kind", [*TEXT, *NUMBERS, *DATES, *TIMES, pa.bool_(), *NEVER], ids=str)
def test_a_column_is_taken_or_refused_by_its_type(declared: str, kind: pa.DataType) -> None:
    """The message says what the column is, what the domain declares and what to do."""
    domain = Domain({"a": ATTRIBUTES[declared]})
    if kind in [*TEXT, *TAKEN[declared]]:
        assert match_columns(domain, {"a": kind}) == ["a"]
        return
    with pytest.raises(DataError, match=r"a: the column is of type .* the domain declares .*; cast it in a view"):
        match_columns(domain, {"a": kind})


def test_a_column_is_found_whatever_its_case_if_it_is_the_only_one() -> None:
    """The exact name comes first; two others leave it open."""
    domain = Domain({"Age": Integer(0, 9)})
    assert match_columns(domain, {"AGE": pa.int64(), "Age": pa.int8()}) == ["Age"]
    assert match_columns(domain, {"sex": pa.string(), "AGE": pa.int64()}) == ["AGE"]
    with pytest.raises(DataError, match="Age: several columns differ from it in case only; the columns are AGE, age"):
        match_columns(domain, {"AGE": pa.int64(), "age": pa.int8()})
    with pytest.raises(DataError, match="Age: no column has this name; the columns are sex, ages"):
        match_columns(domain, {"sex": pa.string(), "ages": pa.int64()})


def test_values_of_several_types_fit_no_column() -> None:
    with pytest.raises(DataError, match="values of several types"):
        match_columns(Domain({"a": Categorical(["1", 1])}), {"a": pa.string()})


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("ENUM('a(b)', 'c')", pa.string()),
        ("DECIMAL(18,3)", pa.decimal128(38)),
        ("numeric", pa.decimal128(38)),
        ("UHUGEINT", pa.decimal128(38)),
        ("character varying(20)", pa.string()),
        ("timestamp(3) without time zone", pa.timestamp("us")),
        ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC")),
        *(
            (name, UNREAD)
            for name in ("INTEGER[]", "STRUCT(a INTEGER)", "json", "interval", "TIME", "BLOB", "integer[]")
        ),
    ],
)
def test_types_are_known_by_the_names_that_databases_give_them(written: str, kind: pa.DataType) -> None:
    assert sql_type(written) == kind

"""Data frames that are refused, with what to do and nothing that they hold."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from parcomp.data.encoding import TableEncoder, match_columns
from parcomp.data.sources.frame import FrameSource
from parcomp.errors import DataError
from parcomp.model import Domain

LATE = dt.datetime(2020, 5, 1, 23, 30)
OBJECTS = [
    *(0, 1, True, 1.5, 0.1, float("inf"), None, 2**53 + 1, Decimal("0.1"), Decimal("1e20"), "1", "a", b"a"),
    *(np.float32(0.1), np.float32(0.35), np.float16(0.1), np.int8(1), np.uint64(2**63), np.str_("a"), np.bool_(True)),
    *(LATE, LATE.replace(tzinfo=dt.UTC), LATE.date(), LATE.time(), dt.timedelta(1), pd.NaT, pd.NA),
    *(pd.Timestamp(LATE), pd.Timestamp(LATE, tz="US/Eastern"), np.datetime64("2020-05-01T23:30")),
]
"""What a column of Python's objects may hold."""


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([["secret", 2]], columns=["a", "a"]), "the columns a, a have the same name"),
        (pd.DataFrame([["secret", 2]], columns=["a", "A"]), "the columns a, A have the same name or differ in case"),
        (pd.DataFrame({"a": [1, "secret"]}), "a column with values of several types"),
        (pd.DataFrame({"a": pd.Series([2**70, 1], dtype=object)}), "convert each column to one type"),
        ({"a": [1]}, "a table is one of pandas, polars, pyarrow or Ibis"),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        FrameSource(frame)
    assert "secret" not in str(caught.value)
    assert str(2**70) not in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]"])
def test_nan_is_how_pandas_stores_what_is_missing(dtype: str) -> None:
    """In every kind of column, also in one of Arrow's, which could tell the two apart."""
    missing: Any = pd.arrays.ArrowExtensionArray(pa.array([1.0, float("nan"), None]))
    series = pd.Series(missing if dtype == "double[pyarrow]" else [1.0, float("nan"), None], dtype=dtype)
    [batch] = FrameSource(pd.DataFrame({"a": series})).batches(["a"])
    assert batch.column(0).to_pylist() == [1.0, None, None]


@pytest.mark.parametrize("categories", [[], np.array([], float), np.array([], "datetime64[ns]")])
@pytest.mark.parametrize("attribute", [{"values": ["a", "b"]}, {"low": 0, "high": 9}, {"values": [False, True]}])
def test_categories_of_which_there_are_none_are_null_to_every_attribute(
    attribute: dict[str, Any], categories: Any
) -> None:
    domain = Domain.described({"name": "t", "attributes": {"a": {**attribute, "nullable": True}}})
    source = FrameSource(pd.DataFrame({"a": pd.Categorical([None, None], categories=categories)}))
    assert match_columns(domain, source.types) == ["a"]
    assert [batch.column(0).null_count for batch in source.batches(["a"])] == [2]


@pytest.mark.parametrize(
    "attribute",
    [
        {"low": 0, "high": 9},
        {"low": "0", "high": "9", "step": "0.1"},
        {"values": ["1", "a", "True"]},
        {"low": "2020-01-01", "high": "2020-12-31", "unit": "day"},
        {"low": "2020-01-01", "high": "2020-12-31", "unit": "hour"},
    ],
    ids=["integers", "decimals", "texts", "days", "hours"],
)
def test_the_code_of_an_object_does_not_depend_on_other_rows(attribute: dict[str, Any]) -> None:
    """Arrow takes the type of a column from the first object: a time after a date would lose its hours."""
    domain = Domain.described({"name": "objects", "attributes": {"a": attribute}})

    def codes(*objects: Any) -> list[int] | None:
        try:
            source = FrameSource(pd.DataFrame({"a": pd.Series(objects, dtype=object)}), ["a"])
            encoder = TableEncoder(domain, (), "Europe/Vienna")
            batches = encoder.encoded(source.batches(match_columns(domain, source.types)))
            return [code for batch in batches for code in batch.column(0).to_pylist()]
        except DataError:
            return None

    alone = [codes(one) for one in OBJECTS]
    assert sum(one is not None for one in alone) > 3
    for one, expected in zip(OBJECTS, alone, strict=True):
        if expected is None:
            continue
        for other in OBJECTS:
            before, after = codes(other, one), codes(one, other)
            assert before is None or before[1:] == expected, (one, other)
            assert after is None or after[:1] == expected, (one, other)


def test_one_time_with_a_zone_does_not_move_the_others() -> None:
    with pytest.raises(DataError, match="convert each column to one type"):
        FrameSource(pd.DataFrame({"a": pd.Series([LATE.replace(tzinfo=dt.UTC), *[LATE] * 9], dtype=object)}))


def test_one_double_does_not_move_narrow_floats_across_a_tie() -> None:
    """Beside it they would become the doubles equal to them, 0.3499…, which are nearer to another step."""
    narrow = [np.float32(0.35)] * 9
    FrameSource(pd.DataFrame({"a": pd.Series(narrow, dtype=object)}))
    for other in (0.5, 1, np.float64(0.5), np.int64(1)):
        with pytest.raises(DataError, match="convert each column to one type"):
            FrameSource(pd.DataFrame({"a": pd.Series([*narrow, other], dtype=object)}))


@pytest.mark.parametrize(
    "attribute", [{"low": "1969-12-30", "high": "2020-12-31"}, {"values": ["1969-12-31", "2020-02-28", "2020-02-29"]}]
)
def test_days_of_64_bits_may_be_off_midnight(attribute: dict[str, Any]) -> None:
    """And beyond all days of 32 bits; none of them makes encoding fail."""
    domain = Domain.described({"name": "days", "attributes": {"a": {**attribute, "nullable": True}}})
    stored = pa.array([1582934400000, 1582930800000, -1, None, 2**62, -(2**62)], pa.int64()).cast(
        pa.date64(), safe=False
    )
    source = FrameSource(pa.table({"a": stored}))
    [batch] = TableEncoder(domain, (), "UTC").encoded(source.batches(match_columns(domain, source.types)))
    found = [
        domain.row([code])["a"] if code < domain.attributes["a"].size else "outside"
        for code in batch.column(0).to_pylist()
    ]
    assert found == ["2020-02-29", "2020-02-28", "1969-12-31", None, "outside", "outside"]

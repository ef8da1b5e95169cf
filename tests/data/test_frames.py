"""Data frames that are refused, with what to do and nothing that they hold."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from parcomp.data.sources.frame import FrameSource
from parcomp.errors import DataError


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

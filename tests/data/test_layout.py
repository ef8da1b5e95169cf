"""The layout of coded tables: types, the gate for staged rows, and what a table says of itself."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from parcomp.data.layout import Imprint, checked, code_type, outside, staging_schema
from parcomp.errors import DataError
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.domain import Domain

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 127)})


@pytest.mark.parametrize(("size", "bits"), [(1, 8), (127, 8), (128, 16), (2**15 - 1, 16), (2**15, 32), (2**31 - 1, 32)])
def test_the_narrowest_type_holds_every_code_and_outside(size, bits):
    attribute = Integer(0, size - 1)
    assert outside(attribute) == size
    assert code_type(attribute).bit_width == bits
    assert np.iinfo(code_type(attribute).to_pandas_dtype()).max >= size


def test_a_type_has_room_for_outside_beside_null():
    assert code_type(Integer(0, 2**31 - 2, nullable=True)) == pa.int64()


def test_batches_are_put_in_order_and_typed():
    """Whatever integers they come in, and whichever columns they have besides."""
    batch = pa.RecordBatch.from_pydict({"x": ["a", "b"], "c1": [128, 0], "c0": [2, 1]})
    found = checked(batch, DOMAIN, persons=False)
    assert found.schema == staging_schema(DOMAIN, persons=False)
    assert found.to_pydict() == {"c0": [2, 1], "c1": [128, 0]}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"c0": [0]}, "have the columns c0, c1"),
        ({"c0": [0], "c1": ["x"]}, "have the columns"),
        ({"c0": [1000], "c1": [0]}, "have the columns"),
        ({"c0": [0], "c1": [None]}, "nulls"),
        ({"c0": [3], "c1": [0]}, "codes that"),
        ({"c0": [0], "c1": [129]}, "codes that"),
        ({"c0": [0], "c1": [-1]}, "codes that"),
    ],
)
def test_batches_that_are_no_staged_rows_are_refused(columns, problem):
    with pytest.raises(DataError, match=problem):
        checked(pa.RecordBatch.from_pydict(columns), DOMAIN, persons=False)


def test_keys_have_16_bytes():
    """Such as hash functions return, as binary data of any kind."""
    columns = {"c0": [0], "c1": [0], "p": [b"p" * 16], "h": [b"\0" * 16]}
    assert checked(pa.RecordBatch.from_pydict(columns), DOMAIN, persons=True).to_pydict() == columns
    with pytest.raises(DataError, match="in the types of the layout"):
        checked(pa.RecordBatch.from_pydict({**columns, "h": [b"short"]}), DOMAIN, persons=True)


def test_an_imprint_is_read_as_it_was_written():
    imprint = Imprint("people é", "1", "{}", "people.csv", "{}", "who", 3, 10, 9, 8, "00")
    assert Imprint.read(imprint.text) == imprint


@pytest.mark.parametrize("text", ["", "[]", "1", '{"format": 1}'])
def test_what_is_no_imprint_is_refused(text):
    with pytest.raises(DataError, match="parcomp load"):
        Imprint.read(text)


@pytest.mark.parametrize("change", [{"format": 2}, {"rows": "10"}, {"rows": True}, {"more": 1}])
def test_an_imprint_of_another_format_is_refused(change):
    document = json.loads(Imprint("people", "1", "{}", "people.csv").text)
    with pytest.raises(DataError, match="parcomp load"):
        Imprint.read(json.dumps(document | change))

"""Columns are found by name and checked by type."""

import ibis.expr.datatypes as dt
import pytest

from parcomp.data.columns import Column, columns_of_text_file, match_columns
from parcomp.errors import DataError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain

TEXT, NUMBERS, FLAGS = Categorical(["F", "M"]), Categorical([1, 2]), Categorical([True, False])
COUNT, BINS = Integer(0, 9), Binned(0, 9, bins=3)

TAKEN = [
    *[(attribute, kind) for attribute in (COUNT, NUMBERS, BINS) for kind in ("int8", "uint8", "int64", "uint64")],
    *[(attribute, kind) for attribute in (COUNT, NUMBERS, BINS) for kind in ("decimal(38, 0)", "decimal(5, 0)")],
    *[(BINS, kind) for kind in ("decimal(9, 2)", "float32", "float64", "decimal")],
    (TEXT, "string"),
    (TEXT, "date"),
    (FLAGS, "boolean"),
]


@pytest.mark.parametrize(("attribute", "kind"), TAKEN)
def test_a_column_of_the_right_type_is_taken(attribute, kind):
    assert match_columns(Domain({"a": attribute}), {"a": dt.dtype(kind)})[0].name == "a"


@pytest.mark.parametrize("attribute", [TEXT, NUMBERS, FLAGS, COUNT, BINS])
@pytest.mark.parametrize(
    "kind", ["int32", "decimal(9, 2)", "float64", "string", "date", "boolean", "timestamp", "uuid", "json"]
)
def test_every_other_type_is_refused_with_what_to_do(attribute, kind):
    """The message says what the column is, what the domain declares and what to do."""
    taken = {(id(attribute), str(dt.dtype(kind))) for attribute, kind in TAKEN} | {
        (id(a), "int32") for a in (COUNT, NUMBERS, BINS)
    }
    if (id(attribute), str(dt.dtype(kind))) in taken:
        match_columns(Domain({"a": attribute}), {"a": dt.dtype(kind)})
        return
    with pytest.raises(DataError, match=r"a: the column is of type .* the domain declares .*; cast it in a view"):
        match_columns(Domain({"a": attribute}), {"a": dt.dtype(kind)})


def test_a_column_is_found_whatever_its_case_if_it_is_the_only_one():
    """The exact name comes first; two others leave it open."""
    domain = Domain({"Age": COUNT})
    assert match_columns(domain, {"AGE": dt.int64, "Age": dt.int8})[0].name == "Age"
    assert match_columns(domain, {"sex": dt.string, "AGE": dt.int64})[0].name == "AGE"
    with pytest.raises(DataError, match="Age: several columns differ from it in case only; the columns are AGE, age"):
        match_columns(domain, {"AGE": dt.int64, "age": dt.int8})
    with pytest.raises(DataError, match="Age: no column has this name; the columns are sex, ages"):
        match_columns(domain, {"sex": dt.string, "ages": dt.int64})


def test_values_of_several_types_fit_no_column():
    with pytest.raises(DataError, match="values of several types"):
        match_columns(Domain({"a": Categorical(["1", 1])}), {"a": dt.string})


def test_the_domain_says_what_text_holds():
    """Nothing is guessed for a CSV file."""
    domain = Domain({"code": Categorical(["01"]), "age": COUNT, "income": BINS, "flag": FLAGS})
    kinds = [column.kind for column in columns_of_text_file(domain, ["flag", "CODE", "age", "income"])]
    assert kinds == ["string", "wide integer", "float", "boolean"]
    assert columns_of_text_file(domain, ["flag", "CODE", "age", "income"])[0] == Column("CODE", "string", as_text=True)

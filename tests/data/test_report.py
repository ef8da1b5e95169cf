"""What a report suspects of the values that are outside, in words."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pytest

from parcomp.data.encoding import AttributeReport, TableEncoder
from parcomp.model import Domain
from parcomp.model.attribute import Attribute, Categorical, Dated, Integer, Stepped


def reported(
    attribute: Attribute, cells: list, nulls: tuple[str, ...] = (), kind: pa.DataType | None = None
) -> AttributeReport:
    encoder = TableEncoder(Domain({"a": attribute}), nulls, "UTC")
    half = len(cells) // 2
    for part in (cells[:half], cells[half:]):
        list(encoder.encoded(iter([pa.record_batch({"x0": pa.array(part, kind or pa.string())})])))
    return encoder.report().attributes["a"]


AGE = Integer(0, 119)
SEX = Categorical(["F", "M"])
BORN = Dated("1900-01-01", "2029-12-31")


@pytest.mark.parametrize(
    ("attribute", "cells", "causes"),
    [
        (AGE, ["1", "NA", "NA", "n/a"], [r"`NA`, `n/a` look like null tokens \(3 values\): add to nulls under"]),
        (Integer(0, 9, nullable=True), ["NA", "1"], [r"`NA` looks like .* add to nulls under \[source\]$"]),
        (AGE, [None, "1", None], ["2 values are null: declare nullable = true"]),
        (AGE, ["1.5", "2"], ["1 value is no whole number, such as `1.5`; declare a step where they are decimals"]),
        (AGE, ["120", "-1"], ["2 values lie beyond low and high: widen them, or clip = true"]),
        (
            BORN,
            ["2020-01-01", "1.2.2020", "2030-01-01"],
            ["1 of 3 dates do not parse, such as `1.2.2020`.* convert others", "1 value lies beyond low and high"],
        ),
        (
            SEX,
            ["F", "f", " M", "x"],
            ["2 values differ .* in case or in blanks only", "1 value is not declared, such as `x`"],
        ),
        (Categorical([True, False]), ["yes", "1", "0", "TRUE"], ["1 value is no boolean, .* such as `yes`"]),
        (Stepped("0", "1", "0.1"), ["x", "0.1"], ["1 value is no number, such as `x`; declare values"]),
        (
            Stepped("0", "9", "0.1"),
            ["4,1", "0,5"],
            ["2 values are no numbers, such as .*; decimals are read with a point"],
        ),
        (
            Stepped("0", "9", "0.5"),
            ["4.1", "0.5"],
            [r"1 value lies between two steps of 0.5, and is taken to the nearest, in sums and averages too"],
        ),
        (Stepped("0", "9", "0.5"), ["4.50", "0.5", "1e0"], []),
        (BORN, [" 2020-01-01"], ["1 of 1 dates do not parse, .*; take the blanks away"]),
        (AGE, ["2020-01-01"], ["1 value is no whole number, .*; declare them as dates"]),
        (AGE, ["Ward 3"], ["1 value is no whole number, .*; declare values where they are names"]),
        (
            AGE,
            ["-99", "-99", "5"],
            [r"`-99` looks like a code for null \(2 values\): add to nulls .*, and nullable = true"],
        ),
        (AGE, ["-99", "-99", "200"], ["`-99` looks like a code for null", "1 value lies beyond low and high"]),
        (
            Integer(0, 119, clip=True),
            ["-99", "7"],
            ["1 value beyond low and high is taken to the nearer one, such as"],
        ),
        (
            Stepped("0", "9", "0.5", nullable=True, clip=True),
            ["-99.0", "-99.0", "9.5"],
            [
                r"`-99.0` looks .* \(2 values\): add to nulls under \[source\]$",
                "3 values beyond low and high are taken",
            ],
        ),
        (
            BORN,
            ["2031-01-01", "2032-01-01", "2033-01-01", "31.02.2020"],
            [
                "1 of 4 dates do not parse, such as `31.02.2020`; dates are read as ISO writes them",
                "3 values lie beyond",
            ],
        ),
        (SEX, ["F", "M"], []),
        (Categorical([True, False]), ["1", "0"], []),
    ],
)
def test_causes_are_named_with_their_numbers(attribute: Attribute, cells: list, causes: list[str]) -> None:
    found = reported(attribute, cells).causes
    assert len(found) == len(causes), found
    for cause, words in zip(found, causes, strict=True):
        assert re.match(words, cause), cause


def test_numbers_are_of_all_batches() -> None:
    found = reported(AGE, ["1", None, "x", "200", "1.5", "NA"], nulls=("NA",))
    assert found.as_json() == {"null": 2, "unknown": 0, "out_of_range": 1, "wrong_type": 2}
    assert found.outside == 5


def test_what_is_no_text_suggests_no_token() -> None:
    """NaN in a column of floats cannot be helped by a token for null."""
    found = reported(AGE, [float("nan"), 1.0], kind=pa.float64())
    assert found.causes == ("1 value is no whole number; declare a step where they are decimals",)


@pytest.mark.parametrize("kind", [pa.int32(), pa.float64(), pa.float32(), pa.uint64()])
def test_a_code_for_null_among_numbers_is_named_with_a_way_that_helps(kind: pa.DataType) -> None:
    """Tokens are texts, so that they are none for a column of numbers."""
    for clip in (False, True):
        found = reported(Integer(0, 50, clip=clip), [7, 99, 99, 99, 51], nulls=("99",), kind=kind)
        assert re.match(r"`99(\.0)?` looks like a code for null \(3 values\): make it null in a view", found.causes[0])
        assert (found.out_of_range, found.clipped) == ((0, 4) if clip else (4, 0))


def test_tokens_for_null_are_text() -> None:
    """A number that its engine has written is none, whatever it looks like."""
    written = pa.array([b"0", b"7", None], pa.large_binary())
    for cells, kind, nulls in ((["0", "7", None], pa.string(), 2), (written.to_pylist(), written.type, 1)):
        assert reported(AGE, cells, nulls=("0",), kind=kind).null == nulls


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["0.5", "0.6", "0.6", "0.5000000001", "12.3", "9.9", None, "x", "0.12345678901234567890"], pa.string()),
        ([0.5, 0.6, 0.6, 0.1 + 0.4, 12.3, 9.9, None, float("nan"), 0.1234567], pa.float64()),
        ([0.5, 0.6, 0.6, 0.5, 12.3, 9.9, None, float("inf"), 0.1], pa.float32()),
        ([Decimal(n) for n in ("0.50", "0.60", "0.60", "1.00", "12.30", "9.90", "0.01")], pa.decimal128(9, 2)),
    ],
)
def test_every_value_that_is_moved_to_a_step_is_counted(cells: list, kind: pa.DataType) -> None:
    """Not those beyond the ends, nor those that differ from a step by what doubles cannot carry."""
    for clip in (True, False):
        found = reported(Stepped("0", "9.5", "0.5", clip=clip), cells, kind=kind)
        assert found.rounded == 3
        assert found.clipped == (found.out_of_range == 0 and clip) * sum(
            cell is not None and cell != "x" and float(cell) > 9.75 for cell in cells
        )


def test_a_report_is_read_line_by_line() -> None:
    """It is what ``agree=print`` shows of a data frame."""
    encoder = TableEncoder(Domain({"age": AGE, "sex": SEX}), (), "UTC")
    list(encoder.encoded(iter([pa.record_batch({"x0": ["1", "NA"], "x1": ["F", "f"]})])))
    first, *causes = str(encoder.report()).splitlines()
    assert first == "2 rows, 1 of them with a value outside the domain"
    assert [cause.split(":")[0] for cause in causes] == ["age", "sex"]

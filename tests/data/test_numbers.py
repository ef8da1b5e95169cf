"""Doubles of a whole column are placed as each by itself is, in exact arithmetic."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from parcomp.data.encoding import TableEncoder
from parcomp.data.encoding.numbers import read_number
from parcomp.model import Domain
from parcomp.model.attribute import Attribute, Binned, Integer, Stepped
from tests.data.plain_reading import Narrow, Reader, narrowed


def codes_of(attribute: Attribute, array: pa.Array) -> list[int]:
    encoder = TableEncoder(Domain({"a": attribute}), (), "UTC")
    return [
        code for batch in encoder.encoded(iter([pa.record_batch({"x0": array})])) for code in batch["c0"].to_pylist()
    ]


def around(numbers: list[float]) -> list[float]:
    """The numbers and the doubles next to them."""
    return [math.nextafter(number, toward) for number in numbers for toward in (-math.inf, number, math.inf)]


@pytest.mark.parametrize("step", ["0.1", "0.01", "0.07", "0.3", "1e-7", "7e-9", "3", "1000", "0.001"])
@pytest.mark.parametrize("first", [0, -40, 10**6, 12_345_678])
def test_doubles_at_ties_go_to_the_even_step(step: str, first: int) -> None:
    """As their shortest decimals lie, which may be on the other side of a tie than the quotient of doubles."""
    attribute = Stepped(first * Decimal(step), (first + 200) * Decimal(step), step)
    numbers = around([float((first + place + Decimal("0.5")) * Decimal(step)) for place in range(200)])
    plain = [Reader(attribute).code(number) for number in numbers]
    assert codes_of(attribute, pa.array(numbers)) == plain
    assert codes_of(attribute, pa.array(map(repr, numbers))) == plain
    narrow = [narrowed(number) for number in numbers]
    array = pa.array([one.number for one in narrow], pa.float32())
    assert codes_of(attribute, array) == [Reader(attribute).code(one) for one in narrow]


@pytest.mark.parametrize("middle", [2**53, 2**60, 10**18, 10**22, -(2**62), 2**24, 10**20])
def test_floats_stand_for_the_integers_that_are_written_for_them(middle: int) -> None:
    """2.0**60 is written as 1.152921504606847e+18, which is 24 more than itself."""
    attribute = Integer(middle - 500, middle + 500)
    numbers = around(around([float(middle)]))
    assert codes_of(attribute, pa.array(numbers)) == [Reader(attribute).code(number) for number in numbers]
    narrow = narrowed(float(middle))
    assert codes_of(attribute, pa.array([narrow.number], pa.float32())) == [Reader(attribute).code(narrow)]


def test_whole_bins_beyond_what_doubles_tell_apart() -> None:
    attribute = Binned(2**60 - 512, 2**60 + 512, bins=1024)
    numbers = around([2.0**60])
    assert codes_of(attribute, pa.array(numbers)) == [Reader(attribute).code(number) for number in numbers]


def test_doubles_of_any_size_are_placed_without_a_word() -> None:
    """No warning of numpy's tells that a quotient is too large."""
    draw = random.Random(3)
    numbers = [draw.choice([-1, 1]) * draw.random() * 10.0 ** draw.randrange(-320, 308) for _ in range(2_000)]
    for attribute in (Stepped("-1e-200", "1e-200", "1e-200"), Binned(-0.5, 0.75, bins=5), Stepped(0, "1e200", "1e199")):
        assert codes_of(attribute, pa.array(numbers)) == [Reader(attribute).code(number) for number in numbers]


@pytest.mark.parametrize("zeros", [0, 5, 40])
def test_exponents_may_be_of_any_length(zeros: int) -> None:
    """Zeros in front of them count nothing, nor do digits without end."""
    assert read_number("1.5e" + "0" * zeros + "1") == 15
    assert read_number("15e-" + "0" * zeros + "1") == read_number("1.5")
    assert read_number("1e" + "9" * (zeros + 9)) == math.inf
    assert read_number("-1e+" + "9" * (zeros + 9)) == -math.inf
    assert read_number("-0e" + "9" * (zeros + 9)) == 0
    tiny = read_number("1e-" + "9" * (zeros + 9))
    assert tiny is not None
    assert 0 < tiny < read_number("1e-399")  # type: ignore[operator]


def test_a_narrow_float_has_a_short_decimal() -> None:
    """The judge's own: it agrees with numpy's."""
    draw = random.Random(4)
    for form, kind in (("f", "float32"), ("e", "float16")):
        for _ in range(300):
            one = narrowed(draw.uniform(-1, 1) * 10.0 ** draw.randrange(-6, 5), form)
            assert isinstance(one, Narrow)
            scalar = pa.scalar(one.number, pa.float64()).cast(kind, safe=False)
            assert float(one.shortest) == float(str(pa.array([scalar]).to_numpy(zero_copy_only=False)[0]))

"""The noisy search: what it asks for, what it comes to, and that it comes there again from its numbers alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcomp.noise
from parcomp.noise import Mechanism, halvings_of, search, searched, steps_of
from tests.property.strategies import many

NOISE = Mechanism("discrete-laplace", 3.0)


@pytest.mark.parametrize("width", [0, 5, 10**9])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 100, 2**31])
def test_without_noise_it_finds_the_place_in_no_more_steps_than_are_paid_for(
    size: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcomp.noise, "add_noise", lambda _, values: list(values))
    chance = random.Random(size)
    turns = sorted({0, size - 1, *(chance.randrange(size) for _ in range(20))})
    asked: list[list[int]] = [[] for _ in turns]

    def watched(which: int, turn: int) -> Callable[[int], int]:
        def function(at: int) -> int:
            asked[which].append(at)
            return at - turn

        return function

    found = search(NOISE, size, width, [watched(which, turn) for which, turn in enumerate(turns)])
    for turn, numbers, visited in zip(turns, found, asked, strict=True):
        assert len(numbers) <= steps_of(size)
        again, told = searched(numbers, size, width)
        assert (again, told.low) == (visited, turn)
        assert all(0 <= at < size - 1 for at in visited)
        assert told.under < turn <= told.over


def test_it_asks_for_few_numbers_more_than_halvings() -> None:
    sizes = range(1, 5_000)
    assert {steps_of(size) - halvings_of(size) for size in sizes} == {0, 1, 2}
    assert all(steps_of(size) <= max(1, size - 1) for size in sizes)
    assert steps_of(2**31) == 33


@many
@given(st.integers(1, 40), st.integers(0, 3), st.randoms())
def test_whatever_the_noise_is_what_was_asked_follows_from_the_numbers(
    size: int, width: int, chance: random.Random
) -> None:
    """So the next number depends on the data through noisy numbers alone; and what it tells is what they say."""
    asked: list[int] = []

    def function(at: int) -> int:
        asked.append(at)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parcomp.noise, "add_noise", lambda _, values: [chance.randint(-5, 5) for _ in values])
        [numbers] = search(NOISE, size, width, [function])
    visited, told = searched(numbers, size, width)
    assert visited == asked
    assert len(set(asked)) == len(asked) <= steps_of(size)
    pairs = list(zip(visited, numbers, strict=True))
    below = [(at, number) for at, number in pairs if at < told.low]
    above = [(at, number) for at, number in pairs if at >= told.low]
    assert told.low == told.high == halved(numbers, size)
    assert told.under == max((at for at, number in below if number < -width), default=-1)
    assert told.over == min((at for at, number in above if number >= width), default=size - 1)
    assert told.under < told.low <= told.over


def halved(numbers: list[int], size: int) -> int:
    """The value that the signs of the first numbers lead to."""
    low, high = 0, size - 1
    for number in numbers:
        if low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if number < 0 else (low, middle)
    return low


def test_what_is_left_goes_to_the_side_that_is_told_less() -> None:
    """A search that comes from below has told nothing above; it looks there twice as far as below, and then between."""
    # Of 0 … 99, by -9 at 49, -9 at 74, -1 at 87, -1 at 93, -1 at 96, 1 at 98 and 1 at 97 the value 97 is found.
    numbers = [-9, -9, -1, -1, -1, 1, 1]
    visited, told = searched(numbers, 100, 5)
    assert (visited, told.low, told.under, told.over) == ([49, 74, 87, 93, 96, 98, 97], 97, 74, 99)
    # Of 0 … 99, by 1 at 49, -9 at 24, -9 at 37, -9 at 43, -1 at 46, -1 at 48 the value 49 is found.
    visited, told = searched([1, -9, -9, -9, -1, -1, 7], 100, 5)
    assert (visited[:6], told.low, told.under) == ([49, 24, 37, 43, 46, 48], 49, 43)
    # The next is asked for 2·(49 − 43) above it.
    assert (visited[6], told.over) == (61, 61)


def test_each_number_has_noise_of_its_own_of_the_scale_that_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every true number goes through the sampler once, with the mechanism that is given."""
    drawn = []

    def watched(mechanism: Mechanism, values: list[int]) -> list[int]:
        drawn.append((mechanism, len(values)))
        return [0] * len(values)

    monkeypatch.setattr(parcomp.noise, "add_noise", watched)
    found = search(NOISE, 8, 1, [lambda at: at] * 5)
    assert drawn == [(NOISE, 5)] * 4
    assert [len(numbers) for numbers in found] == [4] * 5
    assert search(NOISE, 1, 1, [lambda at: at] * 2) == [[], []]
    assert search(NOISE, 8, 1, []) == []
    assert len(drawn) == 4

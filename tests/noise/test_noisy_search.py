"""The noisy search: what it asks for, what it comes to, and that it comes there again from its numbers alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcomp.noise
from parcomp.noise import Mechanism, search, searched, steps_of
from tests.property.strategies import many

NOISE = Mechanism("discrete-laplace", 3.0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 100, 2**31])
def test_without_noise_it_finds_the_place_in_no_more_steps_than_are_paid_for(
    size: int, monkeypatch: pytest.MonkeyPatch
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

    found = search(NOISE, size, [watched(which, turn) for which, turn in enumerate(turns)])
    for turn, numbers, visited in zip(turns, found, asked, strict=True):
        assert len(numbers) <= steps_of(size)
        assert searched(numbers, size) == (visited, turn)
        assert all(0 <= at < size - 1 for at in visited)


@many
@given(st.integers(1, 40), st.randoms())
def test_whatever_the_noise_is_what_was_asked_follows_from_the_numbers(size: int, chance: random.Random) -> None:
    """So the next number depends on the data through noisy numbers alone."""
    asked: list[int] = []

    def function(at: int) -> int:
        asked.append(at)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parcomp.noise, "add_noise", lambda _, values: [chance.randint(-2, 2) for _ in values])
        [numbers] = search(NOISE, size, [function])
    visited, found = searched(numbers, size)
    assert visited == asked
    assert len(set(asked)) == len(asked) <= steps_of(size)
    assert all(at < found for at, number in zip(visited, numbers, strict=True) if number < 0)
    assert all(at >= found for at, number in zip(visited, numbers, strict=True) if number >= 0)


def test_each_number_has_noise_of_its_own_of_the_scale_that_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every true number goes through the sampler once, with the mechanism that is given."""
    drawn = []

    def watched(mechanism: Mechanism, values: list[int]) -> list[int]:
        drawn.append((mechanism, len(values)))
        return [0] * len(values)

    monkeypatch.setattr(parcomp.noise, "add_noise", watched)
    found = search(NOISE, 8, [lambda at: at] * 5)
    assert drawn == [(NOISE, 5)] * 3
    assert [len(numbers) for numbers in found] == [3] * 5
    assert search(NOISE, 1, [lambda at: at] * 2) == [[], []]
    assert search(NOISE, 8, []) == []
    assert len(drawn) == 3

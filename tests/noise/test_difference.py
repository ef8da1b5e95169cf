"""How far X − s·Y strays: against sums over both distributions, and against draws of continuous ones."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from parcomp.noise import Mechanism, error_of_difference, spread_of_difference
from parcomp.noise.difference import tail_of_difference
from parcomp.noise.tails import NOISE_KINDS, NoiseKind, chances, one_sided_tails, tail_up


@pytest.mark.parametrize("kind", NOISE_KINDS)
@pytest.mark.parametrize("scale", [0.1, 0.7, 3.0, 60.0, 250.0, 400.0])
def test_one_sided_tails_are_half_of_both(kind: NoiseKind, scale: float) -> None:
    bounds = np.arange(0, math.ceil(5 * scale) + 2, dtype=np.float64)
    both = np.array([tail_up(kind, scale, int(bound)) for bound in bounds])
    assert np.abs(2 * one_sided_tails(kind, scale, bounds) - both).max() < 1e-6
    _, probabilities = chances(kind, min(scale, 60.0))
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("kind", NOISE_KINDS)
@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 2.5])
def test_the_tail_is_summed_over_both(kind: NoiseKind, slope: float) -> None:
    first, second = Mechanism(kind, 2.0), Mechanism(kind, 1.5)
    (x, p), (y, q) = chances(kind, 2.0), chances(kind, 1.5)
    distance = np.abs(x[:, np.newaxis] - slope * y)
    for bound in (0.0, 0.55, 1.0, 4.0, 11.3):
        exact = float((np.outer(p, q) * (distance > bound + 1e-12)).sum())
        assert tail_of_difference(first, second, slope, bound) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("kind", "slope"), [*product(NOISE_KINDS, [0.0, 0.5, 1.0, 3.0])])
def test_wide_noise_is_as_good_as_continuous(kind: NoiseKind, slope: float) -> None:
    """At the scale where sums give way to formulas both agree, and the spread is what 95 of 100 draws are within."""
    first = Mechanism(kind, 120.0)
    for bound in (60.0, 250.0, 500.0):
        summed = tail_of_difference(first, Mechanism(kind, 63.9), slope, bound)
        assert tail_of_difference(first, Mechanism(kind, 64.1), slope, bound) == pytest.approx(summed, abs=6e-3)
    width = float(spread_of_difference(first, Mechanism(kind, 80.0), 3.0, 0.95)(np.array([slope]))[0])
    generator = np.random.default_rng(7)
    draw = generator.laplace if kind == "discrete-laplace" else generator.normal
    drawn = np.abs(draw(0, 120.0, 200_000) - slope * draw(0, 80.0, 200_000))
    assert np.mean(drawn <= width) == pytest.approx(0.95, abs=3e-3)
    [error] = error_of_difference(first, Mechanism(kind, 80.0), np.array([slope]))
    assert error == pytest.approx(drawn.mean(), rel=0.02)


def test_the_spread_is_that_of_the_noise_where_the_slope_is_0() -> None:
    for kind in NOISE_KINDS:
        noise = Mechanism(kind, 7.0)
        width = float(spread_of_difference(noise, noise, 2.0, 0.95)(np.array([0.0]))[0])
        assert math.floor(width) == noise.half_width()

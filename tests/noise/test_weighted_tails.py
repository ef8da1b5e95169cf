"""Half-widths of weighted sums of noise against their exact distribution, by plain convolution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from parcomp.noise import Mechanism, spread_of_sum
from parcomp.noise.tails import chances
from parcomp.noise.weighted_tails import _bound, _rounded, _spread

KINDS = ("discrete-laplace", "discrete-gaussian")


def exact(kind, terms):
    """The sum's values as multiples of 1/common, and their probabilities, noise by noise."""
    common = int(np.lcm.reduce([weight.denominator for weight, _, _ in terms]))
    at = {0: 1.0}
    for weight, scale, count in terms:
        values, probabilities = chances(kind, scale)
        for _ in range(count):
            following: dict[int, float] = {}
            for value, probability in zip(values.astype(int).tolist(), probabilities.tolist(), strict=True):
                if probability > 1e-13:
                    for known, mass in at.items():
                        place = known + value * int(weight * common)
                        following[place] = following.get(place, 0.0) + mass * probability
            at = {place: mass for place, mass in following.items() if mass > 1e-15}
    return {Fraction(place, common): mass for place, mass in at.items()}


def random_terms(draw, kind):
    largest = 1.5 if kind == "discrete-laplace" else 3.0
    return [
        (Fraction(int(draw.integers(1, 7)), int(draw.integers(1, 4))), float(draw.uniform(0.2, largest)), 1)
        for _ in range(draw.integers(2, 4))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_half_widths_hold_and_are_the_least(kind):
    """Within it lies what was asked for, and one step nearer less; the mean is that of the distribution."""
    draw = np.random.default_rng([41, KINDS.index(kind)])
    for _ in range(12):
        terms = random_terms(draw, kind)
        confidence = float(draw.choice([0.5, 0.8, 0.95, 0.99]))
        found, masses = spread_of_sum(kind, terms, confidence), exact(kind, terms)
        width = Fraction(found.half_width)
        within = sum(mass for value, mass in masses.items() if abs(value) <= width)
        assert within >= confidence - 1e-10
        assert sum(mass for value, mass in masses.items() if abs(value) < width * Fraction(999_999, 1_000_000)) < (
            confidence + 1e-8
        )
        assert found.exact
        assert found.expected_error == pytest.approx(sum(abs(v) * mass for v, mass in masses.items()), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_rounded_weights_and_bounds_hold_too(kind):
    """They are wider, and never too narrow; a width that leaves out what rounding leaves would be."""
    draw = np.random.default_rng([42, KINDS.index(kind)])
    for _ in range(8):
        terms = tuple(sorted(random_terms(draw, kind)))
        masses = exact(kind, terms)
        for outside in (0.05, 0.2):
            widths = [_bound(kind, terms, outside)]
            rounded = _rounded(kind, terms, outside, 2000 * _bound(kind, terms, 1e-12))
            widths += [] if rounded is None else [rounded.half_width]
            for width in widths:
                assert sum(mass for value, mass in masses.items() if abs(value) <= width) >= 1 - outside
    # A sum of many fine weights is rounded, and narrower than its bound.
    fine = tuple(sorted((Fraction(k * 7_919 % 2**20 + 1, 2**20), 3.0 + k % 5, 1) for k in range(30)))
    found = _spread(kind, fine, 0.95)
    assert not found.exact
    assert found.half_width < _bound(kind, fine, 0.05)
    noise = np.random.default_rng(43)
    sums = np.zeros(20_000)
    for weight, scale, _ in fine:
        values, probabilities = chances(kind, scale)
        sums += float(weight) * noise.choice(values, len(sums), p=probabilities)
    held = np.mean(np.abs(sums) <= found.half_width)
    assert 0.945 <= held <= 0.97


@pytest.mark.parametrize("kind", KINDS)
def test_one_noise_alone_is_as_its_mechanism_says(kind):
    """Also with a weight, and none at all has no width; signs and order do not matter."""
    alone = Mechanism(kind, 4.0)
    found = spread_of_sum(kind, [(Fraction(-3), 4.0, 1)])
    assert (found.half_width, found.expected_error) == (3 * alone.half_width(), 3 * alone.expected_error)
    assert spread_of_sum(kind, []).half_width == spread_of_sum(kind, [(Fraction(0), 4.0, 1)]).half_width == 0
    one = [(Fraction(1), 4.0, 2), (Fraction(-1, 2), 2.0, 1)]
    assert spread_of_sum(kind, one) == spread_of_sum(kind, [(Fraction(1, 2), 2.0, 1), *[(Fraction(1), 4.0, 1)] * 2])


@pytest.mark.parametrize("kind", KINDS)
def test_wide_noise_is_bounded(kind):
    """Where no transform is long enough."""
    found = spread_of_sum(kind, [(Fraction(1), 1e7, 2)])
    assert not found.exact
    assert 2.5e7 < found.half_width < 8e7

"""The samplers against the exact distributions, by draws.

Nothing is seeded: noise comes from the operating system.  So each comparison is allowed a false alarm once in 10⁹ runs,
which for the number of comparisons made here is below once in 10⁶ runs of the whole file.  The same comparison must
reject noise whose scale is off by 10 % in either direction, with a probability of at least 1 − 10⁻⁶.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from parcomp.noise import Mechanism, add_noise

KINDS = ("discrete-laplace", "discrete-gaussian")
SCALES = (0.5, 1.0, 3.7, 20.0, 100.0, 12345.6)
EACH = pytest.mark.parametrize(("kind", "scale"), [(kind, scale) for kind in KINDS for scale in SCALES])

DRAWS = 100_000
CALLS = 10
FALSE_ALARM = 1e-9
OFF = 1.1
CELLS = 60


@cache
def _drawn(kind, scale):
    """Noise of several calls, in the order in which it was drawn."""
    zeros = [0] * (DRAWS // CALLS)
    return np.array([one for _ in range(CALLS) for one in add_noise(Mechanism(kind, scale), zeros)], np.int64)


@cache
def _distribution(kind, scale):
    """The integers that matter, and their probabilities by plain sums."""
    reach = int((40 if kind == "discrete-laplace" else 10) * scale) + 20
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale if kind == "discrete-laplace" else -((k / scale) ** 2) / 2)
    return k, weights / weights.sum()


@cache
def _cells(kind, scale):
    """The upper ends of the cells but for the last, which is open: each with 1/CELLS of the draws or a little more.

    A cell has 1,600 expected draws or more, but for the two at the ends: for them 200 is enough.  Few and full cells
    keep the statistic close to the distribution of χ² as far out as FALSE_ALARM.
    """
    k, probabilities = _distribution(kind, scale)
    ends, collected, left = [], 0.0, 1.0
    for value, probability in zip(k.tolist(), probabilities.tolist(), strict=True):
        collected += probability
        if collected >= (1 / CELLS if ends else 0.002) and left - collected >= 0.002:
            ends.append(value)
            left -= collected
            collected = 0.0
    return np.array(ends)


def _cell_probabilities(ends, kind, scale):
    k, probabilities = _distribution(kind, scale)
    return np.bincount(np.searchsorted(ends, k), weights=probabilities, minlength=len(ends) + 1)


def _fits(drawn, kind, scale):
    """Whether χ² lets the draws pass for noise of this kind and scale."""
    ends = _cells(kind, scale)
    expected = _cell_probabilities(ends, kind, scale) * len(drawn)
    seen = np.bincount(np.searchsorted(ends, drawn), minlength=len(ends) + 1)
    return ((seen - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, len(ends))


def _within_chance(total, spread):
    """Whether a sum of many independent numbers of mean 0, of this standard deviation, passes for chance."""
    return abs(total) < norm.isf(FALSE_ALARM / 2) * spread


def _follows(before, after):
    """By how much two runs of yes and no, of one length, agree more often than chance, and the deviation of that."""
    first, second = before - before.mean(), after - after.mean()
    return (first * second).sum(), np.sqrt((first**2).sum() * (second**2).sum() / len(first))


@EACH
def test_draws_follow_the_exact_distribution(kind, scale):
    """χ² over the cells."""
    assert _fits(_drawn(kind, scale), kind, scale)


@EACH
def test_noise_that_is_off_by_a_tenth_is_rejected(kind, scale):
    """Draws of this scale, passed off as noise of a scale a tenth below or above."""
    assert not _fits(_drawn(kind, scale), kind, scale / OFF)
    assert not _fits(_drawn(kind, scale), kind, scale * OFF)


@EACH
@pytest.mark.parametrize("off", [OFF, 1 / OFF])
def test_the_comparison_is_sharp_enough(kind, scale, off):
    """The chance to miss noise of scale·off, by the noncentral χ² distribution."""
    ends = _cells(kind, scale)
    stated, actual = _cell_probabilities(ends, kind, scale), _cell_probabilities(ends, kind, scale * off)
    shift = DRAWS * ((actual - stated) ** 2 / stated).sum()
    assert ncx2.cdf(chi2.isf(FALSE_ALARM, len(ends)), len(ends), shift) < 1e-6
    assert (stated * DRAWS).min() > 199
    assert len(ends) >= 2


@EACH
def test_draws_are_symmetric_about_zero(kind, scale):
    """The mean is 0, and either sign as frequent as the other."""
    drawn, noise = _drawn(kind, scale), Mechanism(kind, scale)
    assert _within_chance(drawn.sum(), np.sqrt(len(drawn) * noise.variance))
    assert _within_chance(np.sign(drawn).sum(), np.sqrt((drawn != 0).sum()))
    assert not _within_chance((drawn + max(1.0, scale / 10)).sum(), np.sqrt(len(drawn) * noise.variance))


@EACH
def test_draws_tell_nothing_of_those_that_follow(kind, scale):
    """Neither sign nor size of an entry goes with those of the next, the one after, or its peer in the next call."""
    drawn, noise = _drawn(kind, scale), Mechanism(kind, scale)
    for features in (drawn > 0, np.abs(drawn) > noise.expected_error):
        for lag in (1, 2, DRAWS // CALLS):
            assert _within_chance(*_follows(features[:-lag], features[lag:]))


def test_noise_used_twice_is_noticed():
    """One draw for two neighboring entries, and one list of draws for two calls."""
    drawn = _drawn("discrete-laplace", 3.7)
    twice = np.repeat(drawn[: DRAWS // 2], 2) > 0
    assert not _within_chance(*_follows(twice[:-1], twice[1:]))
    call = DRAWS // CALLS
    again = np.tile(drawn[:call], 2) > 0
    assert not _within_chance(*_follows(again[:-call], again[call:]))

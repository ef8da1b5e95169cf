"""The joint distribution of the answers of a correlated strategy, by draws.

Answers are off by e = H⁺·noise.  If noise is what it should be, e has the covariance Σ = σ²·(HᵀH)⁻¹, and eᵀ·Σ⁻¹·e,
summed over many releases, is as good as χ² distributed.  Nothing is seeded; each comparison may raise a false alarm
once in 10⁹ runs, and must reject noise whose scale is off by a tenth.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2, norm

from parcomp.noise import Mechanism, add_noise, release
from parcomp.planning import plan
from parcomp.samples import paper_example

RELEASES = 3_000
FALSE_ALARM = 1e-9
COUNTS = [70, 40, 3, 55, 0, 12]


@cache
def planned():
    return plan(paper_example(), "gdp", "0.5", strategy="correlated")


@cache
def errors(off=1.0):
    """What the answers of many releases are off by, with noise of a scale that is off by this factor."""

    def drawn(mechanism, values):
        return add_noise(Mechanism(mechanism.kind, mechanism.scale * off), values)

    return np.array([release(planned(), COUNTS, draw=drawn) for _ in range(RELEASES)]) - COUNTS


def fits(drawn, sigma):
    """Whether all of Σ fits: the sum of squares in its own metric, and the correlation of any two of its directions."""
    noise = drawn @ planned().matrix.T / sigma
    square, count = float((noise**2).sum()), noise.size
    width = norm.isf(FALSE_ALARM)
    pairs = (noise.T @ noise / np.sqrt(len(noise)))[np.triu_indices(noise.shape[1], 1)]
    means = noise.sum(axis=0) / np.sqrt(len(noise))
    return (
        chi2.ppf(FALSE_ALARM, count) < square < chi2.isf(FALSE_ALARM, count)
        and (np.abs(pairs) < 1.2 * width).all()
        and (np.abs(means) < width).all()
    )


def test_answers_have_the_stated_covariance():
    assert fits(errors(), planned().sigma)


@pytest.mark.parametrize("off", [1 / 1.1, 1.1])
def test_noise_of_another_scale_is_rejected(off):
    """Drawn with another scale, or passed off as one."""
    assert not fits(errors(off), planned().sigma)
    assert not fits(errors(), planned().sigma * off)


def test_one_draw_for_all_coordinates_is_rejected():
    """Noise that is right for each coordinate, and the same for all of them."""
    drawn = np.array(add_noise(Mechanism("discrete-gaussian", planned().sigma), [0] * RELEASES))
    same = np.repeat(drawn[:, None], len(planned().matrix), axis=1)
    assert not fits(same @ np.linalg.inv(planned().matrix.astype(float)).T, planned().sigma)


def test_answers_are_off_by_what_was_planned():
    """The mean absolute error of each query, within chance."""
    mean = np.abs(errors()).mean(axis=0)
    chance = norm.isf(FALSE_ALARM) * np.abs(errors()).std(axis=0) / np.sqrt(RELEASES)
    assert (np.abs(mean - planned().expected_errors) < chance).all()
    assert (chance < 0.15 * mean).all()

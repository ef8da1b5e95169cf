"""Expected errors and utility gain, and the paper's Table 1 recomputed from its t and γ."""

import math

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError
from parcomp.planning import NOISES, average_error, expected_error, utility_gain, utility_gain_simple
from parcomp.samples import paper_example

TABLE_1 = [
    (9, 6, 0.333, 2.392, 1.9488),
    (120, 107, 0.108, 8.747, 8.254),
    (2, 2, 0.000, 1.133, 1.133),
    (267, 216, 0.191, 13.040, 11.734),
    (54, 34, 0.370, 5.850, 4.657),
    (68, 55, 0.191, 6.573, 5.921),
    (41, 17, 0.585, 5.116, 3.286),
    (38, 20, 0.474, 4.912, 3.568),
    (284, 208, 0.268, 13.446, 11.516),
    (883, 563, 0.362, 23.709, 18.940),
]
"""t, γ, utility gain, and the average l1 error under sequential and optimal composition at μ = 1."""


def simulated_average_error(noise, scales, repetitions, seed):
    """The average l1 error of a workload simulated so many times, and its standard error."""
    draw = np.random.default_rng(seed)
    averages = np.array([np.abs(simulated_noise(noise, scales, draw)).mean() for _ in range(repetitions)])
    return float(averages.mean()), float(averages.std(ddof=1) / math.sqrt(repetitions))


def simulated_noise(noise, scales, draw):
    """One number for each scale, by NumPy's generator: not for release."""
    match noise:
        case "laplace":
            return draw.laplace(0.0, scales)
        case "gaussian":
            return draw.normal(0.0, scales)
        case "discrete-laplace":
            # The difference of two geometric variables.
            stop = -np.expm1(-1 / scales)
            return (draw.geometric(stop) - draw.geometric(stop)).astype(np.float64)
        case "discrete-gaussian":
            return np.array([drawn_discrete_gaussian(float(sigma), draw) for sigma in scales])


def drawn_discrete_gaussian(sigma, draw):
    reach = math.ceil(10 * sigma)
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-((k / sigma) ** 2) / 2)
    return float(draw.choice(k, p=weights / weights.sum()))


@pytest.mark.parametrize(("t", "gamma", "gain", "sequential", "optimal"), TABLE_1)
def test_table_1(t, gamma, gain, sequential, optimal):
    """Gaussian noise of σ = √t and √γ: closed form, simulation and print agree within its standard error."""
    assert utility_gain_simple(gamma, t) == pytest.approx(gain, abs=6e-4)
    for size, printed in ((t, sequential), (gamma, optimal)):
        scales = np.full(t, math.sqrt(size))
        closed = average_error(expected_error("gaussian", scales))
        simulated, standard_error = simulated_average_error("gaussian", scales, 400, seed=size)
        assert abs(simulated - closed) <= 4 * standard_error
        assert abs(printed - simulated) <= 4 * standard_error
        # The paper averaged over more runs than that: its numbers are within half a percent of the closed form.
        assert printed == pytest.approx(closed, rel=5e-3)


def test_a_wrong_scale_is_noticed():
    """The simulation can tell σ from a σ that is 10 % larger."""
    scales = np.full(100, 10.0)
    simulated, standard_error = simulated_average_error("gaussian", scales * 1.1, 400, seed=1)
    assert abs(simulated - average_error(expected_error("gaussian", scales))) > 4 * standard_error


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0, 40.0])
def test_closed_forms_against_simulation(noise, scale):
    """Each mechanism's E|Y|, within four standard errors."""
    simulated, standard_error = simulated_average_error(noise, np.full(50, scale), 100, seed=7)
    assert abs(simulated - float(expected_error(noise, scale))) <= 4 * standard_error + 1e-12


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 15.9, 16.1, 100.0])
def test_discrete_forms_against_sums(scale):
    """The discrete mechanisms' E|Y| by summing over the integers."""
    k = np.arange(-40_000, 40_001)
    for noise, exponents in (("discrete-laplace", -np.abs(k) / scale), ("discrete-gaussian", -((k / scale) ** 2) / 2)):
        weights = np.exp(exponents)
        assert float(expected_error(noise, scale)) == pytest.approx(
            float((abs(k) * weights).sum() / weights.sum()), rel=1e-11
        )


def test_utility_gain_is_the_simple_form_for_equal_errors():
    """1 − γ/t, here 1 − 3/6; with unequal errors it weighs them."""
    answer = pc.max_overlap(paper_example())
    members = [int(str(member).removeprefix("q")) - 1 for member in answer.members]
    assert utility_gain(np.full(6, 2.5), members) == pytest.approx(utility_gain_simple(3, 6)) == 0.5
    assert utility_gain(np.array([1.0, 1, 1, 1, 4, 4]), members) == pytest.approx(1 - 3 / 12)
    assert utility_gain(np.zeros(0), []) == utility_gain_simple(0, 0) == average_error(np.zeros(0)) == 0


def test_bad_input_is_an_error():
    """Unknown noise, impossible scales, more overlap than queries."""
    with pytest.raises(ArgumentError, match="laplace, discrete-laplace"):
        expected_error("cauchy", 1.0)
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ArgumentError, match="positive"):
            expected_error("laplace", scale)
    with pytest.raises(ArgumentError, match="does not fit"):
        utility_gain_simple(7, 6)

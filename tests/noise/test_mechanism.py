"""The noise that a cost buys, and how far it strays, against exact distributions."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri_exp

from parcomp.costs import MAX_UNITS, UNITS_PER_ONE
from parcomp.errors import CostError, ParcompError
from parcomp.noise.mechanism import LARGEST_SCALE, LARGEST_VALUE, SMALLEST_SCALE, Mechanism, mechanism_for
from parcomp.planning import expected_errors
from parcomp.privacy.measures import GDP, MEASURES, PURE, ZCDP
from tests.noise.exact import probabilities, rest_of_gaussian

KINDS = ("discrete-laplace", "discrete-gaussian")
SCALES = (SMALLEST_SCALE, 0.1, 0.3, 0.5, 1.0, 1.7, 3.7, 10.0, 20.0, 100.0, 255.9, 256.1, 400.3)
CONFIDENCES = (1e-6, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-12)


def _of_any_size(largest):
    """Whole numbers whose sizes are spread evenly over all magnitudes."""
    return st.integers(0, largest.bit_length() - 1).flatmap(lambda bits: st.integers(1, min(2 << bits, largest)))


COSTS = _of_any_size(MAX_UNITS)
SENSITIVITIES = st.one_of(st.just(1), st.integers(1, 1000), _of_any_size(LARGEST_VALUE))


def _bought(measure, units, sensitivity):
    """The mechanism, or None where it cannot be drawn."""
    try:
        return mechanism_for(measure, units, sensitivity)
    except CostError:
        return None


@settings(max_examples=500, deadline=None)
@given(COSTS, SENSITIVITIES)
def test_laplace_scales_are_enough_and_hardly_more(units, sensitivity):
    """Δ/b ≤ ε in exact fractions; within 10⁻⁹, unless the smallest scale is reached."""
    needed = Fraction(sensitivity * UNITS_PER_ONE, units)
    noise = _bought(PURE, units, sensitivity)
    if noise is None:
        assert needed > Fraction(LARGEST_SCALE) * (1 - Fraction(1, 10**9))
        return
    assert noise.kind == "discrete-laplace"
    assert needed <= Fraction(noise.scale)
    assert noise.scale == SMALLEST_SCALE or Fraction(noise.scale) <= needed * (1 + Fraction(1, 10**9))


@settings(max_examples=500, deadline=None)
@given(COSTS, SENSITIVITIES)
def test_gaussian_scales_under_zcdp_are_enough_and_hardly_more(units, sensitivity):
    """Δ²/(2σ²) ≤ ρ in exact fractions; within 10⁻⁹, unless the smallest scale is reached."""
    needed = Fraction(sensitivity**2 * UNITS_PER_ONE, 2 * units)
    noise = _bought(ZCDP, units, sensitivity)
    if noise is None:
        assert needed > Fraction(LARGEST_SCALE) ** 2 * (1 - Fraction(1, 10**9))
        return
    assert noise.kind == "discrete-gaussian"
    assert needed <= Fraction(noise.scale) ** 2
    assert noise.scale == SMALLEST_SCALE or Fraction(noise.scale) ** 2 <= needed * (1 + Fraction(1, 10**9))


def _meets_mu(sigma, mu):
    """Whether μ*(σ) ≤ μ: as 1 − p₀ ≥ erfc(μ/√8), which has no inverse function in it."""
    return rest_of_gaussian(sigma) >= mp.erfc(mu / mp.sqrt(8))


@settings(max_examples=300, deadline=None)
@given(COSTS, SENSITIVITIES)
def test_gaussian_scales_under_gdp_are_enough_and_hardly_more(units, sensitivity):
    """Δ·μ*(σ) ≤ μ with 60 digits, where μ² is no more than the units paid; within what rounding the root costs."""
    noise = _bought(GDP, units, sensitivity)
    with mp.workdps(60):
        mu = mp.sqrt(mp.mpf(units) / UNITS_PER_ONE) / sensitivity
        if noise is None:
            assert 1 / mu > LARGEST_SCALE * (1 - 1e-4)
            return
        assert noise.kind == "discrete-gaussian"
        assert _meets_mu(noise.scale, mu)
        rounding = 1e-8 + 1 / math.isqrt(units * UNITS_PER_ONE)
        assert noise.scale == SMALLEST_SCALE or not _meets_mu(noise.scale * (1 - 2 * rounding), mu)


def test_gaussian_scales_under_gdp_are_enough_beyond_a_billion():
    """There μ* is from 1/σ to (1 + 10⁻¹⁸)/σ; in exact fractions, since the last digit of a float counts."""
    for units in (1, 7, 10**9 - 1):
        root = math.isqrt(units * UNITS_PER_ONE)
        for sensitivity in range(10**11, 10**11 + 50):
            needed = Fraction(UNITS_PER_ONE * sensitivity, root)
            scale = Fraction(mechanism_for(GDP, units, sensitivity).scale)
            assert needed * (1 + Fraction(1, 10**18)) <= scale <= needed * (1 + Fraction(1, 10**9))


def _edges(sigma, reach):
    """Φ⁻¹(F(k)) of a discrete Gaussian for k = −reach … reach − 1, each half from its own small end."""
    k = np.arange(-math.ceil(14 * sigma) - reach, 0)
    weights = np.exp(-((k / sigma) ** 2) / 2)
    below = ndtri_exp(np.log(np.cumsum(weights) / (1 + 2 * weights.sum())))[-reach:]
    return np.concatenate([below, -below[::-1]])


@pytest.mark.parametrize("sensitivity", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("mu", ["0.3", "1", "3"])
def test_a_shift_by_the_sensitivity_is_as_private_as_paid_for_under_gdp(mu, sensitivity):
    """Corner by corner to 10σ, T(Y, Y + Δ) lies above G_μ, and at Δ = 1 not above one that is tighter by 10⁻⁶."""
    sigma = mechanism_for(GDP, GDP.cost_up(mu), sensitivity).scale
    edges = _edges(sigma, math.ceil(10 * sigma) + sensitivity)
    asked = (edges[sensitivity:] - edges[:-sensitivity]).max()
    assert asked <= float(mu)
    assert asked > float(mu) * (1 - 1e-6 if sensitivity == 1 else 0.85)


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
@pytest.mark.parametrize("rho", ["0.01", "0.5", "2"])
def test_a_shift_by_the_sensitivity_is_as_private_as_paid_for_under_zcdp(rho, sensitivity):
    """The Rényi divergence of Y + Δ from Y, summed, is at most α·ρ at every order tried, and comes close to it."""
    units = ZCDP.cost_up(rho)
    sigma = mp.mpf(mechanism_for(ZCDP, units, sensitivity).scale)
    with mp.workdps(40):
        limit = mp.mpf(units) / UNITS_PER_ONE
        for order in (mp.mpf("1.01"), 2, 5, 20):
            reach = int(13 * sigma + order * sensitivity) + 2
            ks = range(-reach, reach + 1)
            ratios = mp.fsum(
                mp.exp(-(order * (k - sensitivity) ** 2 - (order - 1) * mp.mpf(k) ** 2) / (2 * sigma**2)) for k in ks
            )
            total = mp.fsum(mp.exp(-(mp.mpf(k) ** 2) / (2 * sigma**2)) for k in ks)
            divergence = mp.log(ratios / total) / (order - 1)
            assert divergence <= order * limit
            # An integer order shifts integers to integers, so that the bound is met.
            assert order == mp.mpf("1.01") or divergence > order * limit * (1 - 1e-8)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_cost_that_buys_too_much_noise_is_refused_with_one_that_can_be_drawn(measure):
    """The parameter that the message asks for is enough, and half of it is not."""
    sensitivity = 10**15
    units = measure.cost_up("0.0001")
    with pytest.raises(CostError, match=r"can be drawn; spend a .* or declare narrower bounds") as refused:
        mechanism_for(measure, units, sensitivity)
    least = float(str(refused.value).split("at least ")[1].split(",")[0])
    assert mechanism_for(measure, measure.cost_up(least), sensitivity).scale <= LARGEST_SCALE
    with pytest.raises(CostError):
        mechanism_for(measure, measure.cost_up(least / 2), sensitivity)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_the_least_cost_of_a_count_can_be_drawn_and_the_largest_gets_the_smallest_scale(measure):
    """All costs that can be booked are open to counts."""
    assert mechanism_for(measure, 1).scale <= 1.001e9
    assert mechanism_for(measure, MAX_UNITS).scale == SMALLEST_SCALE


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_more_cost_never_buys_more_noise(measure):
    """Also where one formula takes over from another."""
    units = np.unique(np.geomspace(1, 1e13, 120).astype(np.int64)).tolist()
    for sensitivity in (1, 10**5):
        scales = [mechanism_for(measure, one, sensitivity).scale for one in units]
        assert all(later <= sooner for sooner, later in pairwise(scales))


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_the_error_of_a_count_is_the_one_that_plans_state(measure):
    """Plans and answers speak of the same noise, but where both are as good as none."""
    units = np.unique(np.geomspace(1, 2e10, 60).astype(np.int64))
    errors = [mechanism_for(measure, one).expected_error for one in units.tolist()]
    np.testing.assert_allclose(errors, expected_errors(measure, units), rtol=1e-9)


@pytest.mark.parametrize("units", [0, -1, True, 1.5, MAX_UNITS + 1])
def test_units_that_are_not_a_cost_are_refused(units):
    """The range is named."""
    mechanism_for.cache_clear()
    with pytest.raises(CostError, match="a whole number from 1 to"):
        mechanism_for(PURE, units)


@pytest.mark.parametrize("sensitivity", [0, -3, 2.5, LARGEST_VALUE + 1])
def test_impossible_sensitivities_are_refused(sensitivity):
    """The range is named."""
    with pytest.raises(CostError, match="changes a number by must be a whole number from 1 to"):
        mechanism_for(PURE, 10**9, sensitivity)


@pytest.mark.parametrize("scale", [0.0, 0.0299, -1.0, math.nan, math.inf, 2 * LARGEST_SCALE, 1, "1"])
def test_scales_that_cannot_be_drawn_are_refused(scale):
    """A mechanism checks itself."""
    with pytest.raises(ParcompError, match=r"the scale of noise must be a float from 0\.03 to"):
        Mechanism("discrete-laplace", scale)


def test_an_unknown_kind_of_noise_is_refused():
    """The kinds are named."""
    with pytest.raises(ParcompError, match="there are discrete-laplace and discrete-gaussian"):
        Mechanism("laplace", 1.0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95, math.nan, "0.95"])
def test_impossible_confidences_are_refused(confidence):
    """An example is given."""
    with pytest.raises(ParcompError, match=r"such as 0\.95"):
        Mechanism("discrete-laplace", 1.0).half_width(confidence)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_half_widths_are_the_least_by_exact_sums(kind, scale):
    """The first r at which the sum of the probabilities of −r … r reaches the confidence."""
    noise = Mechanism(kind, scale)
    with mp.workdps(40):
        found = probabilities(kind, scale)
        within = [found[0]]
        for probability in found[1:]:
            within.append(within[-1] + 2 * probability)
        for confidence in CONFIDENCES:
            least = next(r for r, reached in enumerate(within) if reached >= mp.mpf(confidence))
            assert noise.half_width(confidence) == least


@pytest.mark.parametrize("scale", [1e4 + 0.1, 1e6, 1e9, 1e12, LARGEST_SCALE])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_half_widths_of_large_scales(scale, confidence):
    """The exact tail of the Laplace, and integrals on both sides of the tail of the Gaussian, let r be off by one."""
    slack = 1 + math.ceil(1e-11 * scale) if scale > 1e9 else 1
    with mp.workdps(40):
        outside, b = 1 - mp.mpf(confidence), mp.mpf(scale)

        def laplace_tail(r):
            return 2 * mp.exp(-(r + 1) / b) / (1 + mp.exp(-1 / b))

        r = Mechanism("discrete-laplace", scale).half_width(confidence)
        assert laplace_tail(r) <= outside < laplace_tail(r - 1 - slack)
        r = Mechanism("discrete-gaussian", scale).half_width(confidence)
        assert mp.erfc((r + 1) / (b * mp.sqrt(2))) <= outside < mp.erfc((r - 1 - slack) / (b * mp.sqrt(2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_expected_errors_and_variances_are_exact_sums(kind, scale):
    """Both moments by their definition."""
    noise = Mechanism(kind, scale)
    with mp.workdps(40):
        found = probabilities(kind, scale)
        error = float(2 * mp.fsum(k * probability for k, probability in enumerate(found)))
        variance = float(2 * mp.fsum(k * k * probability for k, probability in enumerate(found)))
    assert noise.expected_error == pytest.approx(error, rel=1e-11)
    assert noise.variance == pytest.approx(variance, rel=1e-11)


def test_moments_of_the_largest_scales_are_those_of_continuous_noise():
    """b and 2b² of the Laplace, σ·√(2/π) and σ² of the Gaussian."""
    for scale in (1e6, 1e9, LARGEST_SCALE):
        laplace, gaussian = Mechanism("discrete-laplace", scale), Mechanism("discrete-gaussian", scale)
        assert laplace.expected_error == pytest.approx(scale, rel=1e-11)
        assert laplace.variance == pytest.approx(2 * scale**2, rel=1e-11)
        assert gaussian.expected_error == pytest.approx(scale * math.sqrt(2 / math.pi), rel=1e-11)
        assert gaussian.variance == pytest.approx(scale**2, rel=1e-11)

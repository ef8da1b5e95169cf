"""Noise by OpenDP: what it says its noise costs, values at the ends, processes and threads."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcomp.costs import UNITS_PER_ONE
from parcomp.noise.mechanism import LARGEST_SCALE, LARGEST_VALUE, SMALLEST_SCALE, Mechanism, mechanism_for
from parcomp.noise.sampler import add_noise, measurement_of
from parcomp.privacy.measures import GDP, PURE, ZCDP

LAPLACE = Mechanism("discrete-laplace", 10.0)
WIDE = Mechanism("discrete-gaussian", 1e12)

COSTS = st.integers(0, 50).flatmap(lambda bits: st.integers(1 << bits, 2 << bits))
SENSITIVITIES = st.integers(0, 20).flatmap(lambda bits: st.integers(1, 2 << bits))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([PURE, ZCDP]), COSTS, SENSITIVITIES)
def test_by_openDPs_own_account_noise_costs_no_more_than_is_paid(measure, units, sensitivity):  # noqa: N802
    """The map of the measurement at the sensitivity, an exact fraction, is at most the cost; and it is most of it."""
    noise = mechanism_for(measure, units, sensitivity)
    cost = Fraction(measurement_of(noise).map(sensitivity))
    paid = Fraction(units, UNITS_PER_ONE)
    assert cost <= paid
    assert noise.scale == SMALLEST_SCALE or cost > paid * (1 - Fraction(1, 10**9))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([PURE, ZCDP, GDP]), COSTS, SENSITIVITIES)
def test_the_scale_is_taken_as_it_is_given(measure, units, sensitivity):
    """At a change of 1 the map is 1/b or 1/(2σ²) of this very scale, rounded up to the next float at most."""
    noise = mechanism_for(measure, units, sensitivity)
    scale = Fraction(noise.scale)
    exact = 1 / scale if noise.kind == "discrete-laplace" else 1 / (2 * scale**2)
    stated = measurement_of(noise).map(1)
    assert Fraction(math.nextafter(stated, 0.0)) < exact <= Fraction(stated)


def test_values_beyond_the_largest_are_moved_to_it():
    """No error, whatever the size, and noise is added to the end."""
    width = LAPLACE.half_width(1 - 1e-12)
    for value in (2**62 + 10**6, 2**63 - 1, 2**63, 2**64, 10**30, 10**400):
        top, bottom = add_noise(LAPLACE, [value, -value])
        assert abs(top - LARGEST_VALUE) <= width
        assert abs(bottom + LARGEST_VALUE) <= width


def test_values_within_are_not_moved():
    """Noise of the smallest scale leaves them as they are."""
    values = [0, 1, -1, 2**53 + 1, LARGEST_VALUE - 1, LARGEST_VALUE, -LARGEST_VALUE]
    assert add_noise(Mechanism("discrete-gaussian", SMALLEST_SCALE), values) == values


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
def test_noise_of_the_largest_scale_does_not_reach_the_ends(kind):
    """A sum at the end of 64 bits would mean that noise was cut off."""
    drawn = add_noise(Mechanism(kind, LARGEST_SCALE), [LARGEST_VALUE, -LARGEST_VALUE] * 500)
    assert max(map(abs, drawn)) < 2**63 - 1
    assert len(set(drawn)) > 990


def test_sums_beyond_64_bits_stop_at_the_end():
    """OpenDP neither wraps around nor fails; it is what makes an error that depends on data impossible."""
    top = 2**63 - 1
    drawn = measurement_of(LAPLACE)([top] * 400 + [-top - 1] * 400)
    assert top in drawn[:400]
    assert min(drawn[:400]) > top - 1000
    assert -top - 1 in drawn[400:]
    assert max(drawn[400:]) < 1000 - top


def test_integers_of_other_libraries_and_no_values_at_all():
    """NumPy's integers and booleans count as integers."""
    exact = Mechanism("discrete-gaussian", SMALLEST_SCALE)
    assert add_noise(exact, [np.int64(7), np.uint8(3), True]) == [7, 3, 1]
    assert add_noise(exact, np.arange(3)) == [0, 1, 2]
    assert add_noise(exact, []) == []


@pytest.mark.parametrize("value", [12345.5, "12345", None])
def test_what_is_no_integer_is_an_error_that_does_not_show_it(value):
    """The message may end up with an analyst."""
    with pytest.raises(TypeError) as refused:
        add_noise(LAPLACE, [value])
    assert "12345" not in str(refused.value)


def test_measurements_are_built_once():
    """Equal mechanisms share one."""
    assert measurement_of(Mechanism("discrete-laplace", 3.5)) is measurement_of(Mechanism("discrete-laplace", 3.5))


def test_equal_values_get_different_noise_in_one_call_and_in_the_next():
    """At this scale a single repetition is a broken generator."""
    drawn = [*add_noise(WIDE, [5] * 100), *add_noise(WIDE, [5] * 100)]
    assert len(set(drawn)) == 200


def test_threads_draw_different_noise():
    """A server draws in many of them at once."""
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: add_noise(WIDE, [0] * 50), range(20)))
    assert len({number for numbers in drawn for number in numbers}) == 1000


def test_forked_processes_draw_different_noise():
    """A generator that is copied with the process would hand out the same noise twice, which then cancels out."""
    add_noise(WIDE, [0])
    outputs = []
    for _ in range(3):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, " ".join(map(str, add_noise(WIDE, [0] * 4))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            outputs.extend(pipe.read().split())
    outputs.extend(map(str, add_noise(WIDE, [0] * 4)))
    assert len(outputs) == 16
    assert len(set(outputs)) == 16

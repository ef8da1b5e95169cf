"""What is known of noise: scales by costs and by errors, and intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError
from parcomp.estimation.noises import Separate, noise_of, scales_by_cost, scales_by_error
from parcomp.noise import Mechanism, mechanism_for
from parcomp.privacy import find_measure
from parcomp.samples import paper_example


def test_scales_follow_from_costs():
    """As a custodian would draw the noise."""
    paper = paper_example()
    for name, kind in (("pure", "laplace"), ("zcdp", "gaussian"), ("gdp", "gaussian")):
        plan = pc.plan(paper, name, 1)
        priced = plan.priced()
        assert noise_of(priced, None) == kind
        expected = [mechanism_for(find_measure(name), int(units)).scale for units in plan.units]
        assert scales_by_cost(priced).tolist() == pytest.approx(expected)
        same = pc.estimate(priced, [5.0] * 6)
        assert same.values.tolist() == pc.estimate(paper, [5.0] * 6, expected, noise=kind).values.tolist()
        errors = np.array(plan.expected_errors)
        assert scales_by_error(kind, errors) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ArgumentError, match="give the scale"):
        pc.estimate(paper, [5.0] * 6)
    with pytest.raises(ArgumentError, match="gaussian and laplace"):
        pc.estimate(paper, [5.0] * 6, 1.0, noise="uniform")


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_raw_intervals_hold_discrete_and_continuous_noise(kind):
    """By the exact tails of discrete noise, at every scale; and hardly wider than they must be."""
    for confidence in (0.5, 0.9, 0.95, 0.999):
        scales = np.geomspace(0.03, 300, 60)
        widths = Separate(kind, scales).half_widths_up(confidence)
        for scale, width in zip(scales.tolist(), widths.tolist(), strict=True):
            least = Mechanism(f"discrete-{kind}", scale).half_width(confidence)
            assert least <= width <= least + 1
    same = Separate(kind, np.full(100_000, 7.0))
    many = same.drawn(np.random.default_rng(1))
    assert np.std(many) == pytest.approx(same.deviations[0], rel=0.02)
    assert 0.95 <= np.mean(np.abs(many) <= same.half_widths_up(0.95)) <= 0.96

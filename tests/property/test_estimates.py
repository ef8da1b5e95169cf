"""Estimates of whatever workload can be written, against plain least squares over every row of its domain."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import parcomp as pc
from parcomp.model import Workload
from tests.nearest import nearest_possible
from tests.property.strategies import tiny_workloads


def cells_of(workload: Workload) -> np.ndarray:
    """``[q, r]``: whether query q covers row r, for every row of the domain."""
    rows = product(*(range(attribute.size) for attribute in workload.domain.attributes.values()))
    written = [workload.domain.row(codes) for codes in rows]
    return np.array([[query.covers(row) for row in written] for query in workload], np.float64).reshape(
        len(workload), len(written)
    )


@settings(deadline=None, max_examples=80)
@given(tiny_workloads(), st.integers(0, 2**32), st.floats(0.3, 100.0), st.sampled_from(["gaussian", "laplace"]))
def test_estimates_are_nearest_and_never_worse(workload, seed, scale, noise):
    """In root mean square, for the table and the noise that a seed gives."""
    draw = np.random.default_rng(seed)
    cells = cells_of(workload)
    truth = cells @ draw.poisson(draw.choice([0.1, 3.0, 100.0]), cells.shape[1])
    answers = truth + draw.normal(0, scale, len(truth))
    found = pc.estimate(workload, answers, scale, noise=noise, interval=None)
    assert found.proven
    assert np.linalg.norm(found.values - truth) <= np.linalg.norm(answers - truth) * (1 + 1e-9)
    if len(truth):
        away = np.linalg.norm(found.values - nearest_possible(cells, answers))
        assert away <= (0.02 * scale + 1e-7 * truth.max()) * len(truth) ** 0.5

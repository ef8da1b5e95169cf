"""Derived answers against every cell of small domains, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError, SizeError, WorkloadError
from parcomp.estimation import derive
from tests.soak import shared_with_soak
from tests.workloads import cell_matrix, random_judged


def in_span(cells, row):
    """Whether a row of 0 and 1 is a combination of others, by elimination in fractions."""
    lines = [[Fraction(int(entry)) for entry in line] for line in [*cells, row]]
    pivots = []
    for line in lines:
        for pivot, known in pivots:
            if line[pivot]:
                line[:] = [entry - line[pivot] * other for entry, other in zip(line, known, strict=True)]
        place = next((place for place, entry in enumerate(line) if entry), None)
        if line is lines[-1]:
            return place is None
        if place is not None:
            pivots.append((place, [entry / line[place] for entry in line]))
    return not any(row)


def least_variance(cells, row, noise):
    """That of the best weights, by the conditions of optimality in floats."""
    count = len(cells)
    system = np.block([[2 * noise, cells], [cells.T, np.zeros((cells.shape[1],) * 2)]])
    solution = np.linalg.lstsq(system, np.concatenate((np.zeros(count), row)), rcond=None)[0][:count]
    return float(solution @ noise @ solution)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
def test_what_follows_is_derived_exactly_and_nothing_else(chunk, outside):
    """The weights hold on every cell, the variance is the least, and None means that no weights do."""
    draw = np.random.default_rng([22, chunk, outside])
    derived = 0
    for _ in range(60):
        judged = random_judged(draw, most_queries=14)
        if len(judged.accepted) < 2:
            continue
        cells = np.unique(cell_matrix(judged, outside=outside), axis=1)
        *others, last = range(len(cells))
        root = draw.normal(size=(len(others), len(others)))
        noise = root @ root.T + np.eye(len(others)) if draw.random() < 0.5 else np.diag(draw.uniform(1, 5, len(others)))
        given = noise if draw.random() < 0.5 or (noise != np.diag(np.diag(noise))).any() else np.diag(noise)
        found = derive(judged.workload[last], judged.workload[others], given, outside=outside)
        assert (found is not None) == in_span(cells[others], cells[last])
        if found is not None:
            derived += 1
            sums = sum(
                (weight * line.astype(int) for weight, line in zip(found.weights, cells[others], strict=True)), 0
            )
            assert list(np.broadcast_to(sums, cells.shape[1])) == cells[last].astype(int).tolist()
            best = least_variance(cells[others], cells[last], noise)
            assert best * (1 - 1e-6) - 1e-9 <= found.variance <= best * 1.001 + 1e-9
    assert derived >= 5


def test_women_are_all_less_men():
    """With its error; and the mean of two ways where there are two, by their covariance."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 10**9)})
    queries = [domain.query(), domain.query(sex="M"), domain.query(age=pc.between(0, 20)), domain.query(sex="F")]
    released = pc.Workload(domain, queries)
    women = domain.query(sex="F")
    two = derive(women, released[[0, 1, 2]], np.array([4.0, 4.0, 1.0]))
    assert [float(weight) for weight in two.weights] == [1, -1, 0]
    assert two.variance == 8
    assert two.value(np.array([100.0, 40.0, 3.0])) == 60
    assert two.half_width() == pytest.approx(1.96 * np.sqrt(8), rel=1e-3)
    assert two.half_width_up("gaussian") > two.half_width()
    assert two.half_width_up("laplace") > two.half_width_up("gaussian")
    both = derive(women, released, np.array([4.0, 4.0, 1.0, 8.0]))
    assert both.variance == pytest.approx(4, rel=1e-5)
    assert derive(domain.query(sex="F", age=3), released, np.ones(4)) is None
    assert derive(women, released[[0, 1]], np.ones(2), outside=True) is None
    nothing = derive(domain.query(sex=[]), released, np.ones(4))
    assert (nothing.variance, set(nothing.weights)) == (0.0, {0})


def test_derived_answers_stray_as_far_as_they_say():
    """Unbiased, with the stated variance, over draws of correlated noise."""
    domain = pc.Domain({"a": pc.Integer(0, 5)})
    released = pc.Workload(domain, [domain.query(a=pc.between(0, high)) for high in range(5)] + [domain.query()])
    draw = np.random.default_rng(23)
    root = draw.normal(size=(6, 6))
    found = derive(domain.query(a=[2, 4]), released, root @ root.T)
    truth = np.array([1.0, 3.0, 6.0, 10.0, 15.0, 21.0])
    answers = truth + draw.normal(size=(4_000, 6)) @ root.T
    errors = np.array([found.value(one) for one in answers]) - 8
    assert np.mean(errors) == pytest.approx(0, abs=4 * np.sqrt(found.variance / 4_000))
    assert np.var(errors) == pytest.approx(found.variance, rel=0.1)
    assert np.mean(np.abs(errors) <= found.half_width_up("gaussian")) >= 0.98


def test_bad_arguments():
    """Of another domain, of the wrong shape, too many."""
    domain, other = pc.Domain({"a": pc.Integer(0, 5)}), pc.Domain({"b": pc.Integer(0, 5)})
    released = pc.Workload(domain, [domain.query(a=value) for value in (1, 2)])
    with pytest.raises(WorkloadError, match="another domain"):
        derive(other.query(), released, np.ones(2))
    for covariance in (np.ones(3), np.array([1.0, -1.0]), np.array([1.0, np.nan])):
        with pytest.raises(ArgumentError, match="covariance of 2 answers"):
            derive(domain.query(), released, covariance)
    many = pc.Workload(domain, [domain.query()] * 301)
    with pytest.raises(SizeError, match="at most 300"):
        derive(domain.query(), many, np.ones(301))

"""Small workloads in plain Python, against brute force and against the kernels."""

import subprocess
import sys

import numpy as np

from parcomp.bits import pack_bits
from parcomp.graph import build_query_graph, dsatur
from parcomp.overlap.bracket import Bracket
from parcomp.overlap.plain import coloring_bound, heaviest_overlap
from tests.workloads import SHAPES, heaviest_row, random_wide, random_workload, row_weight


def test_a_few_queries_are_solved_exactly():
    """3,000 tiny workloads, some wide ones; whatever is answered is right, and nearly all are answered."""
    answered = 0
    for seed in range(3_000):
        compiled = random_workload(seed)
        found = heaviest_overlap(compiled)
        if found is not None:
            answered += 1
            assert found.lower == found.upper == heaviest_row(compiled)[0] == row_weight(compiled, found.row)
    assert answered > 2_500


def test_within_a_box_only_its_rows_count():
    draw = np.random.default_rng(5)
    looked_at = 0
    for seed in range(1_000):
        compiled = random_workload(seed)
        sizes = compiled.sizes.tolist()
        if not sizes or max(sizes) == 0:
            continue
        attribute = int(draw.integers(len(sizes)))
        values = np.flatnonzero(draw.random(sizes[attribute]) < 0.5)
        if not len(values):
            continue
        flags = np.zeros(sizes[attribute], np.bool_)
        flags[values] = True
        found = heaviest_overlap(compiled, {attribute: pack_bits(flags)})
        if found is None:
            continue
        rows = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")], 1)
        rows = rows[np.isin(rows[:, attribute], values)]
        assert found.lower == found.upper == max(compiled.weigh(row.astype(np.int32)) for row in rows)
        assert found.row[attribute] in values
        looked_at += 1
    assert looked_at > 500


def test_beyond_64_queries_and_values_the_coloring_is_that_of_the_kernel():
    draw = np.random.default_rng(2)
    for shape in SHAPES:
        wide = random_wide(draw, shape, most_queries=100)
        compiled = wide.compiled()
        wanted = dsatur(build_query_graph(compiled)).weight
        found = coloring_bound(compiled, Bracket(0, compiled.total))
        assert found.upper == min(compiled.total, wanted)
        assert coloring_bound(compiled, Bracket(0, wanted - 1)).upper == wanted - 1


def test_a_small_question_is_answered_without_numba():
    """And so is an online decision on few queries."""
    script = """
import sys
import parcomp as pc
from parcomp.overlap import LiveOverlap
from parcomp.samples import paper_example
workload = paper_example()
assert pc.max_overlap(workload).upper == 3
live = LiveOverlap(workload.domain, 10)
assert all(live.add(query, 2) for query in workload)
assert live.quote(next(iter(workload)), 5).fits is False
assert "numba" not in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_first_call_of_a_process_knows_a_coloring():
    """With no time for anything but loading kernels the bound is still no higher than DSatur's."""
    script = """
import parcomp as pc
from parcomp.experiments.workloads import uniform_workload
from parcomp.graph import build_query_graph, dsatur
from parcomp.model.compile import compile_workload
workload = uniform_workload(100, 10, 3, seed=0)
found = pc.max_overlap(workload, time_limit=0.001)
graph = build_query_graph(compile_workload(workload).compiled)
assert found.upper <= dsatur(graph).weight < found.total, found
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr

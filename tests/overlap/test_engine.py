"""The engine as a whole: every combination of its pieces, its deadline, its progress and its interruption."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import parcomp as pc
from parcomp.experiments.workloads import dense_subsets
from parcomp.model.compile import compile_workload
from parcomp.overlap import engine as engine_module
from parcomp.overlap.engine import Engine, solve, solve_within
from parcomp.overlap.reduce.pipeline import Rule
from parcomp.overlap.search import Strategy
from tests.soak import shared_with_soak
from tests.workloads import heaviest_row, random_workload, row_weight

CHUNKS, PER_CHUNK = 50, 1_000
SOAKED = 35
"""How many of the chunks are left to ``make soak``."""

COMPLETE = {Strategy.BOX_SEARCH, Strategy.LEAN_SEARCH, Strategy.VALUE_SEARCH}


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, SOAKED))
def test_every_combination_of_pieces(chunk):
    """50,000 workloads, rules and strategies on or off, slices long and short: exact is exact, brackets sound."""
    draw = np.random.default_rng(chunk)
    for index in range(PER_CHUNK):
        compiled = random_workload(chunk * PER_CHUNK + index)
        truth, _ = heaviest_row(compiled)
        rules = [rule for rule in Rule if draw.random() < 0.7]
        strategies = [strategy for strategy in Strategy if draw.random() < 0.6]
        engine = Engine(compiled, rules, strategies)
        most = int(1 << draw.integers(1, 25))
        while engine.advance(most):
            bracket = engine.bracket()
            assert bracket.lower <= truth <= bracket.upper
        bracket = engine.bracket()
        assert bracket.lower == row_weight(compiled, bracket.row) <= truth <= bracket.upper
        if COMPLETE & set(strategies):
            assert bracket.lower == bracket.upper


def test_equal_work_gives_equal_brackets():
    """Work is counted, not time: two runs within the same work agree, row and all."""
    compiled = compile_workload(dense_subsets(60, 12, seed=3)).compiled
    first, second = (solve_within(compiled, 1 << 22) for _ in range(2))
    assert (first.lower, first.upper) == (second.lower, second.upper)
    assert np.array_equal(first.row, second.row)


def test_a_pause_leaves_no_threads_behind():
    """An abandoned search holds nothing that the garbage collector would have to wait for."""
    engine = Engine(compile_workload(dense_subsets(300, 12, 0)).compiled)
    before, started = threading.active_count(), set()
    threading.setprofile(lambda *_: started.add(threading.get_ident()))
    try:
        for _ in range(40):
            engine.advance(1 << 24)
            assert threading.active_count() == before
    finally:
        threading.setprofile(None)
    assert started, "no slice was large enough to be shared among threads"


def test_progress_reports_a_closing_bracket():
    """Progress is told brackets that only ever tighten."""
    told = []
    workload = dense_subsets(200, 12, seed=2)
    pc.max_overlap(workload, time_limit=2.0, progress=lambda lower, upper: told.append((lower, upper)))
    assert told
    assert all(lower <= upper for lower, upper in told)
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(told))


def test_interrupt_returns_the_bracket_so_far(monkeypatch):
    """Ctrl-C ends the search, not the answer."""
    compiled = compile_workload(dense_subsets(200, 12, seed=2)).compiled
    slices = 0

    def interrupted(self, most):
        nonlocal slices
        slices += 1
        if slices == 12:
            raise KeyboardInterrupt
        return original(self, most)

    original = engine_module.Engine.advance
    monkeypatch.setattr(engine_module.Engine, "advance", interrupted)
    bracket = solve(compiled, time.monotonic() + 60, until_interrupted=True)
    assert slices == 12
    assert bracket.lower == row_weight(compiled, bracket.row) <= bracket.upper < compiled.total
    slices = 0
    assert pc.max_overlap(dense_subsets(200, 12, seed=2)).upper <= bracket.upper
    assert slices == 12


def test_an_open_bracket_says_what_it_leaves_open():
    """No row weighs more than its upper end; of rows between the ends nothing is claimed."""
    workload = dense_subsets(300, 12, seed=0)
    answer = pc.max_overlap(workload, time_limit=3.0)
    assert not answer.exact
    *_, proven, left_open = answer.explanation
    assert proven.startswith("no row weighs more than the upper end: ")
    assert "heavier" not in proven
    lower, upper = answer.lower, answer.upper
    assert left_open == f"rows of more than {lower} and up to {upper} were not ruled out before the time was up"
    for method in ("clique", "chromatic"):
        answer = pc.max_overlap(dense_subsets(40, 12, seed=0, density=0.5), method=method)
        assert not answer.exact
        proven, left_open = answer.explanation
        assert proven.startswith("no row weighs more than the upper end: ")
        assert left_open.endswith("were not ruled out: this method does not search for them")


def test_an_exact_answer_says_that_no_row_weighs_more():
    explanation = pc.max_overlap(dense_subsets(60, 12, seed=3)).explanation
    assert explanation[-1].startswith("no row weighs more: ")
    assert not any("ruled out" in line for line in explanation)


def test_interrupt_of_what_needs_a_bracket_ends_it(monkeypatch):
    """A plan or a loss that took it for the end of its search would go on without a word."""
    workload = dense_subsets(200, 12, seed=2)

    def interrupted(self, most):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_module.Engine, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(compile_workload(workload).compiled, time.monotonic() + 60)
    with pytest.raises(KeyboardInterrupt):
        pc.privacy_loss(workload, "pure")
    with pytest.raises(KeyboardInterrupt):
        pc.plan(workload, "pure", 1)


def test_a_row_that_is_found_while_another_is_learned_is_not_lost():
    """The only search under way closes its bracket in the midst of a turn, when it is told of a lighter row."""
    chosen = (Strategy.SWEEP, Strategy.ROW_SEARCH, Strategy.COLORING, Strategy.BOX_SEARCH, Strategy.LEAN_SEARCH)
    for number in range(12_000, 13_000):
        compiled = random_workload(number)
        engine = Engine(compiled, strategies=chosen)
        while engine.advance(32):
            pass
        assert engine.bracket().lower == engine.bracket().upper == heaviest_row(compiled)[0]

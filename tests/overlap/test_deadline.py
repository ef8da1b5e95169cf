"""The time limit holds, set-up included, and whatever is cut short leaves a proven bracket."""

import threading
import time

import networkx as nx
import pytest

import parcomp as pc
from benchmarks.overlap import warm_up
from parcomp.experiments.workloads import dense_subsets, max_cut, mycielski, uniform_workload
from parcomp.model.compile import compile_workload
from parcomp.overlap.engine import Engine, solve_within

OVERRUN = 0.2
LIMITS = (1.0, 0.5, 0.05)

SHAPES = {
    "dense Max Cut of 60": lambda: max_cut(60, nx.gnp_random_graph(60, 0.5, seed=1).edges),
    "dense Max Cut of 150": lambda: max_cut(150, nx.gnp_random_graph(150, 0.5, seed=1).edges),
    "Mycielski 8": lambda: mycielski(8),
    "dense subsets": lambda: dense_subsets(500, 12, seed=1),
    "thousands of dense subsets": lambda: dense_subsets(3_000, 40, seed=1, attributes=20),
    "thousands of scattered subsets": lambda: uniform_workload(2_000, 20, 3, seed=1),
    "subsets of a million values": lambda: uniform_workload(100, 20, 6, seed=0),
}


class Watch:
    """The time since the deadline: by the clock, and what this process computed in it, whichever is less.

    Where others keep the processors busy, a process waits for its turn, and waiting is not its fault.  Processor time
    is sampled from another thread.  It is counted from the last sample before the deadline, so never too little of it.
    """

    def __init__(self, seconds):
        self._deadline = time.monotonic() + seconds
        self._at_deadline = time.process_time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self):
        while not self._stop.wait(0.002):
            computed = time.process_time()
            if time.monotonic() > self._deadline:
                return
            self._at_deadline = computed

    def overrun(self):
        late, computed = time.monotonic() - self._deadline, time.process_time()
        self._stop.set()
        self._thread.join()
        return min(late, computed - self._at_deadline)


@pytest.fixture(scope="module", autouse=True)
def _warm():
    """Have the kernels compiled, or loaded from their cache."""
    warm_up()


@pytest.mark.parametrize("shape", SHAPES)
def test_time_limit_holds_within_a_fifth_of_a_second(shape):
    """Adversarial input of every kind, limits that end in the midst of set-up: no overrun, and a sound bracket."""
    workload = SHAPES[shape]()
    began = time.monotonic()
    compile_workload(workload)
    compiling = time.monotonic() - began
    pc.max_overlap(workload, time_limit=LIMITS[0])
    for limit in LIMITS:
        # Once more if it fails: a kernel may be compiled for the first time.
        for _ in range(2):
            watch = Watch(max(limit, compiling))
            answer = pc.max_overlap(workload, time_limit=limit)
            overrun = watch.overrun()
            if overrun <= OVERRUN:
                break
        assert overrun <= OVERRUN, limit
        assert answer.lower <= answer.upper <= answer.total
        assert answer.lower == len(answer.members)


def test_a_bracket_is_sound_before_anything_is_done():
    """An engine that was not given any work knows a row and the total."""
    compiled = compile_workload(dense_subsets(60, 12, seed=3)).compiled
    bracket = Engine(compiled).bracket()
    assert bracket.upper == compiled.total
    assert 0 <= bracket.lower == compiled.weigh(bracket.row)


def test_set_up_that_is_cut_anywhere_leaves_a_bracket_that_only_closes():
    """However short the slices, the bracket never widens, holds the answer, and ends where long slices end."""
    compiled = compile_workload(uniform_workload(60, 8, 2, seed=4)).compiled
    whole = solve_within(compiled, 1 << 40)
    assert whole.lower == whole.upper
    engine = Engine(compiled)
    before = engine.bracket()
    pauses = 0
    while engine.advance(1 << 12):
        pauses += 1
        bracket = engine.bracket()
        assert before.lower <= bracket.lower <= whole.lower
        assert before.upper >= bracket.upper >= whole.upper
        before = bracket
    assert pauses > 30
    assert before.lower == before.upper == whole.upper


def test_less_time_for_reductions_changes_nothing_but_the_way():
    """With next to no work allowed on values, attributes are larger and the answer the same."""
    compiled = compile_workload(uniform_workload(40, 4, 5, seed=0)).compiled
    assert compiled.sizes.max() > 1 << 14
    engine = Engine(compiled, reduction_work=1)
    while engine.advance(1 << 24):
        pass
    short, whole = engine.bracket(), solve_within(compiled, 1 << 40)
    assert short.lower == short.upper == whole.lower == whole.upper
    assert short.lower == compiled.weigh(short.row)

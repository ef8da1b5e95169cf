"""One contract for every search: a sound bracket at each pause, and a course that depends on nothing but its input."""

import numpy as np
import pytest

from parcomp.graph import build_query_graph
from parcomp.overlap.box import BoxSearch
from parcomp.overlap.graph_search import GraphSearch
from parcomp.overlap.lean import LeanSearch
from parcomp.overlap.part import PartSearch
from parcomp.overlap.rows import RowSearch
from parcomp.overlap.search import Strategy
from parcomp.overlap.value import ValueSearch
from tests.workloads import heaviest_row, random_workload, row_weight

SEARCHES = {
    "row search": RowSearch,
    "box search": lambda compiled, *start: BoxSearch(compiled, build_query_graph(compiled), *start),
    "lean search": LeanSearch,
    "value search": ValueSearch,
    "coloring": lambda compiled, *start: GraphSearch(compiled, {Strategy.COLORING}, *start),
    "graph search": lambda compiled, *start: GraphSearch(compiled, {Strategy.COLORING, Strategy.BOX_SEARCH}, *start),
    "part search": lambda compiled, *_: PartSearch(compiled),
    "part search without shortcuts": lambda compiled, *_: PartSearch(
        compiled, set(Strategy) - {Strategy.EVERY_ROW, Strategy.SWEEP}
    ),
}
EXACT = set(SEARCHES) - {"row search", "coloring"}
WORKLOADS = [random_workload(seed) for seed in range(120)]


@pytest.fixture(params=SEARCHES)
def name(request):
    return request.param


def run_to_end(search, work, pauses=2_000):
    while pauses and not search.done:
        search.advance(work)
        pauses -= 1
    return search


def state(search):
    return search.lower, search.upper, search.done, search.row.tolist()


def test_the_bracket_is_sound_at_each_pause_and_only_closes(name):
    for compiled in WORKLOADS:
        truth, _ = heaviest_row(compiled)
        search = SEARCHES[name](compiled)
        lower, upper = 0, compiled.total
        for _ in range(30):
            assert search.lower == row_weight(compiled, search.row)
            assert lower <= search.lower <= truth <= search.upper <= upper
            lower, upper = search.lower, search.upper
            search.advance(50)
        if name in EXACT:
            run_to_end(search, 1 << 20)
            assert search.lower == search.upper == truth


def test_creating_does_no_work_and_done_means_that_nothing_changes(name):
    for compiled in WORKLOADS[:40]:
        search = SEARCHES[name](compiled)
        assert search.upper == compiled.total
        run_to_end(search, 1 << 16, pauses=50)
        if search.done:
            before = state(search)
            assert search.advance(1 << 16) == 0
            assert state(search) == before


def test_work_is_told_and_equal_work_finds_the_same(name):
    for compiled in WORKLOADS[:40]:
        first, second = SEARCHES[name](compiled), SEARCHES[name](compiled)
        for work in (1, 10, 100, 1_000, 10_000):
            told = first.advance(work)
            assert told == second.advance(work)
            assert told >= work or first.done
            assert state(first) == state(second)


def test_what_is_learned_is_kept_and_never_given_back(name):
    for compiled in WORKLOADS:
        truth, row = heaviest_row(compiled)
        search = SEARCHES[name](compiled)
        run_to_end(search, 500, pauses=20)
        upper = search.upper
        search.learn(truth, np.array(row, np.int32), compiled.total)
        assert search.lower == truth == row_weight(compiled, search.row)
        assert search.upper <= upper
        search.advance(200)
        search.learn(0, np.zeros(compiled.attribute_count, np.int32), truth)
        assert (search.lower, search.upper) == (truth, truth)
        assert search.done
        assert row_weight(compiled, search.row) == truth


def test_a_learned_bound_lets_an_exact_search_end_early_and_right(name):
    for compiled in WORKLOADS[:60]:
        truth, _ = heaviest_row(compiled)
        search = SEARCHES[name](compiled)
        search.advance(30)
        search.learn(0, np.zeros(compiled.attribute_count, np.int32), truth)
        run_to_end(search, 1 << 16, pauses=200)
        assert search.upper == truth
        if name in EXACT:
            assert search.lower == truth == row_weight(compiled, search.row)


@pytest.mark.parametrize("name", sorted(EXACT - {"part search", "part search without shortcuts"}))
def test_a_bound_without_its_row_is_refused(name):
    compiled = next(one for one in WORKLOADS if one.total > heaviest_row(one)[0])
    with pytest.raises(ValueError, match="weighs"):
        SEARCHES[name](compiled, compiled.total, np.zeros(compiled.attribute_count, np.int32))

"""Every piece of the engine where masks over values and sets of queries take several words.

Limits at 64, 128 and 256 values, queries, colors or pooled values are all passed here; the judge is
:mod:`tests.workloads.wide`.
"""

from __future__ import annotations

import time
from itertools import combinations, product

import numpy as np
import pytest

import parcomp as pc
from parcomp.costs import MAX_UNITS, Cost
from parcomp.errors import CertificateError
from parcomp.graph.query_graph import build_query_graph
from parcomp.model.compile import compile_workload
from parcomp.overlap.box.box_search import BoxSearch
from parcomp.overlap.cover.groups import group_bound
from parcomp.overlap.cover.helly import overlap_is_clique
from parcomp.overlap.engine import Engine
from parcomp.overlap.graph_search import GraphSearch
from parcomp.overlap.lean import LeanSearch
from parcomp.overlap.live.live_overlap import LiveOverlap
from parcomp.overlap.reduce import Rule, reduce
from parcomp.overlap.reduce.split import split_by_overlap
from parcomp.overlap.reduce.values import drop_dominated_values
from parcomp.overlap.rows.enumeration import heaviest_row
from parcomp.overlap.rows.ranges import sweep
from parcomp.overlap.rows.row_search import RowSearch
from parcomp.overlap.search import Strategy
from parcomp.overlap.value.proof import prove_upper
from parcomp.overlap.value.splitting import split
from parcomp.overlap.value.value_search import ValueSearch
from tests.sparse import solve_sparse
from tests.workloads import SHAPES, Wide, compile_values, random_wide

SEED = {shape: 1000 * number for number, shape in enumerate(SHAPES)}


def wides(shape, count, seed=0, **options):
    """Some workloads of a shape."""
    draw = np.random.default_rng(SEED[shape] + seed)
    return [random_wide(draw, shape, **options) for _ in range(count)]


def test_the_judge_looks_at_every_row():
    """On small workloads it agrees with the definition."""
    draw = np.random.default_rng(0)
    for _ in range(300):
        sizes = draw.integers(1, 5, draw.integers(1, 4)).tolist()
        queries = [
            {
                a: frozenset(np.flatnonzero(draw.random(n) < 0.6).tolist())
                for a, n in enumerate(sizes)
                if draw.random() < 0.7
            }
            for _ in range(draw.integers(0, 9))
        ]
        wide = Wide(sizes, queries, draw.integers(1, 9, len(queries)).tolist())
        assert wide.truth() == max(wide.weigh(row) for row in product(*map(range, sizes)))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_combination_of_pieces(shape):
    """Rules and strategies on or off: what is exact is exact, and every pause brackets the truth."""
    draw = np.random.default_rng(SEED[shape])
    for wide in wides(shape, 12):
        compiled, truth = wide.compiled(), wide.truth()
        engine = Engine(
            compiled,
            [rule for rule in Rule if draw.random() < 0.7],
            [strategy for strategy in Strategy if strategy is Strategy.VALUE_SEARCH or draw.random() < 0.6],
        )
        most = int(1 << draw.integers(10, 25))
        while engine.advance(most):
            bracket = engine.bracket()
            assert bracket.lower <= truth <= bracket.upper
        bracket = engine.bracket()
        assert bracket.lower == wide.weigh(bracket.row.tolist()) == truth == bracket.upper


def searches(compiled):
    """Each search on its own, from nothing."""
    row = np.zeros(compiled.attribute_count, np.int32)
    yield LeanSearch(compiled)
    yield ValueSearch(compiled, root_rounds=20)
    yield ValueSearch(compiled)
    yield BoxSearch(compiled, build_query_graph(compiled))
    yield GraphSearch(compiled, frozenset({Strategy.COLORING}), 0, row)
    yield RowSearch(compiled)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_search_brackets_the_truth_at_every_pause(shape):
    for wide in wides(shape, 6, seed=1, most_queries=140):
        compiled, truth = wide.compiled(), wide.truth()
        for search in searches(compiled):
            upper = compiled.total
            for _ in range(60):
                search.advance(200_000)
                assert search.lower <= truth
                if search.lower:
                    assert wide.weigh(search.row.tolist()) == search.lower
                if isinstance(search, RowSearch):
                    continue
                assert truth <= search.upper <= upper
                upper = search.upper
                if search.done:
                    break


def with_decoys(draw):
    """Many values that score high, as each is in several queries of which a row satisfies one, and a few better ones.

    A multiplier on the first attribute is all that bounds the queries of so many decoys, so that a decoy scores the
    weight of all its queries.  The heaviest row has a value that scores less than each of them.
    """
    decoys, sides = int(draw.integers(66, 100)), int(draw.integers(3, 5))
    better = int(draw.integers(1, 4))
    queries = [{0: frozenset([decoy]), 1: frozenset([side])} for decoy in range(decoys) for side in range(sides)]
    queries += [{0: frozenset([decoys + number])} for number in range(better)]
    weights = [10] * (decoys * sides) + draw.integers(12, 19, better).tolist()
    places = draw.permutation(decoys + better).tolist()
    return Wide(
        [decoys + better, sides],
        [{a: frozenset(places[v] for v in values) if a == 0 else values for a, values in q.items()} for q in queries],
        weights,
    )


def test_values_outside_the_pool_still_count():
    """More values than a pool of 64 holds score higher than the best one: its queries may not be given up."""
    draw = np.random.default_rng(5)
    for number in range(5):
        wide = with_decoys(draw)
        compiled, truth = wide.compiled(), wide.truth()
        search = ValueSearch(compiled, root_rounds=20 * (number % 2))
        # A bound from elsewhere, so that the first target is what a decoy weighs and the better ones are not dropped.
        search.learn(search.lower, search.row, truth)
        for _ in range(300):
            search.advance(50_000)
            assert search.lower <= truth <= search.upper
            if search.done:
                break
        assert search.lower == truth == search.upper
        assert prove_upper(compiled, truth - 1) is None


@pytest.mark.parametrize("kind", [LeanSearch, ValueSearch, BoxSearch])
def test_searches_that_learn_from_each_other_stay_sound(kind):
    """Told a bound or a row at any time, the bracket holds the truth: a search that is given up proves nothing."""
    draw = np.random.default_rng(11)
    for shape in ("subset", "mixed"):
        for wide in wides(shape, 6, seed=9, most_queries=120):
            compiled, truth = wide.compiled(), wide.truth()
            _, row = heaviest_row(compiled)
            search = kind(compiled, build_query_graph(compiled)) if kind is BoxSearch else kind(compiled)
            for _ in range(400):
                search.advance(int(draw.integers(1, 100_000)))
                if draw.random() < 0.2:
                    upper = int(draw.integers(truth, search.upper + 1))
                    search.learn(search.lower, search.row, upper)
                if draw.random() < 0.02:
                    search.learn(truth, row, search.upper)
                assert search.lower == wide.weigh(search.row.tolist()) <= truth <= search.upper
                if search.done:
                    break
            assert search.done


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_are_disjoint_and_bound_the_truth(shape):
    for wide in wides(shape, 8, seed=2):
        compiled, edges = wide.compiled(), wide.edges()
        bound, groups = group_bound(compiled)
        assert sorted(np.concatenate([*groups, []]).tolist()) == list(range(compiled.query_count))
        assert not any(pair in edges for group in groups for pair in combinations(sorted(group.tolist()), 2))
        assert bound == sum(max(wide.weights[query] for query in group.tolist()) for group in groups) >= wide.truth()


@pytest.mark.parametrize("shape", SHAPES)
def test_multipliers_share_out_each_weight_and_bound_the_truth(shape):
    for wide in wides(shape, 6, seed=3):
        compiled = wide.compiled()
        found = split(compiled, rounds=40)
        assert found.multipliers.min(initial=0) >= 0
        scores = [[0] * size for size in wide.sizes]
        for query in range(compiled.query_count):
            terms = range(compiled.start[query], compiled.start[query + 1])
            shares = [int(found.multipliers[k]) for k in terms]
            assert sum(shares) == (wide.weights[query] << found.shift if shares else 0)
            for k, share in zip(terms, shares, strict=True):
                attribute = int(compiled.mask_attribute[compiled.term[k]])
                for value in wide.queries[query][attribute]:
                    scores[attribute][value] += share
        assert found.constant + (sum(map(max, scores)) >> found.shift) == found.bound >= wide.truth()


@pytest.mark.parametrize("shape", SHAPES)
def test_each_rule_keeps_the_truth(shape):
    """The leaves are solved by looking at all rows; each rule is used alone and with all others."""
    for wide in wides(shape, 4, seed=4, most_queries=200):
        compiled, truth = wide.compiled(), wide.truth()
        for rules in [[rule] for rule in Rule] + [list(Rule)]:
            problem = reduce(compiled, rules)
            solved = [heaviest_row(leaf.compiled) for leaf in problem.leaves]
            assert problem.combine([weight for weight, _ in solved]) == truth
            assert wide.weigh(problem.lift([row for _, row in solved]).tolist()) == truth


@pytest.mark.parametrize("size", [65, 129, 193, 257, 400])
def test_more_undominated_values_than_a_block_holds(size):
    """A ring: query k accepts the values k - 1 and k, none of which dominates another, and one that both dominate."""
    draw = np.random.default_rng(size)
    place = draw.permutation(2 * size).tolist()
    queries = [{0: [place[k], place[k - 1], place[size + k]]} for k in range(size)]
    compiled = compile_values([2 * size], queries, draw.integers(1, 1000, size))
    reduction = drop_dominated_values(compiled)
    assert int(reduction.compiled.sizes[0]) == size
    for value in range(2 * size):
        row = np.array([value], np.int32)
        members = set(compiled.members(row).tolist())
        assert members <= set(reduction.compiled.members(reduction.push(row)).tolist())
        assert reduction.push(reduction.lift(reduction.push(row))) == reduction.push(row)


@pytest.mark.parametrize("size", [3, 64, 65, 128, 129, 300])
def test_parts_that_meet_in_the_last_word_only(size):
    """Two queries with one common value, the last: they are no parts of which only the heavier counts."""
    queries = [{0: [0, size - 1], 1: [0, 1]}, {0: [1, size - 1], 1: [1, 2]}]
    compiled = compile_values([size, 3], queries)
    assert split_by_overlap(compiled) == ()
    problem = reduce(compiled, [Rule.SPLIT_BY_OVERLAP])
    assert problem.combine([heaviest_row(leaf.compiled)[0] for leaf in problem.leaves]) == 2
    # Without that value they are parts.
    queries = [{0: [0], 1: [0, 1]}] * 2 + [{0: [size - 1], 1: [1, 2]}] * 2
    assert len(split_by_overlap(compile_values([size, 3], queries))) == 2


@pytest.mark.parametrize("shape", SHAPES)
def test_special_cases_are_exact(shape):
    """Every row looked at, ranges swept, and cliques where each attribute has the Helly property."""
    for wide in wides(shape, 8, seed=5):
        compiled, truth = wide.compiled(), wide.truth()
        weight, row = heaviest_row(compiled)
        assert weight == truth == wide.weigh(row.tolist())
        swept = sweep(compiled) if compiled.attribute_count <= 2 else None
        if swept is not None:
            assert swept[0] == truth == wide.weigh(swept[1].tolist())
        assert shape in {"subset", "mixed"} or overlap_is_clique(compiled)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_method_is_sound_and_certified(shape):
    """All methods, contradictions included; a certificate proves the bracket and not one unit less."""
    for number, wide in enumerate(wides(shape, 5, seed=6, contradictions=True)):
        workload, truth = wide.workload(), wide.truth()
        for method in ("auto", "clique", "chromatic") + ("brute-force",) * (number == 0):
            answer = pc.max_overlap(workload, method=method)
            row = wide.codes(answer.witness)
            certificate = answer.certificate
            assert answer.members == [query + 1 for query in wide.members(row)]
            assert certificate["lower"] == wide.weigh(row) <= truth <= certificate["upper"]
            assert (certificate["lower"] == certificate["upper"]) == answer.exact
            if method in {"auto", "brute-force"}:
                assert certificate["upper"] == truth
            if certificate["proof"] != [{"search": True}]:
                pc.verify(workload, certificate)
                for end in ({"upper": truth - 1}, {"lower": truth + 1}):
                    with pytest.raises(CertificateError):
                        pc.verify(workload, certificate | end)


@pytest.mark.parametrize("shape", SHAPES)
def test_search_without_compiling_is_exact(shape):
    for wide in wides(shape, 1, seed=7, most_queries=100, contradictions=True):
        truth = wide.truth()
        found = solve_sparse(wide.workload(), time.monotonic() + 1)
        assert found.lower <= truth <= found.upper
        assert wide.weigh(found.codes) == found.lower


def within(wide, box):
    """The queries cut down to a query's coverage: what is spent there is their maximum overlap."""
    cut = []
    for query, weight in zip(wide.queries, wide.weights, strict=True):
        common = {a: query[a] & box[a] if a in query and a in box else query.get(a, box.get(a)) for a in query | box}
        if all(common.values()):
            cut.append((common, weight))
    return Wide(wide.sizes, [query for query, _ in cut], [weight for _, weight in cut])


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_live_decisions_are_those_of_the_judge(shape, loaded):
    """What is spent within a query, and whether a cost fits to the unit, after hundreds of queries."""
    for drawn in wides(shape, 2, seed=8):
        # Half of the queries are asked of a state that holds the other half.
        *known, last = np.array_split(np.arange(len(drawn.queries)), 2)
        held = Wide(
            drawn.sizes,
            [drawn.queries[query] for query in known[0]],
            [max(1, drawn.weights[query] // 2) for query in known[0]],
        )
        queries, truth = list(drawn.workload()), held.truth()
        live = LiveOverlap(queries[0].domain, truth)
        history = list(zip(queries, held.weights, strict=False))
        if loaded:
            live.load(history)
        else:
            assert all(live.add(query, weight) for query, weight in history)
        assert live.upper == live.loss().upper == live.loss().lower == truth
        for number in last[:15].tolist():
            spent = within(held, drawn.queries[number]).truth()
            quote = live.quote(queries[number], 1)
            assert (quote.spent, quote.remaining, quote.exact) == (spent, truth - spent, True)
            if spent < truth:
                assert live.quote(queries[number], truth - spent).fits
            assert not live.quote(queries[number], truth - spent + 1).fits
            assert live.quote(queries[number], truth - spent + 1).adds == 1


def test_the_largest_weights_are_compiled_exactly():
    """Costs that add up to 2**62 - 1 keep their proportions, and one unit more is refused."""
    draw = np.random.default_rng(9)
    wide = random_wide(draw, "interval")
    weights = [MAX_UNITS // len(wide.queries)] * len(wide.queries)
    weights[0] += MAX_UNITS - sum(weights)
    wide = Wide(wide.sizes, wide.queries, weights)
    compilation = compile_workload(wide.workload())
    assert int(compilation.compiled.weights.sum()) * compilation.unit == MAX_UNITS
    assert pc.max_overlap(wide.workload()).certificate["upper"] == wide.truth()
    more = pc.Workload(wide.workload().domain, list(wide.workload()), [Cost("weight", w + 1) for w in weights])
    with pytest.raises(pc.errors.ParcompError):
        compile_workload(more)

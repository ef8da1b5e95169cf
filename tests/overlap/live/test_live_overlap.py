"""The online state against the judge."""

import numpy as np
import pytest

from parcomp import Categorical, Domain, Integer
from parcomp.errors import CostError, WorkloadError
from parcomp.overlap import engine
from parcomp.overlap.live import LiveOverlap, live_overlap
from tests.workloads import Judged, random_judged


def truth(judged, accepted, weights):
    """The maximum overlap of some of the judged queries."""
    return Judged(judged.workload, judged.values, accepted, weights).truth() if weights else 0


@pytest.mark.parametrize("chunk", range(10))
def test_decisions_equal_solving_from_scratch(chunk):
    """1,000 random histories with undo: a query is admitted iff γ with it is within the budget; the loss is γ."""
    draw = np.random.default_rng(chunk)
    for _ in range(100):
        judged = random_judged(draw)
        budget = int(draw.integers(1, sum(judged.weights) + 2))
        live = LiveOverlap(judged.workload.domain, budget)
        accepted, weights = [], []
        for query, sets, weight in zip(judged.workload, judged.accepted, judged.weights, strict=True):
            with_query = truth(judged, [*accepted, sets], [*weights, weight])
            quote = live.quote(query, weight)
            assert quote.exact
            assert quote.adds == max(with_query, live.upper) - live.upper
            assert live.add(query, weight) == quote.fits == (with_query <= budget)
            if quote.fits:
                accepted.append(sets)
                weights.append(weight)
                assert live.upper == with_query
            if weights and draw.random() < 0.15:
                live.undo()
                accepted.pop()
                weights.pop()
        loss = live.loss()
        assert loss.exact
        assert loss.upper == truth(judged, accepted, weights) == live.upper
        assert len(live) == len(weights)


def test_one_look_at_many_more_is_the_loss_of_all():
    """On random histories, with some queries left out of them; nothing is changed, whatever is asked."""
    draw = np.random.default_rng(7)
    for _ in range(200):
        judged = random_judged(draw)
        entries = list(zip(judged.workload, judged.weights, strict=True))
        if not entries:
            continue
        known = int(draw.integers(len(entries) + 1))
        live = LiveOverlap(judged.workload.domain, sum(judged.weights))
        live.load(entries[:known])
        before = live.upper, live.total, len(live), live.loss()
        found = live.loss_with(entries[known:])
        assert found.lower == found.upper == judged.truth()
        assert (live.upper, live.total, len(live), live.loss()) == before
        with pytest.raises(CostError):
            live.loss_with([*entries[known:], (entries[0][0], 0)])
        assert (live.upper, live.total, len(live), live.loss()) == before


def test_a_decision_cut_short_rests_on_the_upper_end(monkeypatch):
    """With no work at all for a decision, nothing is admitted beyond the budget and no bound is below the truth."""
    for module in (engine, live_overlap):
        monkeypatch.setattr(module, "heaviest_overlap", lambda *_: None)
    draw = np.random.default_rng(100)
    undecided = 0
    for _ in range(40):
        judged = random_judged(draw)
        budget = max(1, sum(judged.weights) // 2)
        live = LiveOverlap(judged.workload.domain, budget, work=0)
        accepted, weights = [], []
        for query, sets, weight in zip(judged.workload, judged.accepted, judged.weights, strict=True):
            quote = live.quote(query, weight)
            undecided += not quote.exact
            if live.add(query, weight):
                accepted.append(sets)
                weights.append(weight)
                assert truth(judged, accepted, weights) <= live.upper <= budget
        loss = live.loss(work=0)
        assert loss.lower <= truth(judged, accepted, weights) <= loss.upper
        fresh = LiveOverlap(judged.workload.domain, budget)
        fresh.restore((query, cost, 0) for query, cost in zip(judged.workload, judged.weights, strict=True))
        assert fresh.loss(work=0).upper >= judged.truth() >= fresh.loss(work=0).lower
    assert undecided > 50


def test_a_loaded_history_decides_like_a_grown_one():
    """Bulk load and one by one lead to the same answers."""
    draw = np.random.default_rng(7)
    for _ in range(60):
        judged = random_judged(draw)
        history = list(zip(judged.workload, judged.weights, strict=True))
        half = len(history) // 2
        grown = LiveOverlap(judged.workload.domain, 10**12)
        for query, cost in history[:half]:
            assert grown.add(query, cost)
        loaded = LiveOverlap(judged.workload.domain, 10**12)
        loaded.load(history[:half])
        assert loaded.loss() == grown.loss()
        for query, cost in history[half:]:
            assert loaded.quote(query, cost) == grown.quote(query, cost)


def test_large_attributes_are_cut_up_as_predicates_come():
    """Ranges on two billion values: exact decisions, and cells only where predicates need them."""
    domain = Domain({"x": Integer(0, 2 * 10**9)})
    live = LiveOverlap(domain, budget=3)
    for start in range(0, 10**9, 10**8):
        assert live.add(domain.query(x={"from": start, "to": start + 2 * 10**8 - 1}), 1)
    assert live.loss().upper == 2
    assert live.quote(domain.query(x=5), 2).fits
    assert not live.quote(domain.query(x=10**8), 2).fits


def test_a_contradiction_costs_nothing():
    """It is admitted at any cost and leaves the loss as it is."""
    domain = Domain({"sex": Categorical(["F", "M"])})
    live = LiveOverlap(domain, budget=1)
    assert live.add(domain.query(sex="X"), 100)
    assert live.loss().upper == 0
    assert live.add(domain.query(), 1)


def test_refusals_change_nothing():
    """A refused query leaves every later quote as it was."""
    domain = Domain({"sex": Categorical(["F", "M"])})
    live = LiveOverlap(domain, budget=10)
    assert live.add(domain.query(sex="F"), 6)
    before = live.quote(domain.query(sex="F"), 4)
    assert not live.add(domain.query(), 5)
    assert live.quote(domain.query(sex="F"), 4) == before
    assert len(live) == 1


def test_errors_say_what_is_wrong():
    """Costs, budgets, domains and histories that cannot be booked."""
    domain, other = Domain({"a": Integer(0, 1)}), Domain({"b": Integer(0, 1)})
    with pytest.raises(CostError):
        LiveOverlap(domain, 0)
    live = LiveOverlap(domain, 5)
    with pytest.raises(CostError):
        live.add(domain.query(), 0)
    with pytest.raises(WorkloadError):
        live.add(other.query(), 1)
    with pytest.raises(WorkloadError):
        live.undo()
    with pytest.raises(WorkloadError):
        live.load([(domain.query(), 3), (domain.query(), 3)])
    assert len(live) == 0
    live.load([(domain.query(), 3)])
    with pytest.raises(WorkloadError):
        live.load([(domain.query(), 1)])

"""The loss of a workload: closed forms, neighbor relations, and brute force over persons."""

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import ArgumentError, CostError, WorkloadError
from parcomp.experiments.workloads import uniform_workload
from parcomp.privacy import f_gamma, renyi
from parcomp.privacy.approximate import approximate_loss
from parcomp.privacy.clt import central_limit
from parcomp.privacy.conversions import pure_to_renyi, renyi_epsilon
from parcomp.privacy.loss import guarantee_in_words, privacy_loss
from parcomp.privacy.measures import MEASURES
from parcomp.privacy.renyi import ORDERS, renyi_loss
from parcomp.privacy.tradeoff import ApproximateDP
from parcomp.samples import census_sample, paper_example
from tests.workloads import random_judged


def with_cost(workload, kind, amount):
    units = pc.Cost.of(kind, amount).units
    return workload.with_costs(np.full(len(workload), units, np.int64), kind)


def test_the_papers_corollaries():
    """Equal costs: ε·γ, ρ·γ and μ·√γ, beside ε·t, ρ·t and μ·√t (γ = 3, t = 6)."""
    for name, kind, power in (("pure", "epsilon", 1), ("zcdp", "rho", 1), ("gdp", "mu", 0.5)):
        answer = privacy_loss(with_cost(paper_example(), kind, "0.1"), name)
        assert answer.exact
        # A float stands for its shortest decimal, so the sound side is told up to its last digit.
        assert -1e-15 <= answer.loss / (0.1 * 3**power) - 1 <= 1e-6
        assert -1e-15 <= answer.sequential / (0.1 * 6**power) - 1 <= 1e-6
        assert answer.saved == pytest.approx(1 - answer.loss / answer.sequential)
        assert answer.neighbours == "add-remove"


def test_gdp_adds_squares():
    """√Σμ², not Σμ: two disjoint pairs where the two orders differ."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    queries = [domain.query(sex="F")] * 4 + [domain.query(sex="M")]
    # Σμ is larger for F (4 × 0.3 = 1.2), Σμ² for M (0.81 against 0.36).
    costs = [pc.Cost.of("mu", "0.3")] * 4 + [pc.Cost.of("mu", "0.9")]
    assert privacy_loss(pc.Workload(domain, queries, costs), "gdp").loss == 0.9


def test_epsilon_under_zcdp():
    """γ queries of ε make γ·ε²/2."""
    assert privacy_loss(with_cost(paper_example(), "epsilon", 1), "zcdp").loss == 1.5


@pytest.mark.parametrize(("measure", "single"), [("pure", 3), ("zcdp", 3), ("gdp", math.sqrt(3))])
def test_neighbors_and_rows(measure, single):
    """Replacing doubles additive units up to the total; k rows multiply ε and μ by k and ρ by k²."""
    workload = paper_example()
    grown = {"pure": 2.0, "zcdp": 2.0, "gdp": math.sqrt(2)}[measure]
    by_rows = {"pure": 5, "zcdp": 25, "gdp": 5}[measure]
    assert privacy_loss(workload, measure).loss == pytest.approx(single, rel=1e-12)
    assert privacy_loss(workload, measure, "replace-one").loss == pytest.approx(single * grown, rel=1e-12)
    assert privacy_loss(workload, measure, "add-remove", 5).loss == pytest.approx(single * by_rows, rel=1e-12)
    assert privacy_loss(workload, measure, "replace-one", 5).loss == pytest.approx(single * grown * by_rows, rel=1e-12)
    # Five queries that all meet: 2γ would be more than the total.
    meeting = workload[[3, 3, 3, 3, 3]]
    assert privacy_loss(meeting, measure, "replace-one").loss == privacy_loss(meeting, measure).sequential


def rows_of(workload):
    return list(product(*(range(attribute.size) for attribute in workload.domain.attributes.values())))


def satisfied(workload):
    """For each row, which queries it satisfies."""
    flags = []
    for row in rows_of(workload):
        holds = []
        for query in workload:
            holds.append(all(bool(predicate.flags_at(np.array([row[index]]))[0]) for index, predicate in query.terms))
        flags.append(holds)
    return flags


@pytest.mark.parametrize("seed", range(12))
def test_no_person_exceeds_the_loss(seed):
    """Every way a person may enter, leave or change k rows: a count that moves by n costs ε·n or ρ·n².

    Some person attains k (k²) times what a single row does, so no smaller factor would hold.
    """
    draw = random.Random(seed)
    domain = pc.Domain({"a": pc.Categorical([0, 1]), "b": pc.Categorical([0, 1, 2])})
    queries, costs = [], []
    for _ in range(draw.randint(2, 6)):
        where = {
            name: draw.sample(range(attribute.size), draw.randint(1, attribute.size))
            for name, attribute in domain.attributes.items()
        }
        queries.append(domain.query(where))
        costs.append(draw.randint(1, 4))
    workload = pc.Workload(domain, queries, costs)
    flags = np.array(satisfied(workload), int)
    units = np.array(costs)
    single: dict[str, tuple[int, int]] = {}
    for rows in (1, 2, 3):
        owned = [
            flags[list(chosen)].sum(axis=0)
            for size in range(rows + 1)
            for chosen in combinations_with_replacement(range(len(flags)), size)
        ]
        exactly = [flags[list(chosen)].sum(axis=0) for chosen in combinations_with_replacement(range(len(flags)), rows)]
        moves = {
            "add-remove": owned,
            "replace-one": [before - after for before in exactly for after in exactly],
        }
        for relation, changes in moves.items():
            worst_pure = max(int((units * abs(change)).sum()) for change in changes)
            worst_square = max(int((units * change**2).sum()) for change in changes)
            assert privacy_loss(workload, "pure", relation, rows).loss >= worst_pure
            assert privacy_loss(workload, "zcdp", relation, rows).loss >= worst_square
            assert Fraction(privacy_loss(workload, "gdp", relation, rows).loss) ** 2 >= worst_square
            pure, square = single.setdefault(relation, (worst_pure, worst_square))
            assert (worst_pure, worst_square) == (rows * pure, rows**2 * square)
            if relation == "add-remove":
                assert privacy_loss(workload, "pure", relation, rows).loss == worst_pure
                assert privacy_loss(workload, "zcdp", relation, rows).loss == worst_square


@pytest.mark.parametrize("seed", range(30))
def test_the_loss_is_the_overlap(seed):
    """On random workloads each measure's loss is the maximum overlap in its additive unit, exactly."""
    judged = random_judged(np.random.default_rng(seed))
    for measure in MEASURES.values():
        answer = privacy_loss(judged.workload, measure.name)
        assert answer.exact
        assert answer.units == judged.truth() * 10**9
        assert answer.lower == answer.loss == measure.parameter_up(answer.units)


@pytest.mark.parametrize("seed", range(12))
def test_the_loss_of_large_costs_on_wide_attributes(seed):
    """Every measure, both neighbor relations and several rows per person, in whole units by brute force."""
    draw = np.random.default_rng([seed, 77])
    judged = random_judged(draw, wide=True)
    units = draw.integers(1, 2 ** int(draw.integers(4, 57)), len(judged.workload))
    gamma = replace(judged, weights=units.tolist()).truth()
    empty = [any(not values for values in accepted.values()) for accepted in judged.accepted]
    total = sum(cost for cost, nothing in zip(units.tolist(), empty, strict=True) if not nothing)
    workload = judged.workload.with_costs(units, "weight")
    for name, relation, rows in product(MEASURES, ("add-remove", "replace-one"), (1, 2, 3, 5)):
        answer = privacy_loss(workload, name, relation, rows)
        single = gamma if relation == "add-remove" else min(2 * gamma, total)
        assert answer.exact
        assert answer.units == single * (rows if name == "pure" else rows * rows)
        exact = Fraction(answer.units, 10**9)
        assert exact <= Fraction(repr(answer.loss)) ** (2 if name == "gdp" else 1) <= exact * (1 + Fraction(1, 10**14))


def test_a_search_cut_short_is_charged_by_its_upper_bound():
    """Without time the loss is at least the true one and not claimed to be exact unless it is."""
    workload = uniform_workload(40, 8, 2, seed=3)
    answer = privacy_loss(workload, "pure", time_limit=1e-9)
    true = privacy_loss(workload, "pure")
    assert true.exact
    assert answer.loss >= true.loss >= answer.lower
    assert answer.exact == (answer.loss == answer.lower)


def test_empty_and_contradictory_workloads_cost_nothing():
    """No queries, or none that a row can satisfy."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    assert privacy_loss(pc.Workload(domain), "gdp").loss == 0
    nothing = pc.Workload(domain, [domain.query(sex="X")])
    answer = privacy_loss(nothing, "pure", "replace-one")
    assert (answer.loss, answer.sequential, answer.saved) == (0, 1, 1.0)


def test_measures_with_more_than_one_number_are_pointed_to():
    """The message names the function to use."""
    with pytest.raises(ArgumentError, match="renyi_loss"):
        privacy_loss(paper_example(), "rdp")
    with pytest.raises(ArgumentError, match="approximate_loss"):
        privacy_loss(paper_example(), "approx")
    with pytest.raises(WorkloadError, match="mu cannot be booked under pure"):
        privacy_loss(with_cost(paper_example(), "mu", 1), "pure")


def test_the_guarantee_names_its_neighbors():
    """In words, for people."""
    words = privacy_loss(paper_example(), "pure").guarantee
    assert words == "pure DP with ε = 3 against adding or removing one row, assuming that nobody has more"
    words = privacy_loss(paper_example(), "zcdp", "replace-one", 2).guarantee
    assert words == "zCDP with ρ = 24 against replacing up to 2 rows of one person, assuming that nobody has more"
    words = guarantee_in_words("pure", 1, "add-remove", 1, bounded=True)
    assert (
        words == "pure DP with ε = 1 against adding or removing all rows of one person, of which at most 1 row is taken"
    )


def test_renyi_by_order():
    """Equal ε: γ times the divergence of randomized response; mixed kinds: each by its own."""
    answer = renyi_loss(with_cost(paper_example(), "epsilon", "0.5"), 1e-6)
    for order, loss in zip(answer.orders, answer.losses, strict=True):
        assert 0 <= loss / (3 * pure_to_renyi(0.5, order)) - 1 <= 1e-6
    assert answer.epsilon == renyi_epsilon(answer.orders, answer.losses, 1e-6)[0]
    assert answer.orders == ORDERS
    mixed = paper_example()
    kinds = ["epsilon", "rho", "mu", "epsilon", "rho", "mu"]
    built = pc.Workload(mixed.domain, list(mixed), [pc.Cost.of(kind, "0.3") for kind in kinds])
    curve = renyi_loss(built, orders=[2.0, 4.0])
    # The heaviest row meets q1 (ε), q2 (ρ) and q4 (ε).
    for order, loss in zip(curve.orders, curve.losses, strict=True):
        assert 0 <= loss / (2 * pure_to_renyi(0.3, order) + 0.3 * order) - 1 <= 1e-6
    assert curve.epsilon is None


def test_renyi_of_gaussians_is_zcdp():
    """ρ and μ²/2 have the same curve, also with neighbors and rows."""
    by_rho = renyi_loss(with_cost(paper_example(), "rho", "0.02"), None, "replace-one", 3)
    by_mu = renyi_loss(with_cost(paper_example(), "mu", "0.2"), None, "replace-one", 3)
    zcdp = privacy_loss(with_cost(paper_example(), "rho", "0.02"), "zcdp", "replace-one", 3).loss
    assert by_rho.losses == pytest.approx(by_mu.losses, rel=1e-6)
    assert by_rho.losses == pytest.approx([order * zcdp for order in by_rho.orders], rel=1e-6)


def test_only_orders_that_matter_are_refined():
    """Orders that cannot win are left alone, and the answer is as if all had been refined."""
    workload = with_cost(census_sample(60, 1), "epsilon", "0.1")
    full = renyi_loss(workload, 1e-6)
    old, renyi._FIRST_WORK = renyi._FIRST_WORK, 0
    try:
        lazy = renyi_loss(workload, 1e-6)
    finally:
        renyi._FIRST_WORK = old
    assert lazy.epsilon == pytest.approx(full.epsilon)
    assert len(lazy.refined) < len(lazy.orders)


def test_renyi_rejects_what_it_cannot_use():
    """Weights, orders of at most 1, and impossible δ."""
    with pytest.raises(WorkloadError, match="weight says nothing"):
        renyi_loss(paper_example())
    workload = with_cost(paper_example(), "rho", 1)
    with pytest.raises(ArgumentError, match="orders must be above 1"):
        renyi_loss(workload, orders=[1.0])
    with pytest.raises(ArgumentError, match="delta must be"):
        renyi_loss(workload, 0)


def test_approximate_by_basic_composition():
    """ε and δ each by their own overlap."""
    workload = with_cost(paper_example(), "epsilon", "0.1")
    answer = approximate_loss(workload, ["1e-6"] * 5 + ["9e-6"])
    # q6 is heaviest in δ; it meets q2 only.
    assert (answer.epsilon, answer.delta, answer.exact) == (0.3, 1e-5, True)
    assert (answer.sequential_epsilon, answer.sequential_delta) == (0.6, 1.4e-5)
    assert approximate_loss(workload, 1e-6, "replace-one").delta == 6e-6
    with pytest.raises(CostError, match="below one unit"):
        approximate_loss(workload, 1e-12)
    with pytest.raises(WorkloadError, match="2 deltas for 6 queries"):
        approximate_loss(workload, [0.1, 0.1])
    with pytest.raises(ArgumentError, match="one row per person"):
        approximate_loss(workload, 1e-6, rows_per_person=2)


def test_the_central_limit_is_labeled():
    """√(γ·ε²), said to be an approximation; and it is one: the true function lies below it somewhere."""
    workload = with_cost(paper_example(), "epsilon", 1)
    limit = central_limit(workload)
    assert limit.tradeoff.mu == pytest.approx(math.sqrt(3))
    assert "not a guarantee" in limit.label
    alphas = np.linspace(0, 1, 200)
    true = f_gamma(workload, ApproximateDP(1.0)).tradeoff
    assert (true.values(alphas) < limit.tradeoff.values(alphas) - 1e-4).any()
    with pytest.raises(WorkloadError, match="epsilon"):
        central_limit(paper_example())

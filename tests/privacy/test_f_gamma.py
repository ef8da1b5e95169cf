"""f_γ of mixed mechanisms: never above the true trade-off function, by brute force over all overlapping sets."""

import random
from functools import cache
from itertools import product

import mpmath as mp
import numpy as np
import pytest

import parcomp as pc
from parcomp.errors import WorkloadError
from parcomp.privacy import f_gamma
from parcomp.privacy import workload_tradeoff as module
from parcomp.privacy.composition import tensor
from parcomp.privacy.tradeoff import IDENTITY, ApproximateDP, DiscreteGaussian, Gaussian, Laplace
from parcomp.samples import census_sample, paper_example
from tests.privacy import oracles

EPSILONS = (0.0, 0.2, 0.5, 1.0, 1.6, 2.5)


def true_profile(mechanisms, epsilon):
    """δ(ε) of independent Laplace, Gaussian and f_{ε,δ} mechanisms, by their loss distributions and quadrature.

    f_{ε,δ} has atoms at ±ε and ∞, Laplace atoms at ±ε and a density between them; what is left is the Gaussians'
    profile, or a step.
    """
    mu = mp.sqrt(sum(mp.mpf(f.mu) ** 2 for f in mechanisms if isinstance(f, Gaussian)))

    def remaining(rest, at):
        if not rest:
            if mu:
                return oracles.gaussian_profile(mu, at)
            return max(mp.mpf(0), 1 - mp.exp(at))
        f, *others = rest
        size = mp.mpf(f.epsilon)
        if isinstance(f, Laplace):
            ends = remaining(others, at - size) / 2 + mp.exp(-size) / 2 * remaining(others, at + size)
            # Kinks of what remains lie at sums of ±ε of the others.
            kinks = {at - sum(signed) for signed in product(*((g.epsilon, -g.epsilon) for g in others))}
            points = sorted({-size, size, *(mp.mpf(k) for k in kinks if -size < k < size)})
            return ends + mp.quad(
                lambda loss: mp.exp((loss - size) / 2) / 4 * remaining(others, at - loss), points, maxdegree=5
            )
        yes = mp.exp(size) / (1 + mp.exp(size))
        kept = yes * remaining(others, at - size) + (1 - yes) * remaining(others, at + size)
        return mp.mpf(f.delta) + (1 - mp.mpf(f.delta)) * kept

    return remaining([f for f in mechanisms if not isinstance(f, Gaussian)], mp.mpf(epsilon))


def overlapping_sets(workload):
    """The sets of queries that some row satisfies, by walking all rows."""
    sizes = [range(attribute.size) for attribute in workload.domain.attributes.values()]
    found = set()
    for row in product(*sizes):
        found.add(
            frozenset(
                position
                for position, query in enumerate(workload)
                if all(bool(predicate.flags_at(np.array([row[index]]))[0]) for index, predicate in query.terms)
            )
        )
    return [one for one in found if not any(one < other for other in found)]


def mixed_workload(seed, kinds):
    draw = random.Random(seed)
    domain = pc.Domain({"a": pc.Categorical([0, 1, 2]), "b": pc.Categorical([0, 1, 2])})
    queries = []
    for _ in range(draw.randint(4, 6)):
        where = {
            name: draw.sample(range(attribute.size), draw.randint(1, 2))
            for name, attribute in domain.attributes.items()
        }
        queries.append(domain.query(where))
    mechanisms = [draw.choice(kinds) for _ in queries]
    # Products of two Laplace mechanisms are integrated; three would take long.
    while sum(isinstance(f, Laplace) for f in mechanisms) > 2:
        mechanisms[next(i for i, f in enumerate(mechanisms) if isinstance(f, Laplace))] = kinds[-1]
    return pc.Workload(domain, queries), mechanisms


KINDS = [Laplace(0.7), Gaussian(0.6), Gaussian(1.1), ApproximateDP(0.4, 0.02)]


@cache
def true_profiles(seed):
    """The largest δ over all overlapping sets, at each of the ε."""
    workload, mechanisms = mixed_workload(seed, KINDS)
    sets = [[mechanisms[i] for i in one] for one in overlapping_sets(workload)]
    with mp.workdps(15):
        return [float(max(true_profile(one, epsilon) for one in sets)) for epsilon in EPSILONS]


@pytest.mark.parametrize("method", ["counts", "enclosed counts", "rdp"])
@pytest.mark.parametrize("seed", range(6))
def test_never_above_the_truth(seed, method, monkeypatch):
    """All overlapping sets of small workloads mixing Laplace, Gaussian and f_{ε,δ}; exact counts are tight as well."""
    if method != "counts":
        monkeypatch.setattr(module, "_WALKED", 0)
    if method == "rdp":
        monkeypatch.setattr(module, "_FEW", 1)
    workload, mechanisms = mixed_workload(seed, KINDS)
    found = f_gamma(workload, mechanisms)
    if len({type(f) for f in mechanisms}) > 1:
        assert found.method == method
        assert found.exact == (method == "counts")
    sets = [[mechanisms[i] for i in one] for one in overlapping_sets(workload)]
    for epsilon, exact in zip(EPSILONS, true_profiles(seed), strict=True):
        assert found.tradeoff.profile(epsilon) >= exact * (1 - 1e-7) - 1e-13
        if found.exact:
            assert found.tradeoff.profile(epsilon) == pytest.approx(exact, rel=1e-3, abs=1e-6)
    # f itself: each set's function, by a tight product, is not below the answer.
    alphas = np.linspace(0, 1, 101)
    for one in sets:
        assert (found.tradeoff.values(alphas) <= tensor(one).values(alphas) + 1e-5).all()


@pytest.mark.parametrize("seed", range(6))
def test_finite_mechanisms_exactly(seed):
    """Only f_{ε,δ}: brute force with forty digits, for both the profile and f."""
    kinds = [ApproximateDP(0.9), ApproximateDP(0.2, 0.1), ApproximateDP(0.5)]
    workload, mechanisms = mixed_workload(seed, kinds)
    found = f_gamma(workload, mechanisms)
    pairs = [
        oracles.compose(*(oracles.randomized_response(mechanisms[i].epsilon, mechanisms[i].delta) for i in one))
        for one in overlapping_sets(workload)
    ]
    for epsilon in EPSILONS:
        exact = max(oracles.profile(pair, epsilon) for pair in pairs)
        assert oracles.sound_and_tight(found.tradeoff.profile(epsilon), exact, above=True, absolute=1e-11)
    for alpha in (0.001, 0.05, 0.2, 0.5, 0.8):
        assert found.tradeoff(alpha) <= min(oracles.tradeoff(pair, alpha) for pair in pairs)


def test_one_kind_is_one_overlap():
    """γ = 3 of the same mechanism; Gaussians of different μ are one kind."""
    found = f_gamma(paper_example(), ApproximateDP(0.5))
    assert (found.method, found.exact, found.sets) == ("one overlap", True, 1)
    exact = tensor([ApproximateDP(0.5)] * 3)
    assert found.tradeoff.profile(0.7) == exact.profile(0.7)
    different = f_gamma(paper_example(), [Gaussian(1), Gaussian(1), Gaussian(1), Gaussian(2), Gaussian(1), Gaussian(3)])
    # q2 and q6 meet: 1 + 9; so do q1, q2 and q4: 1 + 1 + 4.
    assert isinstance(different.tradeoff, Gaussian)
    assert different.tradeoff.mu == pytest.approx(10**0.5, rel=1e-9)
    assert different.tradeoff.mu >= 10**0.5


def test_mechanisms_that_disclose_nothing_do_not_count():
    """The identity is left out."""
    assert f_gamma(paper_example(), IDENTITY).tradeoff == IDENTITY
    found = f_gamma(paper_example(), [ApproximateDP(1.0)] + [IDENTITY] * 5)
    assert found.tradeoff == ApproximateDP(1.0)
    with pytest.raises(WorkloadError, match="1 mechanisms for 6 queries"):
        f_gamma(paper_example(), [IDENTITY])


def test_a_large_workload_of_two_kinds():
    """300 census queries, half of them Gaussian: the Pareto set is small, and lies between its parts and their sum."""
    workload = census_sample(300, 2)
    mechanisms = [Gaussian(0.2) if i % 2 else ApproximateDP(0.1) for i in range(300)]
    found = f_gamma(workload, mechanisms)
    assert found.method == "counts"
    gaussian = f_gamma(workload[list(range(1, 300, 2))], Gaussian(0.2)).tradeoff
    pure = f_gamma(workload[list(range(0, 300, 2))], ApproximateDP(0.1)).tradeoff
    together = tensor([gaussian, pure])
    for epsilon in (0.0, 0.5, 1.0):
        assert max(gaussian.profile(epsilon), pure.profile(epsilon)) <= found.tradeoff.profile(epsilon)
        assert found.tradeoff.profile(epsilon) <= together.profile(epsilon) * (1 + 1e-5)


def test_many_kinds_go_by_renyi_and_say_so():
    """Each query its own mechanism; some discrete Gaussians among them."""
    workload = census_sample(40, 3)
    mechanisms = [ApproximateDP(0.01 * (1 + i), 1e-7 * i) if i % 2 else DiscreteGaussian(3.0 + i) for i in range(40)]
    found = f_gamma(workload, mechanisms)
    assert found.method == "rdp"
    assert not found.exact
    everything = tensor(
        [
            ApproximateDP(f.epsilon, f.delta) if isinstance(f, ApproximateDP) else Gaussian(1 / f.sigma)
            for f in mechanisms
        ]
    )
    assert 0 < found.tradeoff.profile(1.0) < everything.profile(1.0) + 0.05

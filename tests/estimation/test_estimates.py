"""Estimates against plain least squares over every cell of small domains."""

from __future__ import annotations

import numpy as np
import pytest

import parcomp as pc
from benchmarks import error
from parcomp.errors import ArgumentError, WorkloadError
from parcomp.estimation import problem, projection
from parcomp.samples import census_sample, paper_example
from tests.nearest import nearest_possible
from tests.soak import shared_with_soak
from tests.workloads import cell_matrix, random_judged

CHUNKS, CASES = 44, 50
"""With five draws each, more than 10,000 in all: a workload without queries has none.  ``make test`` takes a part."""


@pytest.fixture
def few_draws(monkeypatch):
    """Intervals are not looked at here."""
    monkeypatch.setattr(problem, "_DRAWS", (1, 1))
    monkeypatch.setattr(problem, "_LEAST_DRAWS", 1)


def nearest(cells, answers, facts=None):
    """The projection onto what tables can answer, by a solver that knows every cell; facts weigh much more."""
    return nearest_possible(cells, answers, 1.0 if facts is None else np.where(facts, 1e4, 1.0))


def random_answers(draw, cells):
    """True answers of a random table, scales, and noisy answers."""
    counts = draw.poisson(draw.choice([0.05, 1.0, 50.0]), cells.shape[1])
    scales = draw.uniform(0.1, draw.choice([1.0, 30.0]), len(cells))
    truth = cells @ counts
    return truth, scales, truth + draw.normal(0, scales)


def root_mean_square(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 2))
def test_estimates_are_the_projection_and_never_worse_than_raw(chunk, few_draws):
    """On every draw: the nearest of all that tables can answer, and no further from the truth than the answers were."""
    draw = np.random.default_rng([15, chunk])
    for _ in range(CASES):
        judged = random_judged(draw, wide=bool(draw.random() < 0.1))
        cells = cell_matrix(judged)
        possible = ~judged.workload.contradictory()
        for number in range(5 * bool(len(cells))):
            truth, scales, answers = random_answers(draw, cells)
            found = pc.estimate(judged.workload, answers, scales)
            assert set(found.methods) <= {"projection", "contradiction"}
            assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
            assert (found.values >= 0).all()
            assert (found.values[~possible] == 0).all()
            if number == 0:
                expected = nearest(cells, answers)
                unit = root_mean_square(scales)
                assert root_mean_square(found.values - expected) <= 0.02 * unit + 1e-7 * np.abs(answers).max()
                moved = np.linalg.norm((expected - answers)[possible])
                assert found.lower - 1e-6 * unit <= moved <= found.upper + 1e-6 * unit


@pytest.mark.parametrize("chunk", shared_with_soak(CHUNKS, CHUNKS - 1))
def test_facts_hold_and_never_worsen(chunk, few_draws):
    """Answers of scale 0 and counts of other queries are met, and the rest is nearest under them."""
    draw = np.random.default_rng([16, chunk])
    for _ in range(CASES):
        judged = random_judged(draw, most_queries=12)
        cells = cell_matrix(judged)
        if not len(cells):
            continue
        truth, scales, answers = random_answers(draw, cells)
        exact = draw.random(len(truth)) < 0.3
        scales[exact], answers[exact] = 0.0, truth[exact]
        found = pc.estimate(judged.workload, answers, scales)
        assert (found.values[exact] == truth[exact]).all()
        assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
        if found.proven and not exact.all():
            expected = nearest(cells, answers, exact)
            unit = root_mean_square(scales[~exact])
            assert root_mean_square(found.values - expected) <= 0.05 * unit + 1e-5 * np.abs(answers).max()


def test_public_facts_of_other_queries_are_met():
    """The number of rows and a marginal, which nobody asked for."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 119)})
    young = pc.between(0, 29)
    workload = pc.Workload(
        domain, [domain.query(sex="F", age=young), domain.query(sex="M", age=young), domain.query(sex="F")]
    )
    facts = {domain.query(): 100, domain.query(age=young): 40, domain.query(age=[]): 0}
    found = pc.estimate(workload, [30, 20, 90], 5.0, facts=facts)
    assert found.proven
    assert found.values[:2].sum() == pytest.approx(40, abs=1e-4)
    # 25 + 15 are nearest to 30 and 20; at most 60 of the women are not young.
    expected = project_plainly([30.0, 20.0, 90.0])
    assert found.values == pytest.approx(expected, abs=1e-3)


def project_plainly(answers):
    """The nearest young women, young men and women where 40 of 100 are young, looked for on a fine grid."""
    women = np.linspace(0, 40, 40_001)
    older = np.clip(answers[2] - women, 0, 60)
    distance = (women - answers[0]) ** 2 + (40 - women - answers[1]) ** 2 + (women + older - answers[2]) ** 2
    best = int(distance.argmin())
    return [women[best], 40 - women[best], women[best] + older[best]]


def test_values_outside_the_domain_are_rows_too():
    """Rows that satisfy neither part make the whole larger than its parts."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    workload = pc.Workload(domain, [domain.query(), domain.query(sex="F"), domain.query(sex="M")])
    assert pc.estimate(workload, [130, 60, 40], 5.0).values == pytest.approx([120, 70, 50], abs=1e-4)
    assert pc.estimate(workload, [130, 60, 40], 5.0, outside=True).values == pytest.approx([130, 60, 40], abs=1e-4)
    assert pc.estimate(workload, [100, 60, 70], 5.0, outside=True).values == pytest.approx([110, 50, 60], abs=1e-4)


@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
def test_outside_estimates_are_never_worse_than_raw(chunk, few_draws):
    """Whatever lies outside."""
    draw = np.random.default_rng([17, chunk])
    for _ in range(30):
        judged = random_judged(draw, most_queries=15)
        cells = cell_matrix(judged, outside=True)
        if len(cells):
            truth, scales, answers = random_answers(draw, cells)
            found = pc.estimate(judged.workload, answers, scales, outside=True)
            assert found.proven
            assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
            expected = nearest(cells, answers)
            assert (
                root_mean_square(found.values - expected)
                <= 0.02 * root_mean_square(scales) + 1e-7 * np.abs(truth).max()
            )


def test_a_census_sample_is_proven_and_gains():
    """In root mean square on every draw; ids, frames and intervals fit together; equal arguments, equal estimates."""
    workload = census_sample(300, 7)
    draw = np.random.default_rng(18)
    answers = draw.normal(20, 40, 300)
    found = pc.estimate(workload, answers, 40.0)
    again = pc.estimate(workload, dict(zip(workload.ids, answers.tolist(), strict=True)), [40.0] * 300)
    assert found.values.tolist() == again.values.tolist()
    assert found.intervals.tolist() == again.intervals.tolist()
    assert set(found.methods) == {"projection"}
    assert found.lower == pytest.approx(found.upper, rel=1e-3)
    assert (found.intervals[:, 0] <= found.values).all()
    assert (found.intervals[:, 0] >= 0).all()
    assert np.diff(found.intervals).mean() < 0.9 * np.diff(found.raw_intervals).mean()
    assert found.to_pandas()["value"].tolist() == found.values.tolist()


def test_when_the_time_is_up_what_is_proven_is_kept(few_draws):
    """At least the cut at 0, which is nearer to the truth in every answer."""
    workload = census_sample(400, 8)
    answers = np.random.default_rng(19).normal(0, 10, 400)
    found = pc.estimate(workload, answers, 10.0, time_limit=1e-9)
    assert set(found.methods) == {"partial projection"}
    assert found.proven
    assert (found.values >= 0).all()
    assert found.intervals[:, 1] - found.values == pytest.approx(found.raw_intervals[:, 1] - found.raw)


@pytest.mark.parametrize("chunk", shared_with_soak(10, 9))
def test_whatever_is_proven_is_never_worse_than_raw(chunk, monkeypatch):
    """However early the search for rows ends, what is released then is no further from the truth."""
    draw = np.random.default_rng([20, chunk])
    methods = set()
    for _ in range(60):
        judged = random_judged(draw)
        cells = cell_matrix(judged)
        if not len(cells):
            continue
        pricings = int(draw.integers(1, 6))
        monkeypatch.setattr(projection, "time", Clock(pricings))
        truth, scales, answers = random_answers(draw, cells)
        found = pc.estimate(judged.workload, answers, scales, interval=None)
        assert found.proven
        assert root_mean_square(found.values - truth) <= root_mean_square(answers - truth) * (1 + 1e-9)
        expected = nearest(cells, answers)
        moved = np.linalg.norm((expected - answers)[~judged.workload.contradictory()])
        assert found.lower <= moved + 1e-6 * root_mean_square(scales)
        methods |= set(found.methods)
    assert {"projection", "partial projection"} <= methods


class Clock:
    """Time is up after so many looks at the clock."""

    def __init__(self, looks):
        self.looks = looks

    def monotonic(self):
        self.looks -= 1
        return 0.0 if self.looks > 0 else np.inf


@pytest.mark.parametrize("largest", [10, 1_000, 100_000])
def test_true_facts_that_need_a_row_found_late_are_not_refused(largest):
    """The only table that has three facts: the rows come into the pool one after the other."""
    domain = pc.Domain({"a": pc.Integer(0, 2)})
    workload = pc.Workload(domain, [domain.query(a=1)])
    draw = np.random.default_rng(largest)
    for counts in [(6, 0, 1), (4842, 4, 1922), *draw.integers(0, largest + 1, (40, 3)).tolist()]:
        facts = {
            domain.query(): sum(counts),
            domain.query(a=[0, 2]): counts[0] + counts[2],
            domain.query(a=[1, 2]): counts[1] + counts[2],
        }
        answer = max(0.0, counts[1] + float(draw.integers(-5, 6)))
        found = pc.estimate(workload, [answer], 2.0, noise="gaussian", facts=facts, interval=None)
        assert found.values[0] == pytest.approx(counts[1], abs=0.05)


def test_exact_counts_of_many_rows_are_met():
    domain = pc.Domain({"a": pc.Integer(0, 3), "b": pc.Integer(0, 2)})
    workload = pc.Workload(domain, [domain.query(), domain.query(a=0, b=0), domain.query(b=[0, 2])])
    found = pc.estimate(workload, [148439076, 12, 64991172], [1, 0, 0], noise="gaussian", interval=None)
    assert found.values.tolist() == pytest.approx([148439076, 12, 64991172], abs=1)


def test_a_count_that_a_fact_states_is_that_fact():
    """Also where the time was up, where another answer is exact, and where a predicate lists all declared values."""
    queries = [SEXES.query(), SEXES.query(sex="F"), SEXES.query(sex="M"), SEXES.query(sex=["F", "M"]), SEXES.query()]
    workload = pc.Workload(SEXES, queries)
    for time_limit in (60.0, 1e-9):
        for outside in (False, True):
            found = pc.estimate(
                workload, [104, 70, 45, 96, 99], 10.0, facts={queries[0]: 100}, outside=outside, time_limit=time_limit
            )
            stated = [0, 4] if outside else [0, 3, 4]
            assert [place for place, method in enumerate(found.methods) if method == "fact"] == stated
            assert found.values[stated].tolist() == [100.0] * len(stated)
            assert found.intervals[stated].tolist() == [[100.0, 100.0]] * len(stated)
            assert bool(found.notes) == (time_limit < 1)
            assert found.doubts == ()
        exact = pc.estimate(workload, [104, 70, 45, 96, 99], [10, 10, 10, 10, 0], time_limit=time_limit)
        assert [exact.values[place] for place in (0, 3, 4)] == [99.0] * 3
    assert found.notes == (
        "time was up: 3 of 5 counts are as they were released; try a longer time limit (--time-limit 60)",
        "facts were not reached within the time for the other counts, which need not fit them; try a longer time limit "
        "(--time-limit 60)",
    )
    assert found.notes[0] in str(found)
    assert "doubt" not in repr(found)


def test_intervals_hold_about_as_often_as_they_say():
    """On a census sample, over all queries; the benchmark ``census-intervals`` has more."""
    case = error.census_case(200, "gdp", 77)
    draw = np.random.default_rng(21)
    held, raw_held = [], []
    for _ in range(4):
        found = pc.estimate(case.workload, case.truth + draw.normal(0, case.scales), case.scales)
        held.append((found.intervals[:, 0] <= case.truth) & (case.truth <= found.intervals[:, 1]))
        raw_held.append((found.raw_intervals[:, 0] <= case.truth) & (case.truth <= found.raw_intervals[:, 1]))
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(raw_held) >= 0.94


def test_answers_without_noise_are_kept():
    """Facts alone, an empty workload, and answers that are possible as they are."""
    paper = paper_example()
    counts = [1.0, 3.0, 1.0, 2.0, 1.0, 1.0]
    exact = pc.estimate(paper, counts, 0.0)
    assert exact.values.tolist() == counts
    assert exact.methods == ("fact",) * 6
    assert exact.intervals.tolist() == [[count, count] for count in counts]
    assert len(pc.estimate(paper[[]], [], 1.0).values) == 0
    assert repr(exact) == "<Estimate of 6 queries: 6 by fact; moved by 0>"
    zero = pc.estimate(paper, [0.0] * 6, 1.0)
    assert zero.values == pytest.approx([0.0] * 6, abs=1e-6)
    assert zero.proven


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": [1.0]}, "an answer is given for 1 queries, but there are 6"),
        ({"answers": [1.0] * 5 + [None]}, "an answer must be a number between -1e15 and 1e15, not None"),
        ({"answers": [1.0] * 5 + [float("nan")]}, "an answer must be a number between -1e15 and 1e15, not nan"),
        ({"answers": "123456"}, "must be a number between"),
        ({"answers": {"q1": 1.0}}, "an answer is missing for 'q2'"),
        ({"answers": {"elsewhere": 1.0}}, "the id of no query"),
        ({"scales": -1.0}, "a scale must not be below 0"),
        ({"scales": True}, "a scale must be a number between -1e15 and 1e15, not True"),
        ({"interval": 1.0}, "between 0 and 0.999999"),
        ({"interval": "0.95"}, "between 0 and 0.999999"),
        ({"time_limit": 0}, "a time limit must be a positive number"),
        ({"facts": {"rows": 3}}, "a fact is the count of a query"),
        ({"facts": {paper_example().domain.query(): -1}}, "a fact is the count of a query"),
        ({"facts": {paper_example().domain.query(postcode=[]): 1}}, "no row satisfies a contradiction"),
        (
            {"facts": {paper_example().domain.query(native="Y"): 5, paper_example().domain.query(): 3}},
            "no table was found",
        ),
        ({"scales": 0.0, "answers": [-1.0] * 6}, "an answer of scale 0 is exact"),
    ],
)
def test_bad_arguments(change, message):
    """Values that Python's own ``except ValueError`` catches."""
    arguments = {"answers": [1.0] * 6, "scales": 1.0, **change}
    with pytest.raises((ArgumentError, WorkloadError), match=message):
        pc.estimate(paper_example(), **arguments)


SEXES = pc.Domain({"sex": pc.Categorical(["F", "M"])})
BY_SEX = pc.Workload(SEXES, [SEXES.query(), SEXES.query(sex="F"), SEXES.query(sex="M")])


@pytest.mark.parametrize(
    "given",
    [
        {"answers": [10**400, 1, 1]},
        {"answers": [1e200, -1e200, 0.0]},
        {"answers": [1.001e15, 0.0, 0.0]},
        {"answers": [3.0, 1.0, 2.0], "scales": 1e16},
        {"answers": [3.0, 1.0, 2.0], "scales": 1e200},
        {"answers": [3.0, 1.0, 2.0], "facts": {SEXES.query(): 1e154}},
        {"answers": [3.0, 1.0, 2.0], "facts": {SEXES.query(): 10**400}},
    ],
)
def test_what_is_larger_than_any_count_is_refused(given):
    with pytest.raises(ArgumentError, match="1e15"):
        pc.estimate(BY_SEX, **{"scales": 1.0, "noise": "gaussian", **given})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-9, 1.0, 1e6, 1e15])
def test_scales_of_all_sizes(scale, noise):
    """Estimates stay within what noise can do, and intervals as wide as it."""
    for answers in ([5.0, 3.0, 3.0], [1e15, -1e15, 0.0]):
        found = pc.estimate(BY_SEX, answers, scale, noise=noise)
        assert np.isfinite(found.values).all()
        assert np.isfinite(found.intervals).all()
        assert found.proven
        if scale >= 1 and answers[0] < 1e9:
            assert (np.diff(found.intervals, axis=1) >= 0.5 * scale).all()


def test_exact_answers_that_no_table_has_are_refused_as_facts_are():
    for workload, answers in ((BY_SEX, [10.0, 1.0, 1.0]), (BY_SEX[:2], [3.0, 5.0])):
        with pytest.raises(WorkloadError, match="no table has all of these counts"):
            pc.estimate(workload, answers, 0.0)
    with pytest.raises(WorkloadError, match="no table has all of these counts"):
        pc.estimate(BY_SEX[:1], [3.0], 0.0, facts={SEXES.query(): 4})
    for answers in ([10.0, 4.0, 6.0], [1e15, 4e14, 6e14], [0.0, 0.0, 0.0]):
        assert set(pc.estimate(BY_SEX, answers, 0.0).methods) == {"fact"}


def test_exact_answers_of_a_table_are_never_refused():
    draw = np.random.default_rng(5)
    for _ in range(40):
        one = random_judged(draw)
        truth = random_answers(draw, cell_matrix(one))[0]
        assert pc.estimate(one.workload, truth.astype(float), 0.0).values.tolist() == truth.tolist()


@pytest.mark.parametrize("written", ["queries", "product", "file"])
def test_a_predicate_of_all_declared_values_leaves_outside_values_out(written, tmp_path):
    """30 women, 30 men and 40 with neither: what was answered is exactly true, and stays."""
    queries = [SEXES.query(), SEXES.query(sex=["F", "M"])]
    workload = pc.Workload(SEXES, queries)
    if written == "product":
        workload = pc.Workload.product(SEXES, {"sex": [None, ["F", "M"]]})
    if written == "file":
        workload.save(tmp_path / "workload.jsonl")
        workload = pc.Workload.load(SEXES, tmp_path / "workload.jsonl")
    assert list(workload) == queries
    for part, answers in ((workload, [100, 60]), (workload[[1, 0]], [60, 100])):
        found = pc.estimate(part, answers, 1.0, outside=True)
        assert found.values == pytest.approx(answers, abs=1e-6)
        assert set(found.methods) == {"projection"}
    assert pc.estimate(workload, [100, 60], 1.0).values == pytest.approx([80, 80], abs=1e-6)
    known = pc.estimate(workload[:1], [100], 1.0, outside=True, facts={queries[1]: 120})
    assert known.values == pytest.approx([120], abs=1e-3)


def test_what_was_proven_is_kept_where_a_later_step_proves_less():
    """On the first step everything is far off: the half-space that was proven before stays the best."""
    target = projection.Target(np.array([-3.0, 5.0]), np.zeros(2, bool), 1.0, np.ones(2))
    pool = projection.Pool(2)
    pool.join(np.array([[True, True]]))
    proof = projection._Proof(target)
    state = projection._State(target, pool)
    proof.see(np.array([-3.0, 0.0]), 0.0)
    proof.see(np.array([-3.0, 5.0]), 9.0)
    kept = proof.certified(state, np.array([-3.0, 5.0]), 2, ended=False)
    assert kept.lower == 3.0
    assert kept.values.tolist() == [0.0, 5.0]


def test_where_rows_have_no_bound_nothing_is_proven():
    """Pricing that was cut short knows none: answers are cut at 0, and no more."""
    target = projection.Target(np.array([-3.0, 5.0]), np.zeros(2, bool), 1.0, np.ones(2))
    known = projection.Pool(2)
    known.join(np.array([[True, True]]))
    proof = projection._Proof(target)
    proof.see(np.array([-4.0, 1.0]), np.inf)
    told = proof.certified(projection._State(target, known), np.array([-4.0, 1.0]), 1, ended=False)
    assert told.lower == 0.0
    assert told.values.tolist() == [0.0, 5.0]

"""What the tables of a run claim is what was measured: a time-out is never a completion, nor a guess a bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from parcomp.experiments import measuring
from parcomp.experiments.census import CENSUS, CensusSets
from parcomp.experiments.distributions import DISTRIBUTIONS, DrawnSet
from parcomp.experiments.experiment import Record
from parcomp.experiments.huge import huge_uniform_workload
from parcomp.experiments.limits import QUERY_LIMITS, Climb
from parcomp.experiments.measuring import ALL, by_paper, by_parcomp, owed
from parcomp.experiments.table1 import TABLE_1
from parcomp.experiments.table_builder import TABLE_BUILDER, Sessions
from parcomp.experiments.uniform import CLIQUE_SIZE, DOMAIN_SIZE, FEASIBLE_REGIONS, UniformSet
from parcomp.experiments.workloads import census_sample, dense_subsets


def row(method, algorithm, status, lower, upper, seconds=1.0, **more):
    known = {"method": method, "algorithm": algorithm, "status": status, "lower": lower, "upper": upper}
    return {**more, **known, "seconds": seconds}


def test_a_search_that_is_cut_off_has_timed_out_and_its_bound_is_all_that_is_known():
    """In the graph, in the paper's search, and in ours."""
    for found in [*by_paper(census_sample(500, 0), 0.02), *by_paper(dense_subsets(60, 8, 0), 0.2, ("overlap",))]:
        assert found["status"] == "timed out"
        assert found["upper"] == (60 if found["lower"] else 500)
        assert found["seconds"] >= 0.02
    (found,) = by_parcomp(dense_subsets(200, 12, 0), 0.05, ("overlap",))
    assert found["status"] == "timed out"
    assert found["lower"] < found["upper"]


@pytest.mark.parametrize("run", [by_paper, by_parcomp])
def test_only_the_algorithms_that_are_asked_for_are_run(run):
    workload = census_sample(30, 0)
    whole = {found["algorithm"]: found for found in run(workload, 20.0)}
    assert tuple(whole) == ALL
    for one in ALL:
        (found,) = run(workload, 20.0, (one,))
        assert (found["algorithm"], found["upper"]) == (one, whole[one]["upper"])


@pytest.mark.parametrize("run", [by_paper, by_parcomp])
def test_the_query_graph_is_counted_for_each_algorithm(run, monkeypatch):
    """By a clock that strikes whenever it is looked at, so that building the graph takes most of the time."""
    workload = huge_uniform_workload(40, 60, 0) if run is by_parcomp else census_sample(40, 0)
    list(run(workload, 1e9))
    strikes = count(step=1.0)
    monkeypatch.setattr(measuring, "processor_seconds", lambda: next(strikes))
    monkeypatch.setattr(measuring.paper_method, "processor_seconds", lambda: next(strikes))
    for found in run(workload, 1e9):
        if (run, found["algorithm"]) != (by_parcomp, "overlap"):
            assert found["seconds"] > 1


def test_what_an_instance_owed_when_it_was_ended_has_timed_out():
    found = owed("paper", 100, [row("paper", "chromatic", "completed", 0, 9)], "ended by the system", 60.0)
    assert [one["status"] for one in found] == ["completed", "ended by the system", "ended by the system"]
    assert [(one["lower"], one["upper"], one["seconds"]) for one in found[1:]] == [(0, 100, 60.0)] * 2
    assert {one["status"] for one in owed("paper", 100, [], "", 60.0)} == {"timed out"}


def test_census_counts_what_completed_and_gains_by_what_is_proven():
    rows = [
        row("parcomp", "chromatic", "completed", 0, 20, seed=0),
        row("parcomp", "clique", "completed", 10, 10, seed=0),
        row("parcomp", "overlap", "completed", 10, 10, 2.0, seed=0),
        row("parcomp", "chromatic", "completed", 0, 30, seed=1),
        row("parcomp", "clique", "timed out", 5, 100, 60.0, seed=1),
        row("parcomp", "overlap", "timed out", 5, 90, 60.0, seed=1),
    ]
    tables = CENSUS.tables([Record(CensusSets("parcomp", 100, 0, 3, 60.0), rows, "timed out", 0.0)])
    by = {one["algorithm"]: one for one in tables["census-methods"]}
    assert by["chromatic"]["gain"] == pytest.approx(0.75)
    assert by["chromatic"]["complete"] == pytest.approx(200 / 3)
    (own,) = tables["census"]
    assert own == {"t": 100, "gain": 0.9, "complete": pytest.approx(100 / 3), "seconds": 2.0}


def test_sets_of_a_size_are_drawn_by_seeds_of_their_own():
    rows = list(CENSUS.measure(CensusSets("parcomp", 60, 3, 3, 20.0)))
    assert [one["seed"] for one in rows] == [3, 3, 3, 4, 4, 4, 5, 5, 5]
    alone = [one["upper"] for seed in (3, 4, 5) for one in by_parcomp(census_sample(60, seed), 20.0)]
    assert [one["upper"] for one in rows] == alone
    assert len({tuple(alone[at : at + 3]) for at in (0, 3, 6)}) > 1


@pytest.mark.parametrize("quick", [True, False])
def test_both_methods_have_the_same_instances(quick):
    census, drawn, climbs = ({"paper": set(), "parcomp": set()} for _ in range(3))
    for one in CENSUS.instances(quick):
        census[one.method] |= {(one.t, seed) for seed in range(one.first, one.first + one.sets)}
    for found, experiment in ((drawn, DISTRIBUTIONS), (climbs, QUERY_LIMITS)):
        for one in experiment.instances(quick):
            found[one.method].add(replace(one, method=""))
    assert census["paper"] <= census["parcomp"]
    assert drawn["paper"] <= drawn["parcomp"]
    assert climbs["paper"] == climbs["parcomp"]


def test_regions_cliques_and_domains_take_a_time_out_for_what_it_is():
    one = UniformSet("paper", 50, 10, 0, 60.0)
    more = replace(one, t=80)
    rows = [row("paper", "chromatic", "completed", 0, 12), row("paper", "clique", "timed out", 4, 50)]
    records = [
        Record(one, [row("paper", name, "completed", 7, 7) for name in ALL], "", 1.0),
        Record(more, rows, "timed out", 400.0),
    ]
    found = {(r["algorithm"], r["t"]): r for r in FEASIBLE_REGIONS.tables(records)["feasible-regions"]}
    assert found["overlap", 80]["status"] == "timed out"
    sizes = {r["t"]: (r["clique_number"], r["class"]) for r in CLIQUE_SIZE.tables(records)["clique-size"]}
    assert sizes == {50: (7, "5 to 9"), 80: ("at least 4", "not known")}
    most = {r["algorithm"]: (r["most_queries"], r["fewest_not"]) for r in DOMAIN_SIZE.tables(records)["domain-size"]}
    assert most == {"chromatic": (80, "all completed"), "clique": (50, 80), "overlap": (50, 80)}


def climbed(method, seed, ended, *found):
    one = Climb(method, "uniform", 0.0, seed, 60, 10.0)
    return Record(one, [row(method, name, status, 1, 5, t=t) for name, t, status in found], ended, 1.0)


def test_a_comfortable_limit_lies_below_every_time_out():
    """One of two sets is cut off at 30 queries: nothing above counts, though the other set completed there."""
    sizes = (20, 25, 30, 40, 50, 60)
    whole = [(name, t, "completed") for t in sizes for name in ALL]
    cut = [(name, t, "completed") for t in sizes[:2] for name in ALL]
    cut += [("chromatic", 30, "completed"), ("clique", 30, "timed out")]
    records = [climbed("paper", 0, "", *whole), climbed("paper", 1, "timed out", *cut)]
    limits = {one["algorithm"]: one for one in QUERY_LIMITS.tables(records)["query-limits"]}
    for name in ("clique", "overlap"):
        assert (limits[name]["comfortable_limit"], limits[name]["timed_out_at"]) == (25, 30)
    assert {one["sets"] for one in limits.values()} == {2}
    assert limits["clique"]["over_uniform"] == 1
    (first, *_) = QUERY_LIMITS.tables(records[:1])["query-limits"]
    assert (first["comfortable_limit"], first["timed_out_at"]) == (60, "never")


def test_an_algorithm_that_timed_out_is_not_run_again():
    """By the paper's method with no time at all, which times out at once in all three."""
    assert [(one["t"], one["status"]) for one in QUERY_LIMITS.measure(Climb("paper", "uniform", 0.0, 0, 60, 0.0))] == [
        (20, "timed out")
    ] * 3


def test_fewer_queries_of_a_climb_are_the_first_of_more():
    few, *_, many = Climb("paper", "values", 0.25, 1, 60, 1.0).workloads()
    assert (len(few), len(many)) == (20, 60)
    assert few.domain == many.domain
    assert list(few) == list(many)[:20]
    assert list(next(Climb("paper", "values", 0.25, 2, 60, 1.0).workloads())) != list(few)


def test_a_gain_is_by_a_proven_bound_or_by_an_answer():
    """Parcomp's upper bound is one even if its time was out; what the paper's method held when cut off is none."""
    found = {}
    for method in ("paper", "parcomp"):
        records = [
            Record(
                DrawnSet(method, "uniform", 0.0, 20, 0, 10.0), [row(method, "overlap", "completed", 5, 5)], "x", 9.0
            ),
            Record(
                DrawnSet(method, "uniform", 0.0, 20, 1, 10.0), [row(method, "overlap", "timed out", 1, 15)], "x", 9.0
            ),
        ]
        found |= {(method, one["algorithm"]): one for one in DISTRIBUTIONS.tables(records)["distributions"]}
    assert found["paper", "overlap"]["gain"] == 0.75
    assert found["parcomp", "overlap"]["gain"] == 0.5
    assert found["paper", "overlap"]["complete"] == found["parcomp", "overlap"]["complete"] == 50
    assert found["paper", "clique"]["gain"] == "none completed"


def test_the_errors_of_table_1_follow_from_t_and_gamma():
    lines = {one.data_set: next(iter(TABLE_1.measure(one))) for one in TABLE_1.instances(False)}
    assert lines["7"] == {"gain": "0.585", "sequential": "5.109", "optimal": "3.290"}
    assert lines["Combined"] == {"gain": "0.362", "sequential": "23.709", "optimal": "18.932"}


def test_the_stand_in_has_no_number_of_what_timed_out():
    record = Record(Sessions("paper", (2,), 60.0), [row("paper", "chromatic", "completed", 0, 30)], "timed out", 60.0)
    found = {one["algorithm"]: one for one in TABLE_BUILDER.tables([record])["table-builder"]}
    assert found["chromatic"]["gain"] == 0.75
    assert (found["overlap"]["charged"], found["overlap"]["gain"]) == ("timed out", "timed out")


def test_a_journal_of_another_version_is_measured_again():
    """What is measured is part of the key, so that numbers of older code are never shown as those of newer code."""
    one = CENSUS.instances(True)[0]
    assert CENSUS.key(one) != replace(CENSUS, version=CENSUS.version + 1).key(one)
    assert CENSUS.key(one) != CENSUS.key(replace(one, limit=one.limit + 1))
    assert CENSUS.key(one) != CENSUS.key(replace(one, first=one.first + 1))

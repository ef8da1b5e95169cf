"""Runs of experiments: children that are ended, runs that are killed and go on, engines that agree."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from parcomp.errors import FileError, ParcompError
from parcomp.experiments.child import Outcome, Task, begin, end_children, run_in_child
from parcomp.experiments.engines import DaskEngine, LocalEngine
from parcomp.experiments.experiment import Experiment
from parcomp.experiments.measuring import owed
from parcomp.experiments.registry import EXPERIMENTS
from parcomp.experiments.runner import draw_again, run_experiment
from parcomp.experiments.tables import read_table, write_table

CENSUS = EXPERIMENTS["census"]
TABLE_1 = EXPERIMENTS["table1"]


def census_task(method: str, t: int, limit: float, each: float = 60.0) -> Task:
    key = {"method": method, "t": t, "first": 0, "sets": 1, "limit": each, "version": CENSUS.version}
    return Task("census", key, limit)


@pytest.fixture
def children():
    begin()
    yield
    end_children()


def test_a_child_is_ended_at_its_limit_and_what_it_has_said_counts(children, monkeypatch):
    """The paper's method at t = 1,500 takes half a minute; the next task is answered by another child."""
    monkeypatch.setattr("parcomp.experiments.child._CLOCK", 1_000.0)
    assert run_in_child(census_task("paper", 25, 120.0)).rows
    outcome = run_in_child(census_task("paper", 1_500, 3.0, each=10.0))
    assert (outcome.ended, outcome.failed) == ("timed out", "")
    assert outcome.seconds == 3
    rows = owed("paper", 1_500, outcome.rows, outcome.ended, outcome.seconds)
    assert sorted(row["algorithm"] for row in rows) == ["chromatic", "clique", "overlap"]
    assert {row["status"] for row in rows} == {"timed out"}
    again = run_in_child(census_task("paper", 25, 120.0))
    assert [row["status"] for row in again.rows] == ["completed"] * 3


def only_child() -> psutil.Process:
    (child,) = [one for one in psutil.Process().children() if "parcomp.experiments.child" in one.cmdline()]
    return child


def boxes_task(t: int, each: float) -> Task:
    key = {"family": "boxes, m=3", "size": t, "limit": each, "version": EXPERIMENTS["growth"].version}
    return Task("growth", key, 20.0)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (census_task("paper", 25, 120.0), census_task("paper", 500, 20.0, each=2.0)),
        (boxes_task(100, 10.0), boxes_task(3_000, 2.0)),
    ],
    ids=["paper", "parcomp"],
)
def test_time_that_goes_to_other_work_does_not_count(children, short, long):
    """Stopped in the midst for longer than its limit, a method goes on and completes: the paper's, and Parcomp."""
    assert run_in_child(short).rows
    child = only_child()
    threading.Timer(0.35, child.suspend).start()
    threading.Timer(2.85, child.resume).start()
    began = time.monotonic()
    outcome = run_in_child(long)
    assert time.monotonic() - began > 2.5
    assert (outcome.ended, {row["status"] for row in outcome.rows}) == ("", {"completed"})
    assert all(row["seconds"] < 2 for row in outcome.rows)
    assert outcome.seconds < 4


def test_a_child_that_sleeps_is_ended_by_the_clock(children, monkeypatch):
    monkeypatch.setattr("parcomp.experiments.child._CLOCK", 1.0)
    assert run_in_child(census_task("paper", 25, 120.0)).rows
    only_child().suspend()
    assert run_in_child(census_task("paper", 25, 2.0)).ended == "timed out"


def test_a_child_that_the_system_ends_is_no_end_of_the_run(children):
    """As when memory is short."""
    assert run_in_child(census_task("paper", 25, 120.0)).rows
    child = only_child()
    threading.Timer(1.0, child.kill).start()
    assert run_in_child(census_task("paper", 1_500, 120.0)).ended == "ended by the system"
    assert run_in_child(census_task("paper", 25, 120.0)).ended == ""


def test_a_fault_of_an_experiment_is_told(tmp_path):
    broken = Experiment(
        "census",
        "",
        CENSUS.instance,
        lambda _quick: [CENSUS.instance("nobody's", -5, 0, 1, 1.0)],
        CENSUS.measure,
        CENSUS.limit,
        CENSUS.tables,
        CENSUS.draw,
    )
    with LocalEngine(1) as engine, pytest.raises(ParcompError, match="census"):
        run_experiment(broken, tmp_path, engine)


def journal_lines(out: Path) -> list[bytes]:
    path = out / "census.journal.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def test_a_run_that_is_killed_goes_on_and_measures_nothing_twice(tmp_path):
    """-9 in the midst: what is in the journal stays there, and the children end too."""
    command = [sys.executable, "-m", "parcomp.cli", "experiment", "census", "--quick", "--workers", "1"]
    victim = subprocess.Popen([*command, "--out", str(tmp_path)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while len(journal_lines(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    left = psutil.Process(victim.pid).children(recursive=True)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    before = journal_lines(tmp_path)
    instances = len(CENSUS.instances(True))
    assert 2 <= len(before) < instances
    assert not (tmp_path / "census.csv").exists()
    assert psutil.wait_procs(left, timeout=30)[1] == []
    subprocess.run([*command, "--out", str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    after = journal_lines(tmp_path)
    assert after[: len(before)] == before
    assert len({json.dumps(json.loads(line)["key"]) for line in after}) == len(after) == instances
    assert [row["complete"] for row in read_table(tmp_path / "census.csv")] == [100] * 4


def test_a_finished_run_is_only_drawn_again(tmp_path):
    with LocalEngine(1) as engine:
        first = {path: path.read_bytes() for path in run_experiment(TABLE_1, tmp_path, engine)}

    class NoEngine:
        def outcomes(self, tasks):
            assert tasks == []
            return iter(())

    again = {path: path.read_bytes() for path in run_experiment(TABLE_1, tmp_path, NoEngine())}
    assert again == first


def test_pictures_are_drawn_again_from_the_tables_alone(tmp_path):
    """Without a journal, as beside the results on the site."""
    with LocalEngine(1) as engine:
        first = {path: path.read_bytes() for path in run_experiment(TABLE_1, tmp_path, engine)}
    for path in tmp_path.iterdir():
        if path.suffix != ".csv":
            path.unlink()
    again = draw_again(TABLE_1, tmp_path)
    assert [path.suffix for path in again] == [".png", ".svg"]
    assert all(path.read_bytes() == first[path] for path in again)
    with pytest.raises(FileError, match="no such table to draw"):
        draw_again(CENSUS, tmp_path)


def test_a_cluster_gives_the_same_tables(tmp_path):
    """A Dask cluster on this machine, whose workers are daemons: the same children, the same code."""
    with LocalEngine(1) as engine:
        run_experiment(TABLE_1, tmp_path / "local", engine)
    told = []
    with DaskEngine(workers=1) as engine:
        run_experiment(TABLE_1, tmp_path / "dask", engine, tell=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 10)
    assert told[-1] == (10, 10)
    for name in ("table1.csv", "table1-paper.csv", "table1.svg"):
        assert (tmp_path / "dask" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_no_cell_of_a_table_is_empty(tmp_path):
    for cell in ("", None, float("nan")):
        with pytest.raises(ValueError, match="say why"):
            write_table(tmp_path / "a.csv", [{"t": 1, "gain": cell}])
    with pytest.raises(ValueError, match="columns"):
        write_table(tmp_path / "a.csv", [{"t": 1}, {"gain": 1}])
    assert not (tmp_path / "a.csv").exists()
    assert read_table(write_table(tmp_path / "a.csv", [{"t": 1, "gain": 0.5, "why": "timed out"}])) == [
        {"t": 1, "gain": 0.5, "why": "timed out"}
    ]


def test_instances_are_the_same_every_time_and_none_comes_twice():
    for experiment in EXPERIMENTS.values():
        for quick in (True, False):
            keys = [json.dumps(experiment.key(one)) for one in experiment.instances(quick)]
            assert keys == [json.dumps(experiment.key(one)) for one in experiment.instances(quick)]
            assert len(set(keys)) == len(keys)
            assert all(experiment.made(experiment.key(one)) == one for one in experiment.instances(quick))


def test_the_full_sweep_reaches_what_the_paper_reaches():
    """t from 10 to 2,000, domains up to 10^80000, and the same instances by both methods."""
    full = EXPERIMENTS["feasible-regions"].instances(False)
    ours = {(one.t, one.m, one.seed) for one in full if one.method == "parcomp"}
    theirs = {(one.t, one.m, one.seed) for one in full if one.method == "paper"}
    assert theirs < ours
    assert {one.limit for one in full} == {60.0}
    sizes = [one.log10 for one in full]
    assert min(sizes) < 100
    assert max(sizes) == 80_000
    assert {(2_000, 20_000), (2_000, 80_000), (100, 80_000)} <= {(one.t, one.log10) for one in full}


def test_a_task_is_handed_out_when_an_outcome_was_taken(monkeypatch):
    """So what is killed has lost, of each worker, the task that it was at, and none that it had finished."""
    begun = []

    def run(task: Task) -> Outcome:
        begun.append(task.limit)
        return Outcome(task)

    monkeypatch.setattr("parcomp.experiments.engines.run_in_child", run)
    tasks = [census_task("paper", 25, float(number)) for number in range(6)]
    with LocalEngine(2) as engine:
        outcomes = engine.outcomes(tasks)
        for taken in range(1, 7):
            next(outcomes)
            time.sleep(0.05)
            assert sorted(begun) == list(range(min(taken + 1, 6)))
        assert list(outcomes) == []


def test_workers_of_the_engine_are_ended(tmp_path):
    """Also while they measure."""
    before = set(psutil.Process().children(recursive=True))
    with LocalEngine(1) as engine:
        tasks = engine.outcomes([census_task("paper", 25, 120.0), census_task("paper", 2_000, 300.0)])
        next(tasks)
    assert set(psutil.Process().children(recursive=True)) <= before

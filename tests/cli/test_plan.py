"""``parcomp plan`` as people and programs use it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import parcomp as pc
from parcomp.cli import main
from parcomp.cli.plan import _about_time
from parcomp.experiments.workloads import uniform_workload
from parcomp.planning.strategies import atoms
from parcomp.samples import census_sample, paper_example
from parcomp.tabular import rounded_text

LAST = ["mean_error", "uniform_mean_error", "sequential_mean_error", "loss", "strategy", "lower_bound"]
"""What the last line of JSON says."""


@pytest.fixture
def paper(tmp_path):
    """The paper's example as files, and the arguments that name them."""
    workload = paper_example()
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "six.jsonl")
    workload.with_costs(np.full(6, 10**8), "mu").save(tmp_path / "mu.jsonl")
    return ["plan", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "six.jsonl")]


@pytest.mark.parametrize("measure", ["pure", "zcdp", "gdp"])
@pytest.mark.parametrize("objective", ["mean", "max"])
def test_json_has_a_line_for_each_query_and_one_for_the_whole(paper, capsys, measure, objective):
    """The keys of the contract, in order; what is printed adds up."""
    arguments = [*paper, "--measure", measure, "--budget", "0.5", "--objective", objective, "--json"]
    assert main(arguments) == 0
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [list(line) for line in lines] == [["id", "cost", "expected_error"]] * 6
    assert list(last) == LAST
    assert last["strategy"] == "independent"
    assert [line["id"] for line in lines] == paper_example().ids
    assert last["mean_error"] == pytest.approx(np.mean([line["expected_error"] for line in lines]))
    assert last["mean_error"] <= last["uniform_mean_error"] * 1.0001 < last["sequential_mean_error"]
    assert 0.499 < last["loss"] <= 0.5
    # Queries 1, 2 and 4 meet in one row.
    power = 2 if measure == "gdp" else 1
    assert sum(lines[position]["cost"] ** power for position in (0, 1, 3)) <= 0.5**power + 1e-9


@pytest.mark.parametrize(
    ("measure", "strategy", "used"),
    [
        ("zcdp", "correlated", "correlated"),
        ("gdp", "auto", "correlated"),
        ("pure", "atoms", "atoms"),
        ("pure", "auto", "atoms"),
    ],
)
def test_a_strategy_has_less_error_and_says_what_it_is(paper, capsys, measure, strategy, used):
    """Below the mean error without it, at the same budget; the bound of a correlated one is below its error."""
    arguments = [*paper, "--measure", measure, "--budget", "0.5", "--json"]
    assert main(arguments) == 0
    alone = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main([*arguments, "--strategy", strategy]) == 0
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [list(line) for line in lines] == [["id", "cost", "expected_error"]] * 6
    assert list(last) == LAST
    assert last["strategy"] == used
    assert last["mean_error"] == pytest.approx(np.mean([line["expected_error"] for line in lines]))
    assert last["mean_error"] < 0.95 * alone["mean_error"]
    assert last["loss"] <= 0.5
    assert (last["lower_bound"] is None) == (used == "atoms")
    assert used == "atoms" or 0.98 * last["mean_error"] < last["lower_bound"] <= last["mean_error"]
    assert main([*arguments[:-1], "--strategy", strategy]) == 0
    assert f"{used} plan for 6 queries" in capsys.readouterr().out


def test_people_see_means_a_chart_and_both_ends(tmp_path, capsys):
    """A census sample on the screen and as a picture."""
    workload = census_sample(200, 1)
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "census.jsonl")
    arguments = ["plan", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "census.jsonl")]
    assert main([*arguments, "--measure", "zcdp", "--budget", "1", "--plot", str(tmp_path / "out" / "plan.png")]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if re.match(r" *[0-9.,]+ +– ", line)]
    assert len({len(row[0].partition(".")[2]) for row in rows} | {len(row[2].partition(".")[2]) for row in rows}) == 1
    for text in ("mean plan for 200 queries", "mean error, uniform", "queries by expected error", "cost ρ", "█", "…"):
        assert text in shown
    assert (tmp_path / "out" / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_errors_of_other_statements_than_plain_counts_are_noted(tmp_path, capsys):
    """For people and for programs; a file of plain counts has no note."""
    pc.Domain({"ward": pc.Categorical(["a", "b"]), "cost": pc.Integer(0, 9)}, name="t").save(tmp_path / "domain.json")
    arguments = ["plan", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "w.sql")]
    arguments += ["--measure", "pure", "--budget", "1"]
    (tmp_path / "w.sql").write_text(
        "SELECT COUNT(*) FROM t;\nSELECT AVG(cost) FROM t;\nSELECT ward, COUNT(*) FROM t GROUP BY ward"
    )
    note = "errors are those of plain counts; with GROUP BY that of each group; 1 statement asks for something else"
    assert main(arguments) == 0
    assert capsys.readouterr().err.startswith(f"parcomp: note: {note}, of which")
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().err)["note"].startswith(note)
    (tmp_path / "w.sql").write_text("SELECT COUNT(*) FROM t")
    assert main(arguments) == 0
    assert capsys.readouterr().err == ""


def test_a_ceiling_alone_gives_the_budget(paper, capsys):
    """The paper's three queries that meet must each get ε ≈ 1/20."""
    assert main([*paper, "--measure", "pure", "--max-error", "20", "--json"]) == 0
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert max(line["expected_error"] for line in lines) <= 20
    assert last["loss"] == pytest.approx(3 / 20, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measure", "pure", "--budget", "-1"], "must be above 0"),
        (["--measure", "pure", "--budget", "nan"], "must be finite"),
        (["--measure", "pure", "--budget", "much"], "must be a number"),
        (["--measure", "renyi", "--budget", "1"], "unknown measure 'renyi'"),
        (["--measure", "pure", "--budget", "1", "--objective", "best"], "--objective"),
        (["--measure", "pure", "--budget", "1", "--time-limit", "nan"], "--time-limit"),
        (["--measure", "pure", "--budget", "1", "--max-error", "nan"], "must be a positive number"),
        (["--measure", "pure", "--budget", "0.1", "--max-error", "1"], "does not keep the ceilings"),
        (["--measure", "pure", "--budget", "0.000000001"], "too small"),
        (["--measure", "pure", "--budget", "1", "--strategy", "best"], "--strategy"),
        (["--measure", "pure", "--budget", "1", "--strategy", "correlated"], "zcdp or gdp"),
        (
            ["--measure", "gdp", "--budget", "1", "--strategy", "auto", "--objective", "max"],
            "planned for the least mean error, not for the objective max; leave out one of the two",
        ),
        (
            ["--measure", "gdp", "--max-error", "20", "--strategy", "auto"],
            "planned for the least mean error, without ceilings of errors (--max-error); leave out one of the two",
        ),
        (["--measure", "pure"], "--budget"),
        (["--budget", "1"], "--measure"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(paper, capsys, options, message):
    """The line says what is wrong; nothing goes to standard output."""
    assert main([*paper, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_costs_of_another_measure_are_refused(paper, capsys):
    """A workload priced in μ is not planned in ε."""
    path = paper[-1].replace("six", "mu")
    assert main([*paper[:-1], path, "--measure", "pure", "--budget", "1"]) == 2
    assert "costs in mu; a plan under pure is in epsilon" in capsys.readouterr().err
    assert main([*paper[:-1], path, "--measure", "gdp", "--budget", "1", "--json"]) == 0


def test_an_interrupted_plan_exits_130_with_a_line(tmp_path):
    """In the middle of the work, whatever the kernels are at."""
    generator = np.random.default_rng(1)
    domain = pc.Domain({f"a{i}": pc.Integer(0, 11) for i in range(10)})
    queries = [
        domain.query({f"a{a}": generator.choice(12, 6, replace=False).tolist() for a in generator.choice(10, 4, False)})
        for _ in range(500)
    ]
    domain.save(tmp_path / "domain.json")
    pc.Workload(domain, queries).save(tmp_path / "hard.jsonl")
    script = (
        "import os, signal, sys, threading\n"
        "from parcomp.cli import main\n"
        "timer = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))\n"
        "timer.daemon = True\n"
        "timer.start()\n"
        "sys.exit(main('plan --domain domain.json hard.jsonl --measure pure --budget 1 --time-limit 90'.split()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=80
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "parcomp: interrupted; nothing was charged\n")


def test_what_a_batch_would_not_measure_by_a_strategy_is_told(tmp_path, capsys):
    """A plan knows rows; statements that are no plain counts cannot be part of a strategy."""
    (tmp_path / "domain.json").write_text(json.dumps({"name": "data", "attributes": {"age": {"low": 0, "high": 9}}}))
    file = tmp_path / "asked.sql"
    options = ["--domain", str(tmp_path / "domain.json"), "--measure", "gdp", "--budget", "1"]
    file.write_text("SELECT COUNT(*) FROM data;\nSELECT AVG(age) FROM data;")
    assert main(["plan", str(file), *options, "--strategy", "auto"]) == 0
    assert "parcomp batch cannot measure this file by a strategy, as statement 2 (line 2)" in capsys.readouterr().err
    assert main(["plan", str(file), *options]) == 0
    assert "cannot measure" not in capsys.readouterr().err
    file.write_text("SELECT COUNT(*) FROM data;\nSELECT COUNT(*) FROM data WHERE age < 3;")
    assert main(["plan", str(file), *options, "--strategy", "auto"]) == 0
    assert capsys.readouterr().err == ""


def test_a_plan_says_that_its_time_was_up():
    assert _about_time(0.3, 1.0) == ""
    assert _about_time(4.8, 1.0).startswith("the time of 1 s was up after 4.8 s")


def test_a_strategy_that_was_not_planned_is_told_with_the_reason(tmp_path, monkeypatch, capsys):
    """In the text and as a note; the last line of JSON is as ever."""
    monkeypatch.setattr(atoms, "ATOM_LIMIT", 50)
    workload = uniform_workload(25, 12, 2, 3)
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "hard.jsonl")
    arguments = ["plan", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "hard.jsonl")]
    arguments += ["--measure", "gdp", "--budget", "1", "--time-limit", "3", "--strategy"]
    assert main([*arguments, "atoms"]) == 0
    captured = capsys.readouterr()
    assert "strategy  independent (atoms: more than 50 classes of rows)\n" in captured.out
    note = captured.err.splitlines()[0]
    assert note.startswith("parcomp: note: there is no plan for the strategy asked for, and each query gets noise ")
    assert note.endswith("(atoms: more than 50 classes of rows)")
    assert main([*arguments, "auto", "--json"]) == 0
    captured = capsys.readouterr()
    assert list(json.loads(captured.out.splitlines()[-1])) == LAST
    assert (
        "not all strategies were compared (correlated: more than 50" in json.loads(captured.err.splitlines()[0])["note"]
    )


@pytest.mark.parametrize("strategy", ["auto", "correlated"])
def test_a_strategy_stands_beside_independent_noise(paper, tmp_path, capsys, strategy):
    """So that people see what it gains; what it costs is that of the whole, and no query's own."""
    arguments = [*paper, "--measure", "gdp", "--budget", "0.5"]
    assert main([*arguments, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out.splitlines()[-1])["mean_error"]
    assert main([*arguments, "--strategy", strategy, "--plot", str(tmp_path / "plan.png")]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert f"mean error, independent      {rounded_text(alone, 4)}" in captured.out
    assert "strategy  correlated\n" in captured.out
    assert "like cost μ" in captured.out


def test_a_strategy_that_does_not_pay_is_told(tmp_path, capsys):
    """Many atoms add up to more noise than one count has; ``auto`` says that nothing else has less error."""
    domain = pc.Domain({"age": pc.Integer(0, 119), "sex": pc.Categorical(["F", "M"])})
    queries = [domain.query(sex="F"), domain.query(sex="F", age=pc.between(20, 39)), domain.query(age=30)]
    domain.save(tmp_path / "domain.json")
    pc.Workload(domain, [*queries, *(domain.query(age=(age, age + 60)) for age in range(50))]).save(
        tmp_path / "w.jsonl"
    )
    arguments = ["plan", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "w.jsonl"), "--measure", "gdp"]
    assert main([*arguments, "--budget", "1", "--strategy", "atoms"]) == 0
    told = capsys.readouterr().err
    assert re.match(r"parcomp: note: independent noise would have less error at this budget: \S+ instead of \S+ ", told)
    assert "--strategy auto takes what has the least" in told

"""``parcomp overlap`` as people and programs use it."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

import parcomp as pc
from parcomp.cli import main

KEYS = ["workload", "queries", "method", "lower", "upper", "exact", "total", "gain", "witness", "members", "seconds"]


@pytest.mark.parametrize("method", ["auto", "exact", "clique", "chromatic", "brute-force"])
def test_json_has_the_promised_keys(paper, capsys, method):
    """One line of JSON for each workload, with the keys of the contract in order."""
    path = str(paper / "six.jsonl")
    assert main(["overlap", "--domain", str(paper / "domain.json"), path, path, "--method", method, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    answer = json.loads(lines[0])
    assert list(answer) == KEYS
    assert (answer["workload"], answer["queries"], answer["method"]) == (path, 6, method)
    assert (answer["lower"], answer["upper"], answer["exact"], answer["total"]) == (3, 3, True, 6)
    assert answer["gain"] == 0.5
    assert answer["witness"] == {"postcode": "A", "native": "Y"}
    assert answer["members"] == ["q1", "q2", "q4"]


def test_human_output_names_what_matters(paper, capsys):
    """The bracket, the saving, the witness and the members are on the screen."""
    assert main(["overlap", "--domain", str(paper / "domain.json"), str(paper / "six.jsonl")]) == 0
    shown = capsys.readouterr().out
    for text in ("maximum overlap", "3  (exact)", "50.0%", "postcode = A, native = Y", "q1, q2, q4"):
        assert text in shown


def test_brute_force_refuses_a_large_domain(tmp_path, capsys):
    """A method that cannot do it says so in one line and what to do instead; another method can."""
    domain = pc.Domain({f"a{index}": pc.Integer(0, 9) for index in range(8)})
    queries = [domain.query({name: value}) for name in domain.names for value in range(10)]
    domain.save(tmp_path / "domain.json")
    pc.Workload(domain, queries).save(tmp_path / "points.jsonl")
    arguments = ["overlap", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "points.jsonl")]
    assert main([*arguments, "--method", "brute-force"]) == 2
    assert "another method" in capsys.readouterr().err
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upper"] == 8


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["overlap"], "WORKLOAD"),
        (["overlap", "x.jsonl"], "--domain"),
        (["overlap", "--domain", "d.json", "x.jsonl", "--method", "guess"], "guess"),
        (["overlap", "--domain", "d.json", "x.jsonl", "--time-limit", "-1"], "time-limit"),
        (["overlap", "--domain", "d.json", "x.jsonl", "--time-limit", "0"], "time-limit"),
        (["overlap", "--domain", "d.json", "x.jsonl", "--time-limit", "inf"], "time-limit"),
        (["overlap", "--domain", "d.json", "x.jsonl", "--time-limit", "nan"], "time-limit"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_one_line(capsys, arguments, expected):
    """Exit 2 and one line that names the trouble."""
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert expected in error


def test_an_interrupted_command_exits_130_with_a_line(tmp_path):
    """It waits for a domain that nobody writes, so that it cannot end before it is interrupted."""
    domain = tmp_path / "domain.json"
    os.mkfifo(domain)
    # Whatever is started in the background of a shell ignores Ctrl-C, and so would the command.
    heard = ["env", "--default-signal=INT"]
    command = [*heard, sys.executable, "-m", "parcomp.cli", "overlap", "--domain", str(domain), "x.jsonl"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # A writer can open it only once the command reads.
    with domain.open("w"):
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, "", "parcomp: interrupted; nothing was charged\n")


@pytest.mark.parametrize(
    ("count", "command"),
    [(3_000, ["plan", "--measure", "pure", "--budget", "1", "--json"]), (30, ["overlap"]), (3, ["overlap", "--json"])],
    ids=["much", "text", "little"],
)
def test_a_closed_pipe_ends_a_command_quietly(tmp_path, count, command):
    """``parcomp … | head -1``, whether the output fills the pipe or is only written at the end."""
    domain = pc.Domain({"code": pc.Integer(0, 9)})
    domain.save(tmp_path / "domain.json")
    queries = [domain.query(code=number % 10) for number in range(count)]
    pc.Workload(domain, queries, ids=[f"{number:0>60}" for number in range(count)]).save(tmp_path / "many.jsonl")
    process = subprocess.Popen(
        [sys.executable, "-m", "parcomp.cli", *command, "--domain", "domain.json", "many.jsonl"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


def test_help_is_quick():
    """Less than a third of a second of CPU as a fresh process, the best of three."""

    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "parcomp.cli", "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) <= 0.3


def test_queries_that_no_row_satisfies_are_noted(tmp_path, capsys):
    """A misspelled value costs nothing; people are told where it stands, programs get what they asked for."""
    (tmp_path / "domain.json").write_text(
        json.dumps({"name": "t", "attributes": {"region": {"values": ["Wien", "Graz"]}, "age": {"low": 0, "high": 9}}})
    )
    path = tmp_path / "bad.jsonl"
    wheres = [{"region": "Wien"}, {"region": "Wein"}, {"age": 3, "region": ["Wien", "Wein"]}, {"age": [70, 71]}]
    wheres += [{"age": 12, "region": "Graz"}, {"age": 13}]
    path.write_text("\n\n".join(json.dumps({"id": f"q{n}", "where": where}) for n, where in enumerate(wheres)))
    arguments = ["overlap", "--domain", str(tmp_path / "domain.json"), str(path)]
    assert main(arguments) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"parcomp: note: {path}:3: no row satisfies this query: region has no value 'Wein'",
        f"parcomp: note: {path}:7: no row satisfies this query: no declared value of age is one that it asks for",
        f"parcomp: note: {path}:9: no row satisfies this query: age has no value 12",
        f"parcomp: note: {path}: no row satisfies 4 queries of 6; the first 3 are named",
    ]
    assert main([*arguments, "--json"]) == 0
    assert capsys.readouterr().err == ""
    sql = tmp_path / "bad.sql"
    sql.write_text("SELECT COUNT(*) FROM t WHERE age = 1 AND age = 2;")
    assert main([*arguments[:-1], str(sql)]) == 0
    assert capsys.readouterr().err == f"parcomp: note: {sql}: no row satisfies the query 1\n"


@pytest.mark.parametrize("code", ["import parcomp", "from parcomp.cli import main; main(['--help'])"])
def test_starting_does_not_import_numba(code):
    """``import parcomp`` and ``parcomp --help`` stay light."""
    script = f"import sys\n{code}\nassert not {{'numba', 'numpy', 'rich', 'yaml'}} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0

"""What commands say: versions, help, errors for people and for programs, and hints that fit the place."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import parcomp as pc
from parcomp.cli import main
from parcomp.cli.problems import Problem
from parcomp.cli.words import statement_in_words
from parcomp.errors import LedgerError, MissingLedgerError, ParcompError, RefusedError
from parcomp.sql import parse_statement
from tests.custodians import write_custodian
from tests.docs.test_commands import COMMANDS

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
ALL = "SELECT COUNT(*) FROM people"


@pytest.fixture
def settings(tmp_path):
    return write_custodian(tmp_path, quotas={"anna": "0.5"})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_short_help_and_a_version(name, capsys):
    words = name.split()[1:]
    shown = []
    for option in ("-h", "--help"):
        assert main([*words, option]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0].startswith(f"Usage: {name} ")
    assert main([*words, "--version"]) == 0
    assert capsys.readouterr().out == f"parcomp {pc.__version__}\n"


@pytest.mark.parametrize("words", [[], ["ledger"], ["domain"]])
def test_a_name_alone_prints_help(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(" ".join(["Usage: parcomp", *words]))


def error_of(capsys, arguments, code=2):
    """What a command that was told to print JSON says went wrong; nothing is on standard output."""
    assert main([*arguments, "--json"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    (error,) = json.loads(shown.err).values()
    return error


WRONG = {
    "overlap": (["overlap", "--domain", "no.json", "no.jsonl"], "file"),
    "verify": (["overlap", "x"], "usage"),
    "loss": (["loss", "--domain", "no.json", "no.jsonl", "--measure", "nonsense"], "argument"),
    "plan": (["plan", "--domain", "no.json", "no.jsonl", "--measure", "pure"], "cost"),
    "check": (["check", "-c", "no.toml"], "file"),
    "quote": (["quote", ALL, "-c", "no.toml", "--epsilon", "1"], "file"),
    "ask": (["ask", ALL, "-c", "no.toml", "--epsilon", "1"], "file"),
    "batch": (["batch", "no.txt", "-c", "no.toml", "--epsilon", "1"], "file"),
    "show": (["ledger", "show", "-c", "no.toml"], "file"),
    "ledger verify": (["ledger", "verify"], "usage"),
    "nonsense": (["nonsense"], "usage"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_of_a_command_that_prints_json_is_json(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, kind = WRONG[name]
    error = error_of(capsys, arguments)
    assert error["type"] == kind
    assert main([word for word in arguments if word != "--json"]) == 2
    # The same words, in the form for people.
    assert capsys.readouterr().err == f"parcomp: {error['message']}\n"


def test_a_choice_that_there_is_not_is_told_plainly(capsys):
    assert main(["plan", "--domain", "d.json", "w.jsonl", "--budget", "1", "--strategy", "atom"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("parcomp: Invalid value for '--strategy': 'atom' is not one of 'independent', ")


def test_what_cannot_be_part_of_a_strategy_has_its_line(capsys, settings, tmp_path):
    file = tmp_path / "report.sql"
    file.write_text(f"{ALL};\n\nSELECT SUM(age) FROM people;\n")
    together = ["--as", "anna", "--budget", "0.1", "--strategy", "atoms"]
    for more in ([], ["--quote"]):
        error = error_of(capsys, ["batch", str(file), "-c", str(settings), *together, *more])
        assert (error["type"], error["file"], error["line"]) == ("file", str(file), 3)
        assert "ask it by itself, or the batch with --strategy auto" in error["message"]
    # What is of the batch has no line.
    correlated = error_of(capsys, ["batch", str(file), "-c", str(settings), *together[:-1], "correlated"])
    assert correlated["type"] == "workload"


def test_json_errors_carry_what_is_known(capsys, settings, tmp_path):
    asked = ["-c", str(settings), "--as", "anna"]
    refused = error_of(capsys, ["ask", ALL, *asked, "--epsilon", "0.6"], 3)
    assert (refused["type"], refused["cost"], refused["remaining"]) == ("refused", 0.6, 0.5)
    assert refused["left"] == {"budget": 1, refused["limit"]: 0.5}
    wrong = error_of(capsys, ["ask", "SELECT COUNT(*)\nFROM people WHERE x = 1", *asked, "--epsilon", "0.1"])
    assert (wrong["type"], wrong["line"], wrong["column"]) == ("sql", 2, 19)
    (tmp_path / "bad.jsonl").write_text('{"where": {}}\n{"where": {"sex": 3}}\n')
    file = ["overlap", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "bad.jsonl")]
    broken = error_of(capsys, file)
    assert (broken["type"], broken["line"], broken["field"]) == ("file", 2, "where.sex")
    assert broken["file"].endswith("bad.jsonl")
    (tmp_path / "ledger.db").unlink()
    assert error_of(capsys, ["ask", ALL, *asked, "--epsilon", "0.1"])["type"] in {"missing-ledger", "ledger"}


def test_each_error_has_a_type_of_its_own():
    assert Problem.of(MissingLedgerError("x")).type == "missing-ledger"
    assert Problem.of(LedgerError("x")).type == "ledger"
    assert Problem.of(ParcompError("x")).type == "parcomp"
    assert Problem.of(RefusedError("x", cost=1, remaining=0)).exit_code == 3


def test_notes_are_json_for_programs_too(capsys, settings, tmp_path):
    """A ledger without its mark is used, with a note."""
    assert main(["ask", WOMEN, "-c", str(settings), "--as", "anna", "--epsilon", "0.1"]) == 0
    (tmp_path / "custodian.mark").unlink()
    capsys.readouterr()
    assert main(["ledger", "show", "-c", str(settings), "--json"]) == 0
    assert "custodian.mark" in json.loads(capsys.readouterr().err)["note"]


@pytest.mark.parametrize(
    ("measure", "given", "wanted"),
    [("zcdp", "--epsilon", "--rho"), ("gdp", "--rho", "--mu"), ("pure", "--mu", "--epsilon"), ("zcdp", None, "--rho")],
)
@pytest.mark.parametrize("command", ["quote", "ask", "batch"])
def test_a_cost_of_another_measure_names_the_right_option(tmp_path, capsys, command, measure, given, wanted):
    settings = write_custodian(tmp_path, measure=measure)
    (tmp_path / "one.sql").write_text(ALL)
    what = str(tmp_path / "one.sql") if command == "batch" else ALL
    cost = [given, "0.1"] if given is not None else []
    assert main([command, what, "-c", str(settings), *cost]) == 2
    said = capsys.readouterr().err
    assert wanted in said
    if given is not None:
        assert f"{given[2:]} was given; " in said


BATCH = f"-- women\n{WOMEN};\n\n{ALL}\n  WHERE age <{{}}"


@pytest.mark.parametrize(
    ("text", "cost", "code", "expected"),
    [
        (BATCH.format(" 3 AND x = 1"), "0.1", 2, "batch.sql:5: column 21: unknown attribute"),
        (BATCH.format(f" 3\n{ALL}"), "0.1", 2, "batch.sql:6: column 1: "),
        (BATCH.format(" 3"), "0.3", 3, "batch.sql:4: "),
    ],
    ids=["word", "semicolon", "refused"],
)
def test_an_error_in_a_batch_names_its_file_and_line(settings, tmp_path, capsys, text, cost, code, expected):
    (tmp_path / "batch.sql").write_text(text)
    arguments = ["batch", str(tmp_path / "batch.sql"), "-c", str(settings), "--as", "anna", "--epsilon", cost]
    assert main(arguments) == code
    said = capsys.readouterr().err
    assert expected in said
    assert ("if another statement begins here, end the one before it with ;" in said) == ("column 1:" in expected)


def test_a_subquery_is_not_taken_for_a_statement_without_its_semicolon(settings, tmp_path, capsys):
    for within in (f"({ALL})", f"x UNION {ALL}"):
        (tmp_path / "batch.sql").write_text(f"SELECT COUNT(*) FROM {within};")
        arguments = ["batch", str(tmp_path / "batch.sql"), "-c", str(settings), "--as", "anna", "--epsilon", "0.1"]
        assert main(arguments) == 2
        assert "end the one before" not in capsys.readouterr().err


def test_members_are_named_as_the_caller_named_them(tmp_path, capsys):
    """Strings and numbers as they are; without an id the number of the line, which counts empty lines too."""
    (tmp_path / "domain.json").write_text('{"name": "data", "attributes": {"age": {"low": 0, "high": 9}}}')
    (tmp_path / "w.jsonl").write_text(
        '{"id": "7", "where": {"age": 1}}\n\n{"id": 12, "where": {"age": 1}}\n{"where": {"age": 1}}\n'
    )
    (tmp_path / "w.sql").write_text("SELECT COUNT(*) FROM data WHERE age = 1;\n\nSELECT COUNT(*)\nFROM data;")
    files = [str(tmp_path / "w.jsonl"), str(tmp_path / "w.sql")]
    assert main(["overlap", "--domain", str(tmp_path / "domain.json"), *files, "--json"]) == 0
    members = [json.loads(line)["members"] for line in capsys.readouterr().out.splitlines()]
    assert members == [["7", 12, 4], [1, 3]]


def test_a_free_statement_is_quoted_as_free(settings, capsys):
    nothing = f"{WOMEN} AND sex = 'M'"
    asked = ["-c", str(settings), "--as", "anna", "--epsilon", "0.1"]
    assert main(["ask", WOMEN, *asked]) == 0
    for sql in (WOMEN, nothing):
        capsys.readouterr()
        assert main(["quote", sql, *asked]) == 0
        shown = capsys.readouterr().out
        assert "free" in shown
        assert re.search(r"^cost +ε = 0 ", shown, re.MULTILINE)
        assert main(["quote", sql, *asked, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["cost"] == 0


def test_the_program_has_the_same_words_as_a_process(settings):
    ended = subprocess.run(
        [sys.executable, "-m", "parcomp.cli", "ask", "--json"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert json.loads(ended.stderr)["error"]["type"] == "usage"


def test_categories_are_listed_and_not_told_by_a_range():
    domain = pc.Domain({"region": pc.Categorical(["north", "south", "east", "west"]), "age": pc.Integer(0, 9)})
    where = '{"where":[{"age":{"from":2,"to":4},"region":{"from":"south","to":"west"}}],"kind":"count"}'
    assert statement_in_words(where, domain) == "count where age 2 to 4 and region south or east or west"
    excluded = '{"where":[{"region":["north",{"from":"east","to":"west"}]}],"kind":"count"}'
    assert statement_in_words(excluded, domain) == "count where region north or east or west"
    several = pc.Domain(
        {
            "icd": pc.Categorical(
                ["C00", "C01", "I10", "I11"],
                nullable=True,
                levels={"chapter": {"Neoplasms": ["C00", "C01"], "Circulation": ["I10", "I11"]}},
            ),
            "insured": pc.Categorical([True, False]),
            "income": pc.Binned(0, 100, 10),
        },
        name="visits",
    )
    for sql, words in (
        ("SELECT chapter, COUNT(*) FROM visits GROUP BY chapter", "count of every row, by chapter"),
        ("SELECT COUNT(*) FROM visits WHERE chapter = 'Neoplasms'", "count where chapter = Neoplasms"),
        ("SELECT COUNT(*) FROM visits WHERE insured AND icd = 'C00'", "count where icd = C00 and insured = true"),
        ("SELECT COUNT(*) FROM visits WHERE income < 50", "count where income 0 to below 50"),
        ("SELECT COUNT(*) FROM visits WHERE income >= 90", "count where income 90 to below 100"),
        ("SELECT COUNT(*) FROM visits WHERE icd IS NULL AND NOT insured", "count where icd = null and insured = false"),
        (
            "SELECT COUNT(*) FROM visits GROUP BY CASE WHEN icd = 'C00' THEN 1 END",
            "count of every row, by icd in 2 bands",
        ),
    ):
        assert statement_in_words(parse_statement(several, sql).text, several) == words
    many = pc.Domain({"region": pc.Categorical([f"r{i}" for i in range(20)])})
    run = '{"where":[{"region":{"from":"r1","to":"r18"}}],"kind":"count"}'
    assert statement_in_words(run, many) == "count where region r1 or 16 more or r18"

"""What a first user of the commands ran into."""

import json
import os
import subprocess
import sys

import pytest

from parcomp.cli import main
from tests.custodians import write_custodian

SQL = "SELECT COUNT(*) FROM people WHERE age < 5"


def told(capsys):
    """The one line that a command says on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_an_answer_is_shown_on_a_terminal_that_lacks_its_letters(tmp_path):
    """ε is not in Latin-1; what was paid for is shown all the same."""
    settings = str(write_custodian(tmp_path))
    for command in ("quote", "ask"):
        ran = subprocess.run(
            [sys.executable, "-m", "parcomp.cli", command, "-c", settings, SQL, "--epsilon", "0.1"],
            env={**os.environ, "PYTHONIOENCODING": "latin-1"},
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert b"0.1" in ran.stdout


def test_a_ledger_in_a_directory_that_is_not_there(tmp_path, capsys):
    """The one who makes ledgers is not told to make one."""
    settings = write_custodian(tmp_path, ledger="sqlite:///nowhere/ledger.db", init=False)
    assert main(["init", "-c", str(settings)]) == 2
    assert "the directory does not exist" in told(capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ["overlap", "six.jsonl", "--certificate", "nowhere/proof.json"],
        ["overlap", "six.jsonl", "--certificate", "."],
        ["loss", "six.jsonl", "--measure", "pure", "--plot", "loss.txt"],
        ["plan", "six.jsonl", "--measure", "pure", "--budget", "1", "--plot", "plan.txt"],
    ],
)
def test_output_that_cannot_be_written_is_a_line_and_no_traceback(paper, monkeypatch, capsys, arguments):
    monkeypatch.chdir(paper)
    assert main([*arguments, "--domain", "domain.json"]) == 2
    assert told(capsys).startswith("parcomp: ")


def test_a_proof_that_cannot_be_written_is_noticed_before_the_search(paper, monkeypatch):
    monkeypatch.chdir(paper)
    monkeypatch.setattr("parcomp.max_overlap", lambda *_, **__: pytest.fail("searched in vain"))
    assert main(["overlap", "six.jsonl", "--certificate", "nowhere/proof.json", "--domain", "domain.json"]) == 2


def test_a_certificate_is_whole(paper, monkeypatch, capsys):
    """Over an older, longer one too."""
    monkeypatch.chdir(paper)
    (paper / "proof.json").write_text("x" * 100_000)
    assert main(["overlap", "six.jsonl", "--certificate", "proof.json", "--domain", "domain.json"]) == 0
    assert json.loads((paper / "proof.json").read_text())["upper"]


def test_no_number_is_cut_off_on_a_narrow_terminal(tmp_path, capsys, monkeypatch):
    """Into a pipe a table is as wide as it needs to be; on a terminal each column of figures has a table of its own."""
    settings = write_custodian(tmp_path, budget="1000")
    sql = "SELECT sex, COUNT(*) AS people, AVG(age) AS average_age, SUM(age) AS all_years FROM people GROUP BY sex"
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["ask", sql, "-c", str(settings), "--epsilon", "200", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main(["ask", sql, "-c", str(settings), "--epsilon", "200"]) == 0
    printed = capsys.readouterr().out
    for name, values in zip(answer["names"], answer["columns"], strict=True):
        assert name in printed
        assert all(f"{value:.6g}" in printed for value in values if isinstance(value, float | int))
    assert "expected errors: people below 0.001, average_age" in printed


def test_a_quote_of_what_was_bought_has_the_error_of_what_is_handed_out(tmp_path, capsys):
    settings = write_custodian(tmp_path, budget="10")
    sql = "SELECT COUNT(*) FROM people"
    assert main(["ask", sql, "-c", str(settings), "--epsilon", "5", "--json"]) == 0
    bought = json.loads(capsys.readouterr().out)["expected_error"]
    assert main(["quote", sql, "-c", str(settings), "--epsilon", "0.1", "--json"]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert (quote["expected_error"], quote["cost"]) == (bought, 0)


def test_a_refused_batch_advises_what_can_help(tmp_path, capsys):
    settings = write_custodian(tmp_path, budget="0.3")
    (tmp_path / "all.sql").write_text("SELECT COUNT(*) FROM people;\nSELECT SUM(age) FROM people;\n")
    assert main(["batch", str(tmp_path / "all.sql"), "-c", str(settings), "--epsilon", "0.2"]) == 3
    told = capsys.readouterr().err
    assert "statement 2 of 2" in told
    assert "spend less on each statement, or ask fewer at once" in told

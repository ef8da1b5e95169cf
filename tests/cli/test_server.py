"""``--server``: the same commands against a server, with the same JSON and exit codes."""

from __future__ import annotations

import json

import pytest

from parcomp.cli import main
from tests.service.served import EVERYONE, WOMEN, people


@pytest.fixture
def served(tmp_path, monkeypatch):
    with people(tmp_path / "served") as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        yield served


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines() if line.startswith("{")], err


def test_quote_ask_batch_and_budget(served, capsys, tmp_path):
    at = ("--server", served.url, "--json")
    code, [quote], _ = run(capsys, "quote", WOMEN, "--epsilon", "0.1", *at)
    assert (code, quote["adds"], quote["fits"]) == (0, 0.1, True)
    code, [answer], _ = run(capsys, "ask", WOMEN, "--epsilon", "0.1", "--key", "k", *at)
    assert (code, answer["charge"], answer["cached"]) == (0, 1, False)
    code, [again], _ = run(capsys, "ask", WOMEN, "--epsilon", "0.1", "--key", "k", *at)
    assert again == answer
    file = tmp_path / "two.sql"
    file.write_text("SELECT COUNT(*) FROM people WHERE age = 1; -- the first; of two\nSELECT COUNT(*) FROM people\n")
    code, answers, _ = run(capsys, "batch", str(file), "--epsilon", "0.1", *at)
    assert (code, [one["charge"] for one in answers]) == (0, [2, 3])
    code, [told], _ = run(capsys, "budget", *at)
    assert (code, told["charges"], list(told["analysts"])) == (0, 3, ["anna"])


def test_people_read_tables(served, capsys):
    for command in (
        ["quote", WOMEN, "--epsilon", "0.1"],
        ["ask", "SELECT sex, COUNT(*) FROM people GROUP BY sex", "--epsilon", "0.1"],
        ["budget"],
    ):
        assert main([*command, "--server", served.url]) == 0
        assert capsys.readouterr().out.strip()


def test_exit_codes(served, capsys, tmp_path, monkeypatch):
    at = ("--server", served.url)
    code, _, error = run(capsys, "ask", EVERYONE, "--epsilon", "0.9", *at)
    assert code == 3
    assert "leaves" in error
    file = tmp_path / "bad.sql"
    file.write_text("SELECT 'x")
    for command, said in (
        (["ask", "SELECT nothing", "--epsilon", "0.1", *at], "line 1"),
        (["ask", WOMEN, "--epsilon", "0.1"], "--server URL"),
        (["ask", WOMEN, "--epsilon", "0.1", "-c", str(served.path), *at], "--server URL"),
        (["ask", WOMEN, "--epsilon", "0.1", "--as", "ben", *at], "leave --as out"),
        (["batch", str(file), "--epsilon", "0.1", *at], "bad.sql"),
        (["batch", str(file), "--epsilon", "0.1", "--quote", *at], "not offered with --server"),
        (["ask", WOMEN, "--epsilon", "0.1", "--server", "nonsense"], "server"),
    ):
        code, _, error = run(capsys, *command)
        assert (code, error.count("\n")) == (2, 1), error
        assert said in error
    monkeypatch.setenv("PARCOMP_KEY", "pc_wrong")
    code, _, error = run(capsys, "budget", *at)
    assert code == 2
    assert "not known" in error
    monkeypatch.delenv("PARCOMP_KEY")
    assert run(capsys, "budget", *at)[0] == 2

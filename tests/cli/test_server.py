"""``--server``: the same commands against a server, with the same JSON and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from parcomp.cli import main
from tests.cli.terminal import CTRL_D, ENTER, TAB, Terminal
from tests.service.served import EVERYONE, MEN, WOMEN, people


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
        (["batch", str(file), "--budget", "0.1", "--dummy", *at], "shared out"),
        (["shell", *at, "--as", "ben"], "leave --as out"),
        (["shell", *at, "--rho", "0.1"], "accounted in epsilon"),
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


def test_a_rehearsal_is_free_and_asks_the_server_for_its_domain_only(served, capsys, tmp_path):
    at = ("--server", served.url, "--json")
    code, [answer], _ = run(capsys, "ask", WOMEN, "--epsilon", "0.1", "--dummy", *at)
    assert (code, answer["rehearsed"], answer["charge"]) == (0, True, None)
    assert 350 < answer["value"] < 650, "half of a thousand random rows"
    file = tmp_path / "two.sql"
    file.write_text("SELECT COUNT(*) FROM people WHERE age = 1; SELECT sex, COUNT(*) FROM people GROUP BY sex")
    code, answers, _ = run(capsys, "batch", str(file), "--epsilon", "0.1", "--dummy", *at)
    assert (code, [one["rehearsed"] for one in answers]) == (0, [True, True])
    assert main(["ask", WOMEN, "--epsilon", "0.1", "--dummy", "--server", served.url]) == 0
    assert "nothing was charged" in capsys.readouterr().out
    assert served.charges() == []


def test_a_session_with_a_server(served, tmp_path):
    """On a terminal: completion from the server's domain, a quote, an answer, the budget, the history, a refusal."""
    terminal = Terminal(["shell", "--server", served.url, "--epsilon", "0.1"], tmp_path)
    prompt = "people ε 0.1>"
    try:
        terminal.wait_for_prompts(1, prompt)
        terminal.type("SELECT COUNT(*) FROM peo" + TAB)
        terminal.wait_for(lambda: terminal.line.endswith(" FROM people"))
        terminal.type(" WHERE se" + TAB)
        terminal.wait_for(lambda: terminal.line.endswith(" WHERE sex"))
        terminal.type(" = 'f" + TAB)
        terminal.wait_for(lambda: terminal.line.endswith(" sex = 'F'"))
        terminal.type(";" + ENTER)
        shown = terminal.wait_for_prompts(2, prompt)
        assert "charge 1, cost 0.1" in shown
        assert "left on these rows: ε = 0.4" in shown
        for number, (typed, expected) in enumerate(
            (
                (f"? {MEN};", "0 to what the dataset has spent"),
                ("\\budget", "quota of anna"),
                ("\\history", "count where sex F"),
                ("\\domain", "0 to 9"),
                ("SELECT COUNT(*) FROM people WHERE sexx = 1;", "sexx"),
            ),
            3,
        ):
            terminal.type(typed + ENTER)
            assert expected in terminal.wait_for_prompts(number, prompt)
        terminal.type("\\cost 0.45" + ENTER)
        terminal.wait_for(lambda: terminal.line == "people ε 0.45>")
        terminal.type("SELECT COUNT(*) FROM people;" + ENTER)
        terminal.wait_for("leaves epsilon 0.4 on the rows of this query")
        terminal.type(CTRL_D)
        assert terminal.wait_for_end() == 0
    finally:
        terminal.process.close(force=True)
    assert [one["number"] for one in served.charges()] == [1]


def test_statements_are_piped_to_a_server(served):
    command = [sys.executable, "-m", "parcomp.cli", "shell", "--server", served.url, "--epsilon", "0.1"]
    done = subprocess.run(command, input=f"{WOMEN};\n? {MEN};\nSELECT x;", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "charge 1, cost 0.1" in done.stdout
    assert "standard input:3" in done.stderr

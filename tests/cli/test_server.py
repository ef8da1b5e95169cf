"""``--server``: the same commands against a server, with the same JSON and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from parcomp.cli import main
from parcomp.custodian import Answer, Balance, Custodian, Quote
from tests.cli.terminal import CTRL_D, ENTER, TAB, Terminal
from tests.custodians import ROWS
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "-3"], "a cost must be above 0, not '-3'"),
        (["--epsilon", "x"], "a cost must be a number, not 'x'"),
        (["--epsilon", "1e-12"], "below one unit of 1e-9"),
        ([], "people is accounted in epsilon (pure); no cost was given; state the cost as epsilon (--epsilon X)"),
        (["--epsilon", "1", "--rho", "1"], "epsilon and rho were given"),
        (["--rho", "1"], "people is accounted in epsilon (pure); rho was given"),
    ],
)
def test_wrong_costs_are_complained_of_as_settings_do(served, capsys, options, words):
    for command in ("quote", "ask"):
        said = []
        for at in (["--server", served.url], ["-c", str(served.path), "--as", "anna"]):
            assert main([command, WOMEN, *options, *at]) == 2
            said.append(capsys.readouterr().err)
        assert words in said[0]
        assert said[0] == said[1]


def test_an_address_without_its_scheme_is_told_how_to_be_written(capsys, monkeypatch):
    monkeypatch.setenv("PARCOMP_KEY", "pc_x")
    assert main(["budget", "--server", "127.0.0.1:8771"]) == 2
    assert "begins with http:// or https://, as 'http://127.0.0.1:8771' does" in capsys.readouterr().err


def test_a_domain_of_a_server_is_shown_as_one_of_settings(capsys, tmp_path, monkeypatch):
    """With the line on the rows that were taken of each person."""
    rows = [{**row, "id": str(place)} for place, row in enumerate(ROWS)]
    with people(tmp_path, rows=rows, person="id", rows_per_person=3) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        said = []
        for at in (["--server", served.url], ["-c", str(served.path)]):
            assert main(["domain", "show", *at]) == 0
            said.append([line for line in capsys.readouterr().out.splitlines() if "[info" not in line])
        assert said[0] == said[1]
        assert said[0][-1] == "at most 3 rows of each person were taken; numbers are about these"


STATED = {"epsilon": "1", "delta": "1e-6"}
ODD = {"epsilon": "0.5", "delta": "1e-5"}


@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_a_server_is_shown_as_settings_are(rows_per_person, capsys, tmp_path, monkeypatch):
    """Word for word: the ε of budgets of (ε, δ), footnotes on persons, what is affordable, and what was bought."""
    settings = {"measure": "zcdp", "budget": STATED, "quotas": {"anna": ODD, "ben": None}}
    with people(tmp_path / "served", rows_per_person=rows_per_person, **settings) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        asked = ["ask", WOMEN, "--rho", "0.0005"]
        assert main([*asked, "--server", served.url]) == 0
        bought = " ".join(capsys.readouterr().out.split())
        assert "charge 1, ρ = 0.0005" in bought
        assert ("a person may have 3, which cost 9 times that" in bought) == (rows_per_person == 3)
        several = "SELECT COUNT(*), SUM(age), SUM(age) / COUNT(*) FROM people"
        for command, words in (
            (["quote", MEN, "--rho", "0.0005"], ["fits the budget and the quota", "at δ = 1e-6", "best affordable"]),
            (["quote", WOMEN, "--rho", "0.0005"], ["free: it was bought before"]),
            (["quote", MEN, "--rho", "0.5"], ["does not fit: the "]),
            (["quote", several, "--rho", "0.0005"], ["on average for COUNT(*), for all", "not known before"]),
            (["quote", "SELECT AVG(age) FROM people", "--rho", "0.0005"], ["error over 1,000 rows"]),
            (asked, ["free: charge 1 paid for it"]),
            (["budget"], ["remaining ρ", "each ε is at δ = 1e-6, that of the budget", "against adding"]),
        ):
            assert main([*command, "--server", served.url]) == 0
            told = shown(capsys)
            assert main([*command, "-c", str(served.path), "--as", "anna"]) == 0
            assert shown(capsys) == told
            text = " ".join(" ".join(told).split())
            assert all(one in text for one in words), text
            if command[0] == "quote" and rows_per_person == 3:
                assert "for one row; a person may have 3, which cost 9 times that" in text
        with Custodian.open(served.path) as custodian:
            quote = custodian.quote(several, rho="0.0005", analyst="anna")
            assert Quote.read(as_sent(quote.as_json())) == quote
            assert Balance.read(as_sent(custodian.balance().document())) == custodian.balance()
            answer = custodian.ask(WOMEN, rho="0.0005", analyst="anna")
            assert Answer.read(as_sent(answer.as_json())).paid == answer.paid


APPROXIMATE = (
    "SELECT age, COUNT(*) FROM people GROUP BY age HAVING COUNT(*) > -1000",
    "SELECT age, COUNT(*) AS n, SUM(age) FROM people GROUP BY age ORDER BY n LIMIT 3",
    "SELECT sex, VARIANCE(age), COUNT(*) FROM people GROUP BY sex",
    "SELECT STDDEV(age) FROM people",
)


@pytest.mark.parametrize("sql", APPROXIMATE)
def test_approximate_intervals_are_marked_as_settings_mark_them(sql, served, capsys):
    command = ["ask", sql, "--epsilon", "0.1"]
    assert main([*command, "--server", served.url]) == 0
    capsys.readouterr()
    assert main([*command, "--server", served.url]) == 0
    told = shown(capsys)
    assert main([*command, "-c", str(served.path), "--as", "anna"]) == 0
    assert shown(capsys) == told
    assert " about " in " ".join(told)
    with Custodian.open(served.path) as custodian:
        answer = custodian.ask(sql, epsilon="0.1", analyst="anna")
        read = Answer.read(as_sent(answer.as_json()))
    marks = [[figure.approximate for figure in column.known] for column in answer.measured]
    assert [[figure.approximate for figure in column.known] for column in read.measured] == marks
    assert read.as_json() == answer.as_json()


BATCH = """-- of two
SELECT COUNT(*) FROM people WHERE age = 1;  SELECT sex, COUNT(*) FROM people
GROUP BY sex;
"""


REFUSED = (
    "two.sql:2: statement 2 of 2: the quota of anna leaves rho 0.000145058 for each of the 3 rows that a person may "
    "have (epsilon "
)


def test_a_batch_of_a_server_is_as_one_of_settings(capsys, tmp_path, monkeypatch):
    """Heads, quotes, refusals with their file and line, and errors with their place, word for word."""
    settings = {"measure": "zcdp", "budget": STATED, "quotas": {"anna": ODD, "ben": None}, "rows_per_person": 3}
    file = tmp_path / "two.sql"
    with people(tmp_path / "served", **settings) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        for text, options, expected, words in (
            (BATCH, ["--rho", "0.0001", "--quote"], 0, "together: adds"),
            (BATCH, ["--budget", "0.001", "--quote"], 0, "together: adds"),
            (BATCH, ["--rho", "0.0008", "--quote"], 0, "statement 2 does not fit"),
            (
                BATCH,
                ["--rho", "0.0008"],
                3,
                REFUSED,
            ),
            (BATCH, ["--rho", "0.0008", "--json"], 3, '"limit": "quota of anna", "left": {"budget": '),
            (BATCH.replace("sex,", "sexx,"), ["--rho", "0.0001"], 2, "two.sql:2: column 52: "),
            (BATCH.replace("BY sex", "BY sexx"), ["--rho", "0.0001"], 2, "two.sql:3: column 10: "),
            ("SELECT 'x", ["--rho", "0.0001"], 2, "two.sql:1: column 8: "),
            (BATCH, [], 2, "--budget for all of them"),
            (BATCH, ["--rho", "0.0001", "--key", "k"], 0, "count where age = 1"),
        ):
            file.write_text(text)
            command = ["batch", str(file), *options]
            said = []
            for at in (["--server", served.url], ["-c", str(served.path), "--as", "anna"]):
                assert main([*command, *at]) == expected, capsys.readouterr()
                out, error = capsys.readouterr()
                said.append(([line for line in out.splitlines() if "[info" not in line], error))
            assert words in " ".join(" ".join([*said[0][0], said[0][1]]).split())
            assert said[0] == said[1]
        assert main(["batch", str(file), "--rho", "0.0001", "--dummy", "--server", served.url]) == 0
        assert "2  count of every row, by sex" in shown(capsys)
    assert len(said[0][0]) > 4


def shown(capsys):
    """What the command printed, without what the server in this process logs."""
    return [line for line in capsys.readouterr().out.splitlines() if "[info" not in line]


def as_sent(document):
    return json.loads(json.dumps(document))


def test_the_domain_of_a_server_is_shown(served, capsys):
    assert main(["domain", "show", "--server", served.url]) == 0
    told = shown(capsys)
    assert main(["domain", "show", "-c", str(served.path)]) == 0
    assert shown(capsys) == told
    assert main(["domain", "show", "--server", served.url, "-c", str(served.path)]) == 2


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
        (["batch", str(file), "--epsilon", "0.1", "--quote", *at], "bad.sql:1"),
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


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_rehearsal_has_the_noise_of_the_server(tmp_path, monkeypatch, capsys, neighbours):
    """A sum's noise follows from what neighboring tables differ by."""
    ages = {"low": -5, "high": 19}
    domain = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": ages}}
    with people(tmp_path / "many", domain=domain, neighbours=neighbours, rows_per_person=3) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        at, here = ("--server", served.url), ("-c", str(served.path), "--as", "anna")
        asked = ("SELECT SUM(age) FROM people", "--epsilon", "0.01", "--json")
        told = [
            run(capsys, command, *asked, *more)[1][0]
            for command, more in (("quote", at), ("ask", (*at, "--dummy")), ("ask", (*here, "--dummy")))
        ]
        assert len({one["expected_error"] for one in told}) == 1
        assert [one["rows_per_person"] for one in told] == [3, 3, 3]


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
        assert "charge 1, ε = 0.1" in shown
        assert "left on these rows: ε = 0.4" in shown
        for number, (typed, expected) in enumerate(
            (
                (f"? {MEN};", "0 to what the dataset has spent"),
                ("\\budget", "remaining ε"),
                ("\\history", "count where sex = F"),
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
    done = subprocess.run(
        command, input=f"{WOMEN};\n? {MEN};\n\\estimate\nSELECT x;", capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "charge 1, ε = 0.1" in done.stdout
    assert "estimates of 1 count that you have paid for" in done.stdout
    assert "standard input:4" in done.stderr

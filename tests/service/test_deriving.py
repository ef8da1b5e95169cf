"""Derived answers over HTTP, by the client, the command line and the shell: free, and the same everywhere."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from parcomp.cli import main
from parcomp.client import AsyncClient, Client
from parcomp.errors import UnderivableError
from tests.custodians import ROWS
from tests.loops import run_async
from tests.service.served import EVERYONE, MEN, WOMEN, Served, freeze_noise, people, seen_from_outside


@pytest.fixture
def served(tmp_path, monkeypatch):
    with people(tmp_path / "served", complete=["sex"]) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        yield served


def derive(served: Served, sql, who="anna", **more):
    return served.call("POST", "/v1/answers", who, json={"sql": sql, "derive": True, **more})


def test_what_follows_is_free_for_whoever_has_paid_for_it(served: Served):
    """A quote tells, an answer costs nothing, and others learn nothing of it."""
    first, second = served.ask(EVERYONE).json(), served.ask(MEN).json()
    before = served.charges()
    quote = served.call("POST", "/v1/quotes", json={"sql": WOMEN, "epsilon": "0.1"}).json()
    assert quote["derivable"] is True
    assert quote["derived_error"] > quote["expected_error"]
    answer = derive(served, WOMEN).json()
    assert answer["value"] == first["value"] - second["value"]
    assert (answer["charge"], answer["cost"], answer["cached"], answer["derived"]) == (None, 0, False, True)
    assert answer["notes"] == ["derived, free: it follows from the answers of charge 1 and 2"]
    assert answer["expected_error"] == quote["derived_error"]
    assert derive(served, WOMEN, epsilon="0.3").json() == answer
    for sql, who in ((WOMEN, "ben"), ("SELECT COUNT(*) FROM people WHERE age = 1", "anna")):
        refused = derive(served, sql, who)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:parcomp:problem:underivable")
        told = served.call("POST", "/v1/quotes", who, json={"sql": sql, "epsilon": "0.1"}).json()
        assert (told["derivable"], told["derived_error"]) == (False, None)
    assert served.charges() == before
    assert derive(served, WOMEN, "boss").status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"derive": False},
        {"derive": 1},
        {"derive": "true"},
        {"derive": None},
        {"derive": True, "epsilon": "1", "mu": "1"},
    ],
)
def test_bodies_that_are_not_taken(served: Served, body):
    """One cost, or none and derive."""
    response = served.call("POST", "/v1/answers", json={"sql": WOMEN, **body})
    assert (response.status_code, response.json()["type"].rpartition(":")[2]) == (400, "body")
    assert served.call("POST", "/v1/quotes", json={"sql": WOMEN, "derive": True}).status_code == 400


def printed(capsys):
    """The JSON that a command printed, among the lines that the server logs."""
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    return json.loads(line)


def test_clients_and_commands_say_the_same(served: Served, capsys):
    """The client, the one that does not wait, `ask --server --derive`, and the shell."""
    served.ask(EVERYONE)
    served.ask(MEN)
    answer = derive(served, WOMEN).json()
    with Client(served.url, served.keys["anna"]) as client:
        assert client.ask(WOMEN, derive=True).as_json() == answer
        assert client.ask(WOMEN, derive=True).derived
        assert "derivable" in str(client.quote(WOMEN, epsilon="0.1"))
        with pytest.raises(UnderivableError, match="nothing was charged"):
            client.ask("SELECT COUNT(*) FROM people WHERE age = 1", derive=True)

    async def asked():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            return await client.ask(WOMEN, derive=True)

    assert run_async(asked()).as_json() == answer
    assert main(["ask", WOMEN, "--derive", "--server", served.url, "--json"]) == 0
    assert printed(capsys) == answer
    assert main(["ask", WOMEN, "--derive", "-c", str(served.path), "--as", "anna", "--json"]) == 0
    assert printed(capsys) == answer
    assert main(["ask", WOMEN, "--derive", "-c", str(served.path), "--as", "ben", "--json"]) == 3
    assert json.loads(capsys.readouterr().err)["error"]["type"] == "underivable"
    assert main(["quote", WOMEN, "--epsilon", "0.1", "-c", str(served.path), "--as", "anna"]) == 0
    assert "free, ±" in capsys.readouterr().out
    for options in (["-c", str(served.path), "--as", "anna"], ["--server", served.url]):
        assert main(["ask", WOMEN, "--derive", "--dummy", "--epsilon", "1", *options]) == 2
        capsys.readouterr()
        typed = f"\\derive {WOMEN}\n"
        done = subprocess.run(
            [sys.executable, "-m", "parcomp.cli", "shell", *options],
            check=False,
            input=typed,
            capture_output=True,
            text=True,
        )
        assert "free: it follows from what was released before" in done.stdout, done.stderr
    assert len(served.charges()) == 2


def test_from_outside_a_derived_answer_looks_the_same_on_every_table(tmp_path, monkeypatch):
    """Status, headers and length, whatever the numbers are."""
    freeze_noise(monkeypatch, 3)
    seen = []
    for number, rows in enumerate((ROWS, ROWS[1:], ROWS * 1_000, [])):
        with people(tmp_path / str(number), complete=True, rows=rows) as served:
            for sql in (EVERYONE, MEN, "SELECT COUNT(*) FROM people GROUP BY age, sex"):
                assert served.ask(sql).status_code == 200
            asked = (
                WOMEN,
                "SELECT sex, COUNT(*) / 3 FROM people GROUP BY sex",
                f"{MEN} AND age < 7",
                "SELECT AVG(age)",
            )
            quotes = [served.call("POST", "/v1/quotes", json={"sql": sql, "epsilon": "0.1"}).json() for sql in asked]
            seen.append((quotes, [seen_from_outside(derive(served, sql)) for sql in asked]))
    assert all(one == seen[0] for one in seen)
    assert [status for status, _, _ in seen[0][1]] == [200, 200, 200, 400]

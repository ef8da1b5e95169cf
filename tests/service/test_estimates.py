"""Estimates over HTTP, by the clients and on the command line: free, the same everywhere, and of nobody else's."""

from __future__ import annotations

import json

import pytest

import parcomp as pc
from parcomp.cli import main
from parcomp.client import AsyncClient, Client
from parcomp.custodian import EstimatedCount, Estimates
from parcomp.errors import ArgumentError
from parcomp.estimation import METHODS
from parcomp.service.bodies import fixed_width_json
from tests.custodians import ROWS
from tests.loops import run_async
from tests.service.served import EVERYONE, MEN, WOMEN, Served, freeze_noise, people, seen_from_outside
from tests.service.test_contract import check_problem

AGES = "SELECT COUNT(*) FROM people GROUP BY age"


@pytest.fixture
def served(tmp_path, monkeypatch):
    with people(tmp_path / "served", complete=["sex"], budget="9", quotas={"anna": "5", "ben": "5"}) as served:
        monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
        yield served


def printed(capsys):
    """The JSON that a command printed, among the lines that the server logs."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith('{"')]


def test_each_analyst_gets_estimates_of_the_own_counts(served: Served):
    """With the raw answer beside each; others' answers are neither told nor used, and nothing is charged."""
    first = served.ask(EVERYONE, "0.1").json()
    alone = served.get("/v1/estimates").json()
    served.ask(EVERYONE, "1", "ben")
    served.ask(MEN, "1", "ben")
    before = served.charges()
    assert served.get("/v1/estimates").json() == alone
    [only] = alone["estimates"]
    assert list(only)[:6] == ["id", "value", "raw", "low", "high", "method"]
    assert (only["id"], only["charge"], only["where"], only["raw"]) == ("1", 1, {}, first["value"])
    assert [only["raw_low"], only["raw_high"]] == first["interval"]
    assert [one["charge"] for one in served.get("/v1/estimates", "ben").json()["estimates"]] == [2, 3]
    assert check_problem(served.get("/v1/estimates", "boss"), 403, "role")
    assert served.charges() == before


@pytest.mark.parametrize(
    "query",
    ["interval=0", "interval=1", "interval=0.9999999999999999", "interval=nan", "interval=x", "interval=", "facts=1"],
)
def test_queries_that_are_not_taken(served: Served, query):
    told = check_problem(served.get(f"/v1/estimates?{query}"), 400, "request")
    assert "body" not in told["title"]
    assert "interval" in told["detail"]


@pytest.mark.parametrize("body", [{"estimate": True, "epsilon": "0.1"}, {"derive": True, "estimate": 1}])
def test_bodies_that_are_not_taken(served: Served, body):
    check_problem(served.call("POST", "/v1/answers", json={"sql": WOMEN, **body}), 400, "body")
    assert served.charges() == []


def test_clients_and_commands_say_the_same(served: Served, capsys):
    """Both clients, and `estimate` and `ask --derive --estimate` with a server and without."""
    served.ask(EVERYONE)
    served.ask(MEN)
    batch = {"statements": [{"sql": AGES}, {"sql": EVERYONE}], "budget": "0.5", "strategy": "auto"}
    assert served.call("POST", "/v1/batches", json=batch).status_code == 200
    told = served.get("/v1/estimates?interval=0.9").json()
    derived = served.call("POST", "/v1/answers", json={"sql": WOMEN, "derive": True, "estimate": True}).json()
    assert derived["estimate"] is not None
    with Client(served.url, served.keys["anna"]) as client:
        found = client.estimates(interval=0.9)
        assert isinstance(found, Estimates)
        assert found.document() == told
        assert [one.value for one in found] == found.to_pandas()["value"].tolist()
        assert str(found).count("count where age = ") == 10
        derivation = client.ask(WOMEN, derive=True, estimate=True)
        assert (derivation.estimate, list(derivation.estimate_interval)) == (
            derived["estimate"],
            derived["estimate_interval"],
        )
        assert client.ask(WOMEN, derive=True, estimate=True).as_json() == derived
        with pytest.raises(ArgumentError, match="derive=True too"):
            client.ask(WOMEN, epsilon="0.1", estimate=True)

    async def asked():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            with pytest.raises(ArgumentError, match="derive=True too"):
                await client.ask(WOMEN, epsilon="0.1", estimate=True)
            return await client.estimates(interval=0.9), await client.ask(WOMEN, derive=True, estimate=True)

    estimates, answer = run_async(asked())
    assert (estimates.document(), answer.as_json()) == (told, derived)
    local = ["-c", str(served.path), "--as", "anna"]
    for options in (local, ["--server", served.url]):
        assert main(["estimate", "--interval", "0.9", "--json", *options]) == 0
        assert printed(capsys) == told["estimates"]
        assert main(["ask", WOMEN, "--derive", "--estimate", "--json", *options]) == 0
        assert printed(capsys) == [derived]
        assert main(["ask", WOMEN, "--epsilon", "0.1", "--estimate", *options]) == 2
        assert "beside an answer that is derived" in capsys.readouterr().err
        assert main(["estimate", *options]) == 0
        assert "estimates of 13 counts that you have paid for" in capsys.readouterr().out
    for wrong in (["--as", "anna"], ["--time-limit", "3"], ["--facts", str(served.path)], ["--outside"]):
        assert main(["estimate", "--server", served.url, *wrong]) == 2
        capsys.readouterr()
    assert len(served.charges()) == 4


def test_the_domain_says_what_is_complete(served: Served, tmp_path, capsys):
    """Over HTTP, to the client and on the command line; the rest is a domain as ever."""
    told = served.get("/v1/domain").json()
    assert told["complete"] == ["sex"]
    with Client(served.url, served.keys["anna"]) as client:
        assert client.domain() == told
        assert pc.Domain.described(client.domain()) == pc.Domain.load(served.path.parent / "domain.json")
    shown = []
    for options in (["-c", str(served.path)], ["--server", served.url]):
        assert main(["domain", "show", "--json", *options]) == 0
        assert printed(capsys) == [told]
        assert main(["domain", "show", *options]) == 0
        shown.append([line for line in capsys.readouterr().out.splitlines() if "request" not in line])
    assert shown[0] == shown[1]
    assert "F, M; every row has one of these" in " ".join(shown[0])
    assert sum("every row" in line for line in shown[0]) == 1
    with people(tmp_path / "open") as other:
        assert "complete" not in other.get("/v1/domain").json()


@pytest.mark.parametrize("noise", [0, 7, -300])
def test_from_outside_estimates_look_the_same_on_every_table(tmp_path, monkeypatch, noise):
    """Status, headers and length, whatever the numbers are."""
    freeze_noise(monkeypatch, noise)
    seen = []
    for number, rows in enumerate((ROWS, ROWS[1:], ROWS * 1_000, [])):
        with people(tmp_path / str(number), complete=True, rows=rows) as served:
            for sql in (EVERYONE, MEN, AGES):
                assert served.ask(sql).status_code == 200
            asked = {"sql": "SELECT FLOOR(age / 3), COUNT(*) FROM people GROUP BY 1", "derive": True, "estimate": True}
            responses = [
                served.get("/v1/estimates"),
                served.get("/v1/estimates", "ben"),
                served.call("POST", "/v1/answers", json=asked),
            ]
            seen.append([seen_from_outside(one) for one in responses])
    assert all(one == seen[0] for one in seen)
    assert [status for status, _, _ in seen[0]] == [200, 200, 200]


def test_every_method_takes_the_same_room():
    """Which one it is follows from the numbers."""
    lengths = set()
    for method in METHODS:
        one = EstimatedCount("1.2", 1.5, 3, 0.0, 2.25, method, -1, 7, 1, {"sex": "F"})
        lengths.add(len(fixed_width_json(Estimates((one, one), 0.95))))
    assert len(lengths) == 1

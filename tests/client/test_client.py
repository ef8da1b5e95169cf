"""The clients against a real server: answers as the custodian gives them, and errors as the custodian raises them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from parcomp.client import AsyncClient, Client
from parcomp.custodian import Custodian
from parcomp.errors import ArgumentError, CostError, IdempotencyError, RefusedError, ServiceError, SqlError
from tests.loops import run_async
from tests.service.served import EVERYONE, MEN, WOMEN, Served, people


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with people(tmp_path / "served") as served:
        yield served


@pytest.fixture
def anna(served: Served) -> Iterator[Client]:
    with Client(served.url, served.keys["anna"]) as client:
        yield client


def test_what_analysts_do(served: Served, anna: Client):
    assert anna.domain()["name"] == "people"
    quote = anna.quote(WOMEN, epsilon="0.1")
    assert (quote.cost, quote.adds, quote.fits) == (0.1, 0.1, True)
    assert quote.expected_error > 0
    answer = anna.ask(WOMEN, epsilon=Decimal("0.1"))
    assert (answer.charge, answer.cost, answer.cached) == (1, 0.1, False)
    low, high = answer.interval
    assert low < answer.value < high
    assert answer.rows == ((answer.value,),)
    grouped = anna.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon=0.1)
    assert grouped.names == ("sex", "COUNT(*)")
    assert [row[0] for row in grouped.rows] == ["F", "M"]
    frame = grouped.to_pandas()
    assert list(frame.columns) == ["sex", "value", "low", "high", "expected_error"]
    assert frame["expected_error"].tolist() == [grouped.expected_error] * 2
    assert list(frame["value"]) == [row[1] for row in grouped.rows]
    batch = anna.ask_batch([MEN, "SELECT COUNT(*) FROM people WHERE age = 1"], budget="0.1")
    assert [one.charge for one in batch] == [3, 4]
    quoted = anna.quote_batch([MEN, WOMEN], epsilon=["0.2", "0.1"])
    assert [one.cost for one in quoted.quotes] == [0.2, 0]
    assert quoted.fits
    assert "together: adds ε = " in str(quoted)
    each = anna.ask_batch(["SELECT COUNT(*) FROM people WHERE age = 2"], epsilon="0.05")
    assert each[0].cost == 0.05
    assert [one["number"] for one in anna.ledger()] == [1, 2, 3, 4, 5]
    assert anna.budget()["charges"] == 5
    assert len(anna.graph()["nodes"]) == 5
    with Client(served.url, served.keys["boss"]) as boss:
        assert boss.budget_map("sex", "age")["x"] == "sex"


def test_a_served_answer_shows_itself_as_one_of_a_custodian(served: Served, anna: Client, tmp_path: Path):
    """As text, as a frame and as a picture, with how its cost was shared."""
    sql = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex"
    told = anna.ask(sql, epsilon="0.1")
    assert repr(told) == "<ServedAnswer, n, mean in 2 groups by sex>"
    assert "charge 1, ε = 0.1" in str(told)
    assert any("cost" in note for note in told.notes)
    with Custodian.open(served.path) as custodian:
        answer = custodian.ask(sql, epsilon="0.1", analyst="anna")
    assert told.to_arrow().equals(answer.to_arrow())
    assert str(anna.ask(sql, epsilon="0.1")).splitlines()[-2:] == str(answer).splitlines()[-2:]
    told.plot(tmp_path / "mean.png", column="mean")
    assert (tmp_path / "mean.png").read_bytes().startswith(b"\x89PNG")
    free = str(anna.quote(sql, epsilon="0.1"))
    assert "free: it was bought before" in free
    assert "ε = 0" in free


def test_errors_are_those_of_a_custodian(served: Served, anna: Client):
    with pytest.raises(RefusedError) as refused:
        anna.ask(EVERYONE, epsilon="0.9")
    assert refused.value.remaining == 0.5
    assert (refused.value.cost, refused.value.limit) == (0.9, "quota of anna")
    assert refused.value.left == {"budget": 1, "quota of anna": 0.5}
    assert refused.value.position is None
    with pytest.raises(RefusedError, match="statement 2 of 2") as second:
        anna.ask_batch([WOMEN, EVERYONE], epsilon=["0.1", "0.9"])
    assert second.value.position == 2
    with pytest.raises(SqlError) as wrong:
        anna.ask("SELECT COUNT(*) FROM people WHERE\nnothing = 1", epsilon="0.1")
    assert wrong.value.line == 2
    assert str(wrong.value).count("line 2") == 1
    anna.ask(WOMEN, epsilon="0.1", key="k")
    with pytest.raises(IdempotencyError):
        anna.ask(MEN, epsilon="0.1", key="k")
    with pytest.raises(ServiceError, match="custodians") as role:
        anna.budget_map("sex", "age")
    assert (role.value.status, role.value.kind) == (403, "role")
    with pytest.raises(ServiceError, match="not known") as unknown, Client(served.url, "pc_x") as stranger:
        stranger.domain()
    assert unknown.value.status == 401
    for wrong_amount in (True, [1], None):
        with pytest.raises((CostError, ServiceError)):
            anna.ask(WOMEN, epsilon=wrong_amount)
    # As a custodian says it, and before anything is sent.
    with pytest.raises(CostError, match=r"^a cost must be above 0, not '-3'$"):
        anna.ask(WOMEN, epsilon="-3")
    with pytest.raises(CostError, match=r"^a budget must be above 0, not 0$"):
        anna.ask_batch([WOMEN], budget=0)
    for kind in (Client, AsyncClient):
        with pytest.raises(ArgumentError, match=r"begins with http:// or https://, as 'http://127\.0\.0\.1:8771' does"):
            kind("127.0.0.1:8771", "pc_x")


def test_a_batch_is_a_list_and_a_frame(served: Served, anna: Client):
    """As one of a custodian is: a row for each figure, under its statement."""
    by_sex = "SELECT sex, COUNT(*) FROM people WHERE age = 9 GROUP BY sex"
    batch = anna.ask_batch([by_sex, "SELECT COUNT(*) FROM people WHERE age = 9"], epsilon="0.01")
    frame = batch.to_pandas()
    assert list(frame.columns) == ["statement", "sex", "item", "value", "low", "high", "expected_error"]
    assert list(frame["sex"].fillna("–")) == ["F", "M", "–"]
    assert list(frame["value"]) == [*(row[1] for row in batch[0].rows), batch[1].value]
    assert frame.attrs["costs"] == [0.01, 0.01]
    assert repr(batch) == "<ServedBatch of 2 answers>"
    assert str(batch[:1]).startswith(f"1  {by_sex}\nsex")
    assert batch.to_arrow().num_rows == 3
    assert [one["charge"] for one in batch.as_json()] == [one.charge for one in batch]

    async def asked():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            return await client.ask_batch([{"sql": by_sex, "epsilon": "0.01"}])

    again = run_async(asked())
    assert again.statements == (by_sex,)
    assert again[0].rows == batch[0].rows


def test_a_batch_has_a_cost_for_each_statement(served: Served, anna: Client):
    ages = [f"SELECT COUNT(*) FROM people WHERE age = {age}" for age in range(6)]
    assert [one.cost for one in anna.ask_batch(ages[:2], epsilon=["0.1", "0.2"])] == [0.1, 0.2]
    own = [{"sql": ages[2], "epsilon": "0.3"}, {"sql": ages[3], "epsilon": Decimal("0.05")}]
    assert [one.cost for one in anna.ask_batch(own)] == [0.3, 0.05]

    async def asked():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            return await client.ask_batch(ages[4:], epsilon=(0.1, 0.2))

    assert [one.cost for one in run_async(asked())] == [0.1, 0.2]
    for wrong in ({"epsilon": ["0.1"]}, {"epsilon": [True, "0.1"]}):
        with pytest.raises((ArgumentError, CostError)):
            anna.ask_batch(ages[:2], **wrong)
    for odd in (ages[0], {"sql": ages[0]}, [7], [{"epsilon": "0.1"}]):
        with pytest.raises(ArgumentError):
            anna.ask_batch(odd, epsilon="0.1")
    with pytest.raises(SqlError, match="statement 2 of 2, line 1") as second:
        anna.ask_batch([ages[0], "SELECT"], epsilon="0.1")
    assert second.value.position == 2


def test_a_batch_may_be_measured_together(served: Served, anna: Client):
    statements = ["SELECT COUNT(*) FROM people", "SELECT sex, COUNT(*) FROM people GROUP BY sex"]
    quoted = anna.quote_batch(statements, budget="0.2", strategy="atoms")
    answers = anna.ask_batch(statements, budget="0.2", strategy="atoms", estimate=True)
    assert [one.cost for one in answers] == [0.2, 0] == [one.cost for one in quoted.quotes]
    assert [one.strategy for one in answers] == ["atoms", "atoms"]
    assert "charge 1, with the batch" in str(answers[1])
    women, men = answers[1].columns[1].estimates
    assert women.value + men.value <= answers[0].columns[0].estimates[0].value + 1e-6

    async def asked():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            assert (await client.quote_batch(statements, budget="0.2", strategy="atoms")).fits
            return await client.ask_batch(statements, budget="0.2", strategy="atoms", estimate=True)

    assert [one.columns for one in run_async(asked())] == [one.columns for one in answers]


def test_the_key_comes_from_the_environment(served: Served, monkeypatch, tmp_path):
    monkeypatch.delenv("PARCOMP_KEY", raising=False)
    with pytest.raises(ArgumentError, match="PARCOMP_KEY"):
        Client(served.url)
    monkeypatch.setenv("PARCOMP_KEY", served.keys["anna"])
    with Client(served.url) as client:
        assert client.domain()
        assert served.keys["anna"] not in repr(client)
    monkeypatch.delenv("PARCOMP_KEY")
    (tmp_path / "key").write_text(served.keys["ben"] + "\n")
    monkeypatch.setenv("PARCOMP_KEY_FILE", str(tmp_path / "key"))
    with Client(served.url) as client:
        assert client.domain()


def test_many_at_once(served: Served):
    async def ask_all():
        async with AsyncClient(served.url, served.keys["anna"]) as client:
            statements = [f"SELECT COUNT(*) FROM people WHERE age = {age}" for age in range(10)]
            quotes = await asyncio.gather(*(client.quote(sql, epsilon="0.1") for sql in statements))
            answers = await asyncio.gather(*(client.ask(sql, epsilon="0.1") for sql in statements))
            with pytest.raises(RefusedError):
                await client.ask(EVERYONE, epsilon="0.9")
            batch = await client.ask_batch(statements[:2], epsilon="0.1")
            return quotes, answers, batch, await client.ledger(), await client.budget(), await client.domain()

    quotes, answers, batch, ledger, budget, domain = run_async(ask_all())
    assert all(one.fits for one in quotes)
    assert sorted(one.charge for one in answers) == list(range(1, 11))
    assert [one.value for one in batch] == [answers[0].value, answers[1].value]
    assert len(ledger) == budget["charges"] == 10
    assert domain["name"] == "people"


class Unreliable:
    """A way to the server that loses what it is told to: requests before they arrive, or responses after."""

    def __init__(self, faults):
        self.faults = list(faults)
        self.sent = []
        self._transport = httpx.HTTPTransport()

    def transport(self):
        outer = self

        class Transport(httpx.BaseTransport):
            def handle_request(self, request):
                outer.sent.append(request.headers.get("Idempotency-Key"))
                fault = outer.faults.pop(0) if outer.faults else ""
                if fault == "before":
                    raise httpx.ConnectError("lost")
                response = outer._transport.handle_request(request)
                if fault == "after":
                    response.read()
                    raise httpx.ReadError("lost")
                if isinstance(fault, int):
                    response.read()
                    return httpx.Response(fault, headers={"Retry-After": "0"}, json={})
                return response

        return Transport()


def test_a_request_is_sent_again_and_charged_once(served: Served):
    """Lost on the way there, on the way back, and turned away: all with one key of its own."""
    way = Unreliable(["before", "after", 503, 429, ""])
    with Client(served.url, served.keys["anna"], transport=way.transport()) as client:
        answer = client.ask(WOMEN, epsilon="0.1")
    assert (answer.charge, answer.cost, answer.cached) == (1, 0.1, False)
    assert len(way.sent) == 5
    assert len(set(way.sent)) == 1
    assert way.sent[0]
    assert len(served.charges()) == 1


def test_it_gives_up_after_some_tries(served: Served):
    way = Unreliable(["before"] * 9)
    with (
        Client(served.url, served.keys["anna"], transport=way.transport()) as client,
        pytest.raises(ServiceError, match="cannot be reached") as lost,
    ):
        client.ask(WOMEN, epsilon="0.1")
    assert lost.value.status == 0
    assert len(way.sent) == 5


def test_a_server_of_something_else_is_an_error():
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        do_POST = do_GET  # noqa: N815  the name is the library's

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}", "pc_x") as client:
            for call in (client.domain, lambda: client.quote(WOMEN, epsilon="0.1")):
                with pytest.raises(ServiceError):
                    call()
    finally:
        server.shutdown()
        server.server_close()


def test_the_client_is_light():
    """It needs neither the solvers nor the table's engine."""
    script = (
        "import sys, parcomp.client\nfrom parcomp.client import Client, AsyncClient, connect\n"
        "assert not {'numba', 'numpy', 'duckdb', 'opendp', 'fastapi', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ))

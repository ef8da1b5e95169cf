"""A service that has more to do than it can: who looks at all charges keeps nobody from asking, nor from its probes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from parcomp.custodian import Custodian
from parcomp.custodian.books import Books
from parcomp.custodian.strategy import plan_strategy
from parcomp.service import looking
from parcomp.service.pool import Pool
from parcomp.service.problems import Problem
from parcomp.service.tenure import Tenure
from tests.service.served import EVERYONE, WOMEN, people

MAP = "/v1/budget/map?x=sex&y=age"


@pytest.fixture
def held_up(monkeypatch):
    """Maps wait until they are let go."""
    let_go, map_of = threading.Event(), looking._map

    def waiting(*arguments):
        let_go.wait(60)
        return map_of(*arguments)

    monkeypatch.setattr(looking, "_map", waiting)
    yield let_go
    let_go.set()


def test_views_that_take_long_keep_nobody_waiting_but_who_views(tmp_path, held_up):
    with people(tmp_path / "busy") as served, ThreadPoolExecutor(12) as clients:
        views = [clients.submit(served.get, MAP, "boss") for _ in range(12)]
        deadline = time.monotonic() + 30
        while sum(one.done() for one in views) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        began = time.monotonic()
        for method, path, who in (
            ("GET", "/readyz", None),
            ("GET", "/v1/budget", "anna"),
            ("GET", "/v1/budget", "boss"),
            ("GET", "/v1/graph", "anna"),
            ("GET", "/v1/ledger", "anna"),
        ):
            assert served.call(method, path, who).status_code == 200
        assert served.ask(WOMEN).status_code == 200
        assert time.monotonic() - began < 20, "it waited for the views"
        refused = [one.result() for one in views if one.done()]
        assert {one.status_code for one in refused} == {503}
        assert all(one.headers["retry-after"] and one.json()["type"].endswith("busy") for one in refused)
        held_up.set()
        assert [one.result().status_code for one in views].count(200) == 9


def test_who_asks_whether_it_is_ready_is_told_in_time(tmp_path, monkeypatch):
    with people(tmp_path / "hung") as served:
        let_go, ready = threading.Event(), Custodian.ready
        monkeypatch.setattr(Custodian, "ready", lambda _: let_go.wait(60))
        monkeypatch.setattr("parcomp.service.desk._READY_SECONDS", 0.3)
        began = time.monotonic()
        responses = [served.get("/readyz", None) for _ in range(4)]
        assert time.monotonic() - began < 20
        assert {one.status_code for one in responses} == {503}
        assert all(one.headers["retry-after"] for one in responses)
        let_go.set()
        monkeypatch.setattr(Custodian, "ready", ready)
        monkeypatch.setattr("parcomp.service.desk._READY_SECONDS", 30)
        assert served.get("/readyz", None).status_code == 200


def test_what_nobody_waits_for_any_more_is_not_begun():
    begun, let_go = [], threading.Event()

    async def work():
        pool = Pool("tried", 1, 1)
        first = asyncio.create_task(pool.run(let_go.wait, 30))
        await asyncio.sleep(0)
        second = asyncio.create_task(pool.run(begun.append, 2))
        await asyncio.sleep(0)
        with pytest.raises(Problem) as full:
            await pool.run(begun.append, 3)
        assert full.value.status == 503
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        # The thread of the first one still works, so its place is taken.
        assert pool.pending == 1
        let_go.set()
        while pool.pending:
            await asyncio.sleep(0.01)
        await pool.run(begun.append, 4)
        pool.close()

    # In a thread of its own: the browser of other tests leaves a loop running in this one.
    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, work()).result()
    assert begun == [4]


class Closable:
    """Stands for a custodian."""

    closed = False

    def close(self):
        self.closed = True


def test_a_former_custodian_is_closed_by_who_leaves_it_last():
    first, second, third = Closable(), Closable(), Closable()
    tenure, let_go, begun = Tenure(first), threading.Event(), threading.Event()

    def work(custodian):
        begun.set()
        let_go.wait(30)
        return custodian, custodian.closed

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(tenure.call, work)
        begun.wait(30)
        tenure.hand_over(second)
        assert not first.closed
        assert tenure.call(lambda custodian: custodian) is second
        assert not second.closed
        let_go.set()
        assert working.result() == (first, False)
    assert first.closed
    tenure.hand_over(third)
    assert second.closed
    assert not third.closed


def test_who_asks_much_leaves_threads_and_room_to_others():
    """Half of both: the others' calls begin while those that came before them still wait."""
    let_go, begun = threading.Event(), []

    def hold(name):
        begun.append(name)
        let_go.wait(30)

    async def work():
        pool = Pool("shared", 4, 6)
        many = [asyncio.create_task(pool.run_for("eve", hold, "eve")) for _ in range(6)]
        await asyncio.sleep(0.2)
        assert begun == ["eve"] * 2
        others = [asyncio.create_task(pool.run_for(name, hold, name)) for name in ("anna", "ben", "anna")]
        await asyncio.sleep(0.2)
        assert begun == ["eve", "eve", "anna", "ben"]
        assert sum(one.done() for one in many) == 1, "the sixth was told to come again"
        with pytest.raises(Problem) as full:
            await pool.run_for("eve", hold, "eve")
        assert full.value.status == 503
        let_go.set()
        told = await asyncio.gather(*many, *others, return_exceptions=True)
        assert [type(one) for one in told if one is not None] == [Problem]
        assert pool.pending == 0
        pool.close()

    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, work()).result()
    assert Counter(begun) == {"eve": 5, "anna": 2, "ben": 1}


def test_the_turn_goes_to_who_has_the_fewest_calls_running():
    let_go, begun = {name: threading.Event() for name in ("carl", "rest")}, []

    def hold(name):
        begun.append(name)
        let_go[name if name in let_go else "rest"].wait(30)

    async def work():
        pool = Pool("turns", 4, 8)
        names = ("eve", "eve", "anna", "carl", "anna", "ben")
        tasks = [asyncio.create_task(pool.run_for(name, hold, name)) for name in names]
        await asyncio.sleep(0.2)
        assert sorted(begun) == ["anna", "carl", "eve", "eve"]
        let_go["carl"].set()
        await asyncio.sleep(0.2)
        assert begun[4:] == ["ben"], "anna, who came before, has a call running"
        let_go["rest"].set()
        await asyncio.gather(*tasks)
        pool.close()

    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, work()).result()


def test_a_request_is_not_decided_on_once_nobody_waits_for_it(tmp_path, monkeypatch):
    """A batch whose decisions take longer than its deadline lets go of the books, and has charged nothing."""
    with people(tmp_path / "long", service='deadline = "0.5"') as served:
        decide, made = Books.decide, []

        def slowly(self, *arguments):
            made.append(1)
            time.sleep(0.2)
            return decide(self, *arguments)

        monkeypatch.setattr(Books, "decide", slowly)
        statements = [{"sql": f"SELECT COUNT(*) FROM people WHERE age = {n}", "epsilon": "0.001"} for n in range(10)]
        late = served.call("POST", "/v1/batches", "anna", json={"statements": statements})
        assert (late.status_code, late.json()["type"].rpartition(":")[2]) == (503, "deadline")
        time.sleep(1)
        assert 1 <= len(made) < 8
        monkeypatch.undo()
        assert served.ask(WOMEN).status_code == 200
        assert len(served.charges()) == 1


def test_who_asks_for_a_quote_that_takes_too_long_is_not_told_of_a_charge(tmp_path, monkeypatch):
    with people(tmp_path / "late", service='deadline = "0.5"') as served:
        slow = threading.Event()
        for name in ("quote", "quote_batch", "ask_batch", "estimates"):
            monkeypatch.setattr(Custodian, name, lambda *_, **__: slow.wait(3))
        batch = {"statements": [{"sql": WOMEN}], "budget": "0.1"}
        reads = [
            served.call("POST", "/v1/quotes", "anna", json={"sql": WOMEN, "epsilon": "0.1"}),
            served.call("POST", "/v1/batches/quotes", "anna", json=batch),
        ]
        pays = served.call("POST", "/v1/batches", "ben", json=batch)
        slow.set()
        for late in reads:
            assert (late.status_code, late.json()["type"].rpartition(":")[2]) == (503, "deadline")
            assert "charges nothing" in late.json()["detail"]
            assert "Idempotency-Key" not in late.json()["detail"]
        assert pays.status_code == 503
        assert "may still be charged" in pays.json()["detail"]
        assert "Idempotency-Key" in pays.json()["detail"]


def test_a_strategy_is_not_planned_on_once_nobody_waits_for_it(tmp_path, monkeypatch):
    """Each step of a plan looks at the clock, so that the thread is free soon after the deadline."""
    with people(tmp_path / "long", service='deadline = "3"') as served:
        listed, ended = [], threading.Event()
        monkeypatch.setattr("parcomp.planning.strategies.atoms._CHUNK", 1)
        monkeypatch.setattr("parcomp.planning.strategies.atoms._distinct", lambda sets: _slowly(sets, listed))
        planned = plan_strategy

        def watched(*arguments):
            try:
                return planned(*arguments)
            finally:
                ended.set()

        monkeypatch.setattr("parcomp.custodian.strategic.plan_strategy", watched)
        sql = "SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age"
        body = {"statements": [{"sql": sql}, {"sql": EVERYONE}], "budget": "0.1", "strategy": "atoms"}
        late = served.call("POST", "/v1/batches", "anna", json=body)
        assert late.status_code in {400, 503}
        assert ended.wait(5)
        assert not served.charges()


def _slowly(sets, listed):
    listed.append(1)
    time.sleep(0.1)
    return sets

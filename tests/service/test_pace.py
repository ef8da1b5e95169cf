"""When responses are sent, and that nothing else tells when the work has ended."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from parcomp.custodian import Custodian
from parcomp.service.pace import Pace
from tests.service.served import EVERYONE, people

DELAY = 3.0
FREE = {"statements": [{"sql": "SELECT COUNT(*) FROM people WHERE age = 1 AND age = 2", "epsilon": "0.1"}]}
TRIES = (
    ("POST", "/v1/batches/quotes", {"json": FREE}),
    ("GET", "/v1/estimates", {}),
    ("POST", "/v1/answers", {"json": {"sql": EVERYONE, "derive": True, "estimate": True}}),
)


@pytest.mark.parametrize("fails", [False, True])
def test_a_batch_keeps_its_name_until_its_answer_is_sent(tmp_path, monkeypatch, fails):
    """Whether it is answered or refused; others are free to ask."""
    ended, ask_batch = threading.Event(), Custodian.ask_batch

    def watched(*given, **named):
        try:
            return ask_batch(*given, **named)
        finally:
            ended.set()

    monkeypatch.setattr(Custodian, "ask_batch", watched)
    batch = {"statements": [{"sql": EVERYONE, "epsilon": "9" if fails else "0.1"}]}
    with people(tmp_path / "paced", service=f'answer_delay = "{DELAY}"') as served, ThreadPoolExecutor(8) as threads:
        began = time.monotonic()
        answer = threads.submit(served.call, "POST", "/v1/batches", json=batch)
        assert ended.wait(30)
        # The loop takes in that the work has ended.
        time.sleep(0.2)
        assert time.monotonic() - began < DELAY - 1, "the machine is too slow to tell"
        tries = [threads.submit(served.call, method, path, **sent) for method, path, sent in TRIES]
        other = threads.submit(served.call, "POST", "/v1/batches/quotes", "ben", json=FREE)
        assert [one.result().status_code for one in tries] == [429] * len(TRIES)
        assert other.result().status_code == 200
        assert answer.result().status_code == (403 if fails else 200)
        assert answer.result().elapsed.total_seconds() >= DELAY - 0.1
        assert served.call("POST", "/v1/batches/quotes", json=FREE).status_code == 200


def test_work_that_outlives_its_response_ends_at_a_multiple():
    """As after a deadline: what waits for the response is done at the next time at which one could be sent."""

    async def work():
        done = []
        pace = Pace(time.monotonic(), 0.4)
        pace.when_sent(lambda: done.append("with the response"))
        await pace.wait()
        assert not done
        pace.end()
        assert done == ["with the response"]
        pace.when_sent(lambda: done.append(time.monotonic() - pace._began))
        await asyncio.sleep(0.1)
        assert len(done) == 1
        await asyncio.sleep(0.6)
        assert done[1] >= 0.75

    # In a thread of its own: the browser of other tests leaves a loop running in this one.
    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, work()).result()


def test_an_unforeseen_error_waits_as_answers_do(tmp_path, monkeypatch):
    def broken(*_given, **_named):
        raise ZeroDivisionError

    monkeypatch.setattr(Custodian, "quote", broken)
    with people(tmp_path / "broken", service='answer_delay = "0.5"') as served:
        response = served.call("POST", "/v1/quotes", json={"sql": EVERYONE, "epsilon": "0.1"})
        assert response.status_code == 500
        assert response.elapsed.total_seconds() >= 0.45

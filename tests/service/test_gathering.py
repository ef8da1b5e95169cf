"""Many requests at once: each gets its own answer or its own problem, and what is too much is turned away at once."""

from __future__ import annotations

import asyncio
import time

import httpx

from parcomp.custodian import Custodian
from tests.custodians import audited
from tests.loops import run_async
from tests.service.served import EVERYONE, people


def send_all(served, bodies, who="ben"):
    """The responses to requests that are all sent before the first one is answered."""

    async def send():
        headers = {"Authorization": f"Bearer {served.keys[who]}"}
        async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
            return await asyncio.gather(*(http.post("/v1/answers", json=body) for body in bodies))

    return run_async(send())


def test_a_crowd_gets_each_its_own(tmp_path):
    with people(tmp_path / "crowd") as served:
        good = [{"sql": f"SELECT COUNT(*) FROM people WHERE age = {n % 10}", "epsilon": "0.1"} for n in range(60)]
        bodies = [*good, {"sql": "nonsense", "epsilon": "0.1"}, {"sql": EVERYONE, "epsilon": "0.95"}]
        responses = send_all(served, bodies)
        assert [one.status_code for one in responses] == [200] * 60 + [400, 403]
        values = {}
        for body, response in zip(good, responses, strict=False):
            answer = response.json()
            assert values.setdefault(body["sql"], answer["value"]) == answer["value"]
        assert len(served.charges()) == 10
        paid = [one for one in responses[:60] if not one.json()["cached"]]
        assert len(paid) == 10
    with Custodian.open(served.path) as custodian:
        assert audited(custodian.settings).ok


def test_what_is_too_much_is_turned_away_and_probes_stay_quick(tmp_path):
    with people(tmp_path / "full", service="threads = 1\nwaiting = 2") as served:
        bodies = [{"sql": f"SELECT COUNT(*) FROM people WHERE age < {n % 10}", "epsilon": "0.001"} for n in range(60)]
        responses = send_all(served, bodies)
        turned_away = [one for one in responses if one.status_code == 503]
        assert {one.status_code for one in responses} == {200, 503}
        assert all(one.json()["type"].endswith("busy") and one.headers["retry-after"] for one in turned_away)
        began = time.monotonic()
        assert served.get("/healthz", None).status_code == 200
        assert time.monotonic() - began < 1
        assert served.ask(EVERYONE, "0.001", who="ben").status_code == 200


def test_a_request_beyond_its_deadline_is_answered_when_it_is_sent_again(tmp_path, monkeypatch):
    """The work goes on, and what it charged is found under the key."""
    with people(tmp_path / "slow", service='deadline = "0.5"') as served:
        slow = Custodian._stored

        def slowly(self, *arguments):
            time.sleep(1.5)
            return slow(self, *arguments)

        monkeypatch.setattr(Custodian, "_stored", slowly)
        late = served.ask(EVERYONE, key="k")
        assert late.status_code == 503
        assert late.json()["type"].endswith("deadline")
        assert late.headers["retry-after"]
        monkeypatch.undo()
        time.sleep(2)
        answer = served.ask(EVERYONE, key="k")
        assert (answer.status_code, answer.json()["charge"], answer.json()["cost"]) == (200, 1, 0.1)
        assert len(served.charges()) == 1

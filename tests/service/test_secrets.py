"""What others see: logs and metrics hold nothing of what is asked or answered, and responses nothing of the data."""

from __future__ import annotations

import io
import json
import logging
import re
import sys

import pytest
import structlog

from parcomp.service.watch import configure_logs
from tests.custodians import ROWS
from tests.service.served import EVERYONE, Served, freeze_noise, people, seen_from_outside

SECRET = "SELECT COUNT(*) FROM people WHERE age = 7 AND sex = 'F'"


@pytest.fixture
def log(monkeypatch):
    """Standard error while the service logs as it does when it is run by itself."""
    caught, before = io.StringIO(), (logging.getLogger().handlers[:], logging.getLogger().level)
    monkeypatch.setattr(sys, "stderr", caught)
    configure_logs()
    yield caught
    structlog.reset_defaults()
    logging.getLogger().handlers[:], level = before[0], before[1]
    logging.getLogger().setLevel(level)


def test_logs_and_metrics_carry_no_counts_noise_keys_or_literals(log, tmp_path):
    with people(tmp_path / "watched") as served:
        answer = served.ask(SECRET, "0.123456789", key="idem-7733").json()
        served.ask("SELECT COUNT(*) FROM people WHERE sexx = 'Quetzal'", "0.1")
        served.ask(EVERYONE, "0.987654321")
        served.ask("SELECT nonsense 'Quetzal'", "0.1")
        served.get("/v1/Quetzal?x=Quetzal")
        served.get("/v1/domain", "pc_Quetzal")
        served.get("/v1/budget/map?x=Quetzal&y=sex", "boss")
        metrics = served.get("/metrics", None).text
        keys = list(served.keys.values())
    written = log.getvalue()
    lines = [json.loads(line) for line in written.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) == 8
    fields = {"id", "method", "route", "status", "seconds", "name", "problem", "level", "timestamp", "event"}
    assert all(set(line) == fields for line in requests)
    assert [line["status"] for line in requests][:4] == [200, 400, 403, 400]
    assert requests[0]["name"] == "anna"
    for text in (written, metrics):
        for secret in (*keys, "Quetzal", "idem-7733", "age = 7", "SELECT", "0.123456", "0.987654"):
            assert secret not in text
    # Neither line nor label has a place for a number of the answer.
    for line in requests:
        assert {name for name, value in line.items() if isinstance(value, (int, float))} == {"status", "seconds"}
    labels = set(re.findall(r'(\w+)="', metrics))
    assert labels == {"method", "route", "status", "kind", "le"}
    assert isinstance(answer["value"], int)


@pytest.mark.parametrize("noise", [0, 5, -120])
def test_status_headers_and_length_do_not_depend_on_the_data(monkeypatch, tmp_path, noise):
    """Neighboring tables, and tables of very different sizes: no rows, one more, a hundred times as many."""
    freeze_noise(monkeypatch, noise)
    seen = []
    for number, rows in enumerate([ROWS, ROWS[1:], [], ROWS * 100]):
        with people(tmp_path / str(number), rows=rows, quotas={"anna": "1.0", "ben": "1.0"}) as served:
            seen.append([seen_from_outside(response) for response in _session(served)])
    assert seen[0] == seen[1] == seen[2] == seen[3]


def _session(served: Served):
    yield served.call("POST", "/v1/quotes", json={"sql": SECRET, "epsilon": "0.1"})
    yield served.ask(SECRET)
    yield served.ask(SECRET)
    yield served.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age")
    yield served.ask("SELECT AVG(age) FROM people")
    yield served.ask("SELECT sex, SUM(age) FROM people GROUP BY sex")
    yield served.ask("SELECT sex, COUNT(*) AS n, AVG(age), STDDEV(age), MEDIAN(age) FROM people GROUP BY sex")
    yield served.ask("SELECT COUNT(DISTINCT age), ROUND(AVG(age), 2), SUM(age) / COUNT(*) FROM people")
    yield served.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND sex = 'M'")
    yield served.ask("SELECT CAST(COUNT(*) AS TEXT), CAST(AVG(age) AS TEXT) FROM people", "0.01")
    yield served.ask(
        "SELECT sex, CASE WHEN COUNT(*) > 40 THEN 'very many' ELSE sex END FROM people GROUP BY sex", "0.01"
    )
    chosen = "CASE WHEN COUNT(*) > 90 THEN 'é' WHEN AVG(age) > 1 THEN CAST(-COUNT(*) / 3 AS TEXT) END"
    yield served.ask(f"SELECT {chosen}, COUNT(*), SUM(age) FROM people", "0.01")
    statements = [{"sql": f"SELECT COUNT(*) FROM people WHERE age = {age}"} for age in range(4)]
    yield served.call("POST", "/v1/batches", json={"statements": statements, "budget": "0.1"})
    yield served.ask("SELECT sex, VARIANCE(age) FROM people WHERE sex = 'F' GROUP BY sex")
    yield served.call("POST", "/v1/batches/quotes", json={"statements": statements, "budget": "0.1"})
    yield served.get("/v1/estimates?interval=0.9")
    yield served.call("POST", "/v1/answers", json={"sql": SECRET, "derive": True, "estimate": True})
    yield served.ask(EVERYONE, "0.9")
    yield served.get("/v1/budget")
    yield served.get("/v1/graph", "boss")


def test_answers_wait_for_a_multiple_of_the_delay(tmp_path):
    with people(tmp_path / "delayed", service='answer_delay = "0.3"') as served:
        served.ask(EVERYONE, "0.01")
        for response in (served.ask(SECRET), served.ask(EVERYONE, "0.9"), served.ask("nonsense")):
            assert 0.3 <= response.elapsed.total_seconds() < 0.6
        assert served.get("/v1/estimates").elapsed.total_seconds() % 0.3 < 0.2
        quick = served.call("GET", "/v1/domain")
        assert quick.elapsed.total_seconds() < 0.3

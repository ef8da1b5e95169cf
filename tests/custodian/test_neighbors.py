"""Nothing but the noisy numbers depends on the data: the same session on neighboring tables looks the same."""

from __future__ import annotations

import random
from itertools import compress, product

from parcomp.custodian import Custodian
from parcomp.errors import ParcompError
from tests.custodians import write_custodian

ROWS = [
    {"sex": "F", "age": 0},
    {"sex": "M", "age": 3},
    {"sex": "", "age": 1},
    {"sex": "F", "age": 2},
    {"sex": "X", "age": 2},
    {"sex": "f", "age": ""},
    {"sex": "M", "age": 9},
    {"sex": "F", "age": "old"},
]
"""Rows within the domain and outside it; the tables are all sets of them."""

REQUESTS = 12
DOMAIN = {
    "name": "people",
    "attributes": {"sex": {"values": ["F", "M"], "nullable": True}, "age": {"low": 0, "high": 3}},
}
CONDITIONS = ["sex = 'F'", "sex <> 'F'", "sex IS NULL", "age < 2", "age = 3", "sex = 'M' OR age = 0", "age > 7", "TRUE"]
SELECTS = ["COUNT(*)", "SUM(age)", "AVG(age)", "sex, COUNT(*)"]
WRONG = ["SELECT COUNT(*) FROM people WHERE color = 1", "SELECT MAX(age) FROM people", "SELECT"]


def session(path, draw):
    """What an analyst sees of a random session except for the numbers, and the ledger's chain after it."""
    seen = []
    with Custodian.create(path) as custodian:
        for _ in range(REQUESTS):
            select, condition = draw.choice(SELECTS), draw.choice(CONDITIONS)
            group = " GROUP BY sex" if select.startswith("sex") else ""
            sql = f"SELECT {select} FROM people WHERE {condition}{group}"
            if draw.random() < 0.1:
                sql = draw.choice(WRONG)
            cost = draw.choice(["0.2", "0.3", "0.4", "nan"])
            try:
                quote = custodian.quote(sql, epsilon=cost)
                answer = custodian.ask(sql, epsilon=cost)
            except ParcompError as error:
                seen.append((type(error).__name__, str(error)))
                continue
            # The error of an average is estimated from its noisy count.
            error = None if select == "AVG(age)" else answer.expected_error
            rows = [group.row for group in answer.groups]
            seen.append((quote, answer.charge, answer.cost, answer.cached, error, rows))
        return seen, custodian.charges(), custodian.balance()


def test_accept_refuse_cost_messages_and_chain_are_the_same_on_neighboring_tables(tmp_path, monkeypatch):
    """On all 1,024 pairs of tables that differ in one of eight rows; noise and the clock stand still."""
    monkeypatch.setattr("parcomp.noise.add_noise", lambda mechanism, values: list(values))
    monkeypatch.setattr("parcomp.custodian.request.utc_now", lambda: "2026-01-01T00:00:00Z")
    seen = {}
    for chosen in product((False, True), repeat=len(ROWS)):
        rows = list(compress(ROWS, chosen))
        path = write_custodian(tmp_path / "".join("01"[one] for one in chosen), rows=rows, domain=DOMAIN, init=False)
        seen[chosen] = session(path, random.Random(8))
    pairs = [(one, (*one[:i], True, *one[i + 1 :])) for one in seen for i in range(len(ROWS)) if not one[i]]
    assert len(pairs) == 1_024
    for table, neighbor in pairs:
        assert seen[table] == seen[neighbor]
    events, charges, _ = seen[(False,) * len(ROWS)]
    kinds = {event[0] for event in events if isinstance(event[0], str)}
    assert {"RefusedError", "CostError", "SqlError"} <= kinds
    assert len(charges) >= 3

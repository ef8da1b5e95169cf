"""Requests drawn from the OpenAPI document, good and bad ones: no 5xx, every response as documented."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import ExitStack, closing, suppress
from itertools import product

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from parcomp.custodian import Settings, retrospect
from tests.custodians import audited
from tests.service.served import add_keys, people
from tests.soak import soaked

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
BAD = [
    "SELECT * FROM people; DROP TABLE people",
    "SELECT COUNT(*) FROM people WHERE age = '",
    "SELECT COUNT(*) FROM nowhere",
    "\0",
]
OPERATIONS = 13
PAYING = {"POST /v1/answers", "POST /v1/batches"}
ASKING = PAYING | {"POST /v1/quotes", "POST /v1/batches/quotes"}
MAP = "GET /v1/budget/map"
KINDS = ["answered", "refused", "bad", "as it is"]

AGES = 10_000
DOMAIN = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": AGES - 1}}}
CONDITIONS = ["sex = 'F'", "sex <> 'F'", "age IN (1, 3) OR sex = 'M'"]
SELECTED = [
    "SELECT COUNT(*) FROM people WHERE {}",
    "SELECT sex, COUNT(*) FROM people WHERE {} GROUP BY sex",
    "SELECT AVG(age) FROM people WHERE {}",
    "SELECT COUNT(*), SUM(age) FROM people WHERE {}",
]

amounts = st.integers(1, 999).map(lambda units: f"0.{units:09d}")
"""So small that tens of thousands of them fit the budget."""


def statements(number):
    """Statements of which most are of rows that no other number has: what was bought before is not charged."""
    low, high = sorted(divmod(number * 7_919 % AGES**2, AGES))
    conditions = st.sampled_from([*CONDITIONS, *[f"age BETWEEN {low} AND {high}"] * 9])
    return st.builds(str.format, st.sampled_from(SELECTED), conditions)


@st.composite
def bodies(draw, batch, kind, number):
    """A body that is answered, refused, or has SQL that cannot be answered; other numbers ask about other rows."""
    cost = "0.9999" if kind == "refused" else draw(amounts)
    sql = draw(st.sampled_from(BAD) if kind == "bad" else statements(4 * number))
    if not batch:
        return {"sql": sql, "epsilon": cost}
    others = [draw(statements(4 * number + place)) for place in range(1, draw(st.integers(1, 4)))]
    texts = draw(st.permutations([sql, *others]))
    if draw(st.booleans()):
        return {"statements": [{"sql": text} for text in texts], "budget": cost}
    return {"statements": [{"sql": text, "epsilon": cost} for text in texts]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    quotas = {"anna": "1.0", "ben": "0.5", "dual": "1.0"}
    with ExitStack() as stack:
        served = stack.enter_context(
            people(tmp_path_factory.mktemp("fuzzed"), service="rate = 1000000", quotas=quotas, domain=DOMAIN)
        )
        served.keys |= add_keys(served.path, dual="custodian")
        # A few of the thousands of counts are enough to estimate from.
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(retrospect, "_MOST", 20)
        # On every row, so that what costs nearly all of the budget is refused.
        assert served.ask("SELECT COUNT(*) FROM people", "0.001").status_code == 200
        yield served


def charged(served):
    """How many charges the ledger has, read past the service."""
    with closing(sqlite3.connect(f"file:{served.path.parent / 'ledger.db'}?mode=ro", uri=True)) as ledger:
        return ledger.execute("SELECT COUNT(*) FROM parcomp_charge").fetchone()[0]


@pytest.mark.parametrize(("examples", "least"), [(24, 240), soaked(700, 10_000)])
def test_every_response_is_as_documented_and_bad_requests_charge_nothing(served, examples, least):
    """Up to so many good and as many bad cases for each operation; a good share of those that pay are answered."""
    written = served.get("/openapi.json", None).json()
    # Every case is sent with a key; what happens without one is tested role by role.
    for operation in (one for path in written["paths"].values() for one in path.values()):
        operation.pop("security", None)
    document = schemathesis.openapi.from_dict(written)
    operations = [one.ok() for one in document.get_all_operations()]
    assert len(operations) == OPERATIONS
    before = charged(served)
    seen: Counter[tuple[str, int]] = Counter()
    for operation, mode in product(operations, GenerationMode):
        # Some operations take nothing that could be wrong.
        with suppress(Unsatisfiable):
            send_all(served, operation, mode, examples, seen)
    for (label, status), count in sorted(seen.items()):
        print(f"{label:24} {status} {count:7,}")
    made = charged(served) - before
    print(f"{sum(seen.values()):,} cases, {made:,} charges")
    assert seen.total() >= least
    assert 422 not in {status for _, status in seen}
    for label in ASKING:
        assert {200, 400} <= {status for found, status in seen if found == label}, label
        assert seen[label, 200] >= examples // 2, label
    for label in PAYING:
        assert seen[label, 403] >= examples // 6, label
    assert seen[MAP, 200] >= examples // 2
    assert made >= sum(seen[label, 200] for label in PAYING) // 2
    assert audited(Settings.load(served.path)).ok


def send_all(served, operation, mode, examples, seen):
    """Send cases of one operation, and count their statuses."""
    label = f"{operation.method.upper()} {operation.path}"
    # What is wrong with a bad case may be anything of it, so it is sent as it is.
    kinds = KINDS if mode == GenerationMode.POSITIVE and label in ASKING | {MAP} else ["as it is"]
    for kind in kinds:
        share = examples if kind == "answered" else examples // len(kinds)
        send_kind(served, operation, mode, label, kind, share, seen)


def send_kind(served, operation, mode, label, kind, examples, seen):
    known = charged(served)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def send(case, data):
        nonlocal known
        if label in ASKING and kind != "as it is":
            case.body = data.draw(bodies("/batches" in label, kind, seen.total()))
            if "Idempotency-Key" in case.headers and (kind == "refused" or data.draw(st.integers(0, 3))):
                # Those that are drawn are often the same, and then stand for another request.
                case.headers["Idempotency-Key"] = f"{label.rpartition('/')[2]}-{seen.total()}"
        if label == MAP and kind == "answered":
            x, y = data.draw(st.permutations(["sex", "age"]))
            case.query = {"x": x, "y": y, "bands": data.draw(st.integers(1, 60))}
        response = case.call(base_url=served.url, headers={"Authorization": f"Bearer {served.keys['dual']}"})
        # A body that is too large is rejected too, before anything else of it is looked at.
        rejected = response.status_code == 413
        case.validate_response(response, checks=[c for c in CHECKS if not rejected or c is not negative_data_rejection])
        seen[label, response.status_code] += 1
        now = charged(served)
        if response.status_code != 200 or label not in PAYING:
            assert now == known
        known = now
        if response.status_code >= 400:
            assert response.headers["content-type"] == ["application/problem+json"]

    send()

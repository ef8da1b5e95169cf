"""Requests drawn from the OpenAPI document, good and bad ones: no 5xx, every response as documented."""

from __future__ import annotations

from contextlib import suppress
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
STATEMENTS = [
    "SELECT COUNT(*) FROM people",
    "SELECT sex, COUNT(*) FROM people WHERE age < 5 GROUP BY sex",
    "SELECT AVG(age) FROM people WHERE sex = 'F'",
    "SELECT COUNT(*) FROM people WHERE age = 3 OR sex = 'M'",
    "SELECT * FROM people; DROP TABLE people",
    "SELECT COUNT(*) FROM people WHERE age = '",
    "\0",
]
OPERATIONS = 11


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    quotas = {"anna": "1.0", "ben": "0.5", "dual": "1.0"}
    with people(tmp_path_factory.mktemp("fuzzed"), service="rate = 1000000", quotas=quotas) as served:
        served.keys |= add_keys(served.path, dual="custodian")
        yield served


@pytest.mark.parametrize("examples", [12, soaked(1_000)])
def test_every_response_is_as_documented_and_bad_requests_charge_nothing(served, examples):
    """Up to so many good and as many bad cases for each operation, some of them with SQL that can be answered."""
    written = served.get("/openapi.json", None).json()
    # Every case is sent with a key; what happens without one is tested role by role.
    for operation in (one for path in written["paths"].values() for one in path.values()):
        operation.pop("security", None)
    document = schemathesis.openapi.from_dict(written)
    operations = [one.ok() for one in document.get_all_operations()]
    assert len(operations) == OPERATIONS
    seen: list[int] = []
    for operation, mode in product(operations, GenerationMode):
        # Some operations take nothing that could be wrong.
        with suppress(Unsatisfiable):
            send_all(served, operation, mode, examples, seen)
    assert len(seen) >= 10 * examples
    assert {200, 400} <= set(seen)
    assert 422 not in seen


def send_all(served, operation, mode, examples, seen):
    """Send cases of one operation, and note their statuses."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), sql=st.sampled_from([None, *STATEMENTS]))
    def send(case, sql):
        before = len(served.charges())
        # What is wrong with a bad case may be its SQL.
        if mode == GenerationMode.POSITIVE and sql and isinstance(case.body, dict) and "sql" in case.body:
            case.body["sql"] = sql
        response = case.call(base_url=served.url, headers={"Authorization": f"Bearer {served.keys['dual']}"})
        case.validate_response(response, checks=CHECKS)
        seen.append(response.status_code)
        if response.status_code >= 400:
            assert len(served.charges()) == before
            assert response.headers["content-type"] == ["application/problem+json"]

    send()

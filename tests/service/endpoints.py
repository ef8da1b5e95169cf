"""Every endpoint there is, with a request to it and who may send it: the routes of the application are held to this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.custodians import ROWS
from tests.service.served import WOMEN, Served

ASKING = frozenset({"anna", "dual"})
TENDING = frozenset({"boss", "dual"})
ALL = ASKING | TENDING
HOLDERS = ("anna", "boss", "dual")
"""An analyst, a custodian, and a custodian whom the settings declare as an analyst too."""

BODY = {"sql": WOMEN, "epsilon": "0.01"}


@dataclass(frozen=True)
class Endpoint:
    """Whom it serves, None for everybody, even without a key; and a request that it answers."""

    served: frozenset[str] | None
    path: str
    body: Mapping[str, Any] | None = None
    status: int = 200


ENDPOINTS: dict[tuple[str, str], Endpoint] = {
    ("POST", "/v1/quotes"): Endpoint(ASKING, "/v1/quotes", BODY),
    ("POST", "/v1/answers"): Endpoint(ASKING, "/v1/answers", BODY),
    ("POST", "/v1/batches"): Endpoint(ASKING, "/v1/batches", {"statements": [BODY]}),
    ("POST", "/v1/batches/quotes"): Endpoint(ASKING, "/v1/batches/quotes", {"statements": [BODY]}),
    ("GET", "/v1/estimates"): Endpoint(ASKING, "/v1/estimates"),
    ("GET", "/v1/domain"): Endpoint(ALL, "/v1/domain"),
    ("GET", "/v1/budget"): Endpoint(ALL, "/v1/budget"),
    ("GET", "/v1/ledger"): Endpoint(ALL, "/v1/ledger"),
    ("GET", "/v1/graph"): Endpoint(ALL, "/v1/graph"),
    ("GET", "/v1/budget/map"): Endpoint(TENDING, "/v1/budget/map?x=sex&y=age"),
    ("GET", "/healthz"): Endpoint(None, "/healthz"),
    ("HEAD", "/healthz"): Endpoint(None, "/healthz"),
    ("GET", "/readyz"): Endpoint(None, "/readyz"),
    ("HEAD", "/readyz"): Endpoint(None, "/readyz"),
    ("GET", "/metrics"): Endpoint(None, "/metrics"),
    ("GET", "/openapi.json"): Endpoint(None, "/openapi.json"),
    ("HEAD", "/openapi.json"): Endpoint(None, "/openapi.json"),
    ("GET", "/"): Endpoint(None, "/"),
    ("HEAD", "/"): Endpoint(None, "/"),
    ("GET", "/console/assets/{name}"): Endpoint(None, "/console/assets/app.js"),
    ("POST", "/console/session"): Endpoint(None, "/console/session", {"key": "anna"}),
    ("GET", "/console/session"): Endpoint(ALL, "/console/session"),
    ("DELETE", "/console/session"): Endpoint(ALL, "/console/session", status=204),
    ("POST", "/console/quotes"): Endpoint(ASKING, "/console/quotes", BODY),
    ("POST", "/console/recalled"): Endpoint(ASKING, "/console/recalled", BODY),
    ("POST", "/console/rehearsals"): Endpoint(ASKING, "/console/rehearsals", BODY),
    ("GET", "/console/answers"): Endpoint(ASKING, "/console/answers"),
    ("GET", "/console/charges"): Endpoint(ALL, "/console/charges"),
    ("GET", "/console/charges/{number}"): Endpoint(ALL, "/console/charges/1"),
    ("GET", "/console/charges/{number}/reason"): Endpoint(TENDING, "/console/charges/1/reason"),
    ("GET", "/console/graph"): Endpoint(ALL, "/console/graph"),
    ("GET", "/console/overview"): Endpoint(TENDING, "/console/overview"),
    ("GET", "/console/bracket"): Endpoint(TENDING, "/console/bracket"),
    ("GET", "/console/maps"): Endpoint(TENDING, "/console/maps?x=age&y=city&z=sex"),
    ("POST", "/console/region"): Endpoint(TENDING, "/console/region", {"where": {"sex": ["F"]}}),
    ("GET", "/console/keys"): Endpoint(TENDING, "/console/keys"),
    ("POST", "/console/keys"): Endpoint(TENDING, "/console/keys", {"name": "ben", "role": "analyst"}),
    ("POST", "/console/keys/revoked"): Endpoint(TENDING, "/console/keys/revoked", {"name": "ben", "older": True}),
    ("POST", "/console/audits"): Endpoint(TENDING, "/console/audits", {}),
}

DOMAIN = {
    "name": "people",
    "attributes": {
        "sex": {"values": ["F", "M"]},
        "age": {"low": 0, "high": 9},
        "city": {"values": ["Oslo", "Rome"]},
    },
}
CITIZENS = [{**row, "city": "Oslo" if row["age"] < 4 else "Rome"} for row in ROWS]


def request_of(served: Served, method: str, pattern: str) -> dict[str, Any]:
    """The path and the body of a request to an endpoint; who signs in does so with a real key."""
    one = ENDPOINTS[method, pattern]
    body = one.body if pattern != "/console/session" or one.body is None else {"key": served.keys[one.body["key"]]}
    return {"method": method, "path": one.path, **({} if body is None else {"json": body})}

"""One request and what becomes of it, apart from how it is sent: shared by the client that waits and the other one.

A request that pays has an idempotency key of its own, made here unless it is given, so it can be sent again after a
lost connection or a busy server, and is charged once.  What only looks can be sent again anyway.
"""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

import httpx

from parcomp.costs import budget_down, cost_up
from parcomp.errors import (
    ArgumentError,
    IdempotencyError,
    RefusedError,
    ServiceError,
    SqlError,
    UnderivableError,
    shown,
)

__all__ = [
    "ATTEMPTS",
    "Amount",
    "Amounts",
    "Exchange",
    "address_of",
    "answer_exchange",
    "batch_exchange",
    "batch_quote_exchange",
    "derive_exchange",
    "headers_for",
    "look_exchange",
    "quote_exchange",
    "read_key",
    "resent_after",
    "result_of",
]

Amount: TypeAlias = str | int | float | Decimal
Amounts: TypeAlias = Amount | Sequence[Amount] | None
"""One cost for all statements of a batch, or one for each."""

ATTEMPTS: Final = 5
_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request: method, path, body, and the idempotency key of one that pays."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    key: str | None = None
    query: Mapping[str, Any] | None = None

    def options(self) -> dict[str, Any]:
        """What httpx is to send."""
        sent: dict[str, Any] = {}
        if self.body is not None:
            sent["json"] = self.body
        if self.key is not None:
            sent["headers"] = {"Idempotency-Key": self.key}
        if self.query:
            sent["params"] = self.query
        return sent


def quote_exchange(sql: str, costs: Mapping[str, Amount | None]) -> Exchange:
    """A request for a quote."""
    return Exchange("POST", "/v1/quotes", {"sql": sql, **_given(costs)})


def answer_exchange(sql: str, costs: Mapping[str, Amount | None], key: str | None) -> Exchange:
    """A request for an answer."""
    return Exchange("POST", "/v1/answers", {"sql": sql, **_given(costs)}, key or secrets.token_urlsafe(18))


def derive_exchange(sql: str, estimate: bool = False) -> Exchange:
    """A request for an answer that follows from what was released before, which pays nothing."""
    body = {"sql": sql, "derive": True, **({"estimate": True} if estimate else {})}
    return Exchange("POST", "/v1/answers", body)


def batch_exchange(
    statements: Sequence[str | Mapping[str, Any]],
    costs: Mapping[str, Amounts],
    budget: Amount | None,
    key: str | None,
    strategy: str = "independent",
    estimate: bool = False,
) -> Exchange:
    """A request for the answers of a batch, with a cost for all statements or for each, or a budget for all."""
    body = _batch(statements, costs, budget, strategy)
    if estimate:
        body["estimate"] = True
    return Exchange("POST", "/v1/batches", body, key or secrets.token_urlsafe(18))


def batch_quote_exchange(
    statements: Sequence[str | Mapping[str, Any]],
    costs: Mapping[str, Amounts],
    budget: Amount | None,
    strategy: str = "independent",
) -> Exchange:
    """A request for what a batch would cost."""
    return Exchange("POST", "/v1/batches/quotes", _batch(statements, costs, budget, strategy))


def _batch(
    statements: Sequence[str | Mapping[str, Any]],
    costs: Mapping[str, Amounts],
    budget: Amount | None,
    strategy: str,
) -> dict[str, Any]:
    if isinstance(statements, (str, Mapping)) or not isinstance(statements, Sequence):
        raise ArgumentError("a batch is a list of statements; ask takes a single one")
    body: dict[str, Any] = {"statements": [_statement(one) for one in statements]}
    for name, given in costs.items():
        if given is None:
            continue
        each = [given] * len(statements) if isinstance(given, (str, int, float, Decimal)) else list(given)
        if len(each) != len(statements):
            raise ArgumentError(f"{len(each):,} costs were given for {len(statements):,} statements")
        for statement, amount in zip(body["statements"], each, strict=True):
            statement[name] = _cost(amount)
    if budget is not None:
        budget_down(budget)
        body["budget"] = _plain(budget)
    if strategy != "independent":
        body["strategy"] = strategy
    return body


def _statement(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """A statement of a batch: SQL, or SQL with its cost such as ``{"sql": …, "epsilon": "0.1"}``."""
    if isinstance(given, str):
        return {"sql": given}
    if not isinstance(given, Mapping) or "sql" not in given:
        raise ArgumentError('a statement of a batch is SQL, or {"sql": …, "epsilon": …}')
    return {name: value if name == "sql" else _cost(value) for name, value in given.items()}


def look_exchange(path: str, **query: Any) -> Exchange:
    """A request that only looks."""
    return Exchange("GET", path, query={name: value for name, value in query.items() if value is not None})


def address_of(url: str) -> str:
    """The address of a server, if it has a scheme; a host and a port alone would be taken for something else."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        example = f"http://{url}" if isinstance(url, str) and url and "://" not in url else "http://127.0.0.1:8000"
        raise ArgumentError(f"the address of a server begins with http:// or https://, as {shown(example)} does")
    return url


def headers_for(key: str) -> dict[str, str]:
    """The headers of every request with a key."""
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key.strip():
        raise ArgumentError("a key is a string such as pc_…, as parcomp keys add printed it")
    return {"Authorization": f"Bearer {key.strip()}"}


def read_key(given: str | None = None) -> str:
    """The key that is given, or that the environment has in PARCOMP_KEY, or in the file that PARCOMP_KEY_FILE names."""
    if given:
        return given
    if key := os.environ.get("PARCOMP_KEY"):
        return key
    if file := os.environ.get("PARCOMP_KEY_FILE"):
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ArgumentError(f"the key cannot be read from {file}, which PARCOMP_KEY_FILE names") from None
    raise ArgumentError("there is no key; put it into PARCOMP_KEY, or its file's name into PARCOMP_KEY_FILE")


def resent_after(response: httpx.Response | None, attempt: int) -> float | None:
    """Seconds until a request is sent again, after its response or the loss of the connection; None for never."""
    if attempt >= ATTEMPTS or (response is not None and response.status_code not in _AGAIN):
        return None
    # Spread, so that clients that were turned away together do not come back together.
    wait = min(0.1 * 2.0**attempt, _LONGEST_WAIT) * (0.5 + random.random())
    stated = "" if response is None else str(response.headers.get("Retry-After", ""))
    return min(max(wait, float(stated) if stated.isdecimal() else 0.0), _LONGEST_WAIT)


def result_of(response: httpx.Response) -> Any:
    """What a response holds, or the error that it stands for."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if response.status_code == 200 and document is not None:
        return document
    raise _error(response.status_code, document if isinstance(document, dict) else {})


def _error(status: int, problem: Mapping[str, Any]) -> Exception:
    detail, kind = str(problem.get("detail", "")), str(problem.get("type", "")).rpartition(":")[2]
    statement = problem.get("statement")
    position = statement if isinstance(statement, int) else None
    if kind == "refused" and "remaining" in problem:
        return RefusedError(
            detail,
            cost=problem.get("cost", 0),
            remaining=problem["remaining"],
            limit=str(problem.get("limit", "budget")),
            left=problem.get("left"),
            position=position,
        )
    if kind == "sql" and "line" in problem:
        line, column = int(problem["line"]), int(problem["column"])
        place, stated, message = detail.partition(f"line {line}, column {column}: ")
        return SqlError(
            message if stated else detail,
            line=line,
            column=column,
            place=place.removesuffix(", ") if stated else "",
            position=position,
        )
    if kind == "underivable":
        return UnderivableError(detail)
    if status == 409:
        return IdempotencyError(detail)
    return ServiceError(detail or f"the server answered with status {status}", status=status, kind=kind)


def _given(costs: Mapping[str, Amount | None]) -> dict[str, Any]:
    return {name: _cost(amount) for name, amount in costs.items() if amount is not None}


def _cost(amount: Amount) -> str | int | float:
    """A cost as it is sent; one that no custodian would take is complained of as they do."""
    cost_up(amount)
    return _plain(amount)


def _plain(amount: Amount) -> str | int | float:
    return str(amount) if isinstance(amount, Decimal) else amount

"""Errors as ``application/problem+json`` (RFC 9457): one place where an exception becomes a status and a sentence.

A refusal and an error charge nothing, but for those that say so.  What a problem says follows from the request, the
settings and the ledger; the reasons of a database that does not work are for the log, not for whoever asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from parcomp.errors import (
    DataError,
    DeadlineError,
    IdempotencyError,
    LedgerError,
    ParcompError,
    RefusedError,
    SqlError,
    UnderivableError,
    one_line,
)

__all__ = ["MEDIA_TYPE", "Problem", "problem_of", "problem_response"]

MEDIA_TYPE = "application/problem+json"
_TYPES = "urn:parcomp:problem:"
_LONGEST = 2_000
"""Characters of a detail: it may quote what was asked."""

_TITLES: Mapping[str, str] = {
    "body": "The body of the request is not as it should be",
    "busy": "Too much is asked at once",
    "conflict": "The key stands for another request",
    "deadline": "The request took too long",
    "internal": "Something is wrong here",
    "method": "This method is not offered here",
    "missing": "There is nothing here",
    "rate": "Too many requests",
    "refused": "Budget or quota do not bear this",
    "request": "The request cannot be answered",
    "role": "The key does not allow this",
    "size": "The body of the request is too large",
    "sql": "The SQL cannot be answered",
    "unauthorized": "A valid key is needed",
    "underivable": "This does not follow from what was released",
    "unavailable": "The ledger or the table cannot be used at the moment",
}


class Problem(Exception):  # noqa: N818  a problem is what RFC 9457 calls it
    """What is sent in place of an answer; ``kind`` ends its type, ``more`` are further members."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.status = status
        self.kind = kind
        self.detail = one_line(detail)[:_LONGEST]
        self.headers = dict(headers or {})
        self.more = more
        super().__init__(self.detail)

    def as_json(self) -> dict[str, Any]:
        """The members of the problem."""
        fixed = {
            "type": _TYPES + self.kind,
            "title": _TITLES[self.kind],
            "status": self.status,
            "detail": self.detail,
        }
        return fixed | self.more


def problem_response(problem: Problem) -> Response:
    """The problem as it is sent."""
    body = json.dumps(problem.as_json(), ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)


def problem_of(error: Exception, *, pays: bool = True) -> Problem:
    """What an exception is to whoever asked; ``pays`` says whether what was asked may be charged."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RefusedError):
        facts = {name: getattr(error, name) for name in ("remaining", "cost", "limit", "left")}
        return Problem(403, "refused", str(error), **facts, **_position(error))
    if isinstance(error, SqlError):
        return Problem(400, "sql", str(error), line=error.line, column=error.column, **_position(error))
    if isinstance(error, DeadlineError):
        return Problem(503, "deadline", str(error), headers={"Retry-After": "5"})
    if isinstance(error, IdempotencyError):
        return Problem(409, "conflict", str(error))
    if isinstance(error, UnderivableError):
        return Problem(409, "underivable", str(error))
    if isinstance(error, (LedgerError, DataError)):
        detail = "the ledger or the table cannot be used at the moment; send the same request again, with its key"
        return Problem(503, "unavailable", detail, headers={"Retry-After": "2"})
    if isinstance(error, ParcompError):
        return Problem(400, "request", str(error))
    if isinstance(error, RequestValidationError):
        # What is not in the body is in the query string, or in a header.
        in_body = all(fault.get("loc", ("body",))[:1] == ("body",) for fault in error.errors())
        return Problem(400, "body" if in_body else "request", _first_fault(error))
    if isinstance(error, TimeoutError):
        detail = (
            "the request took longer than it may; it may still be charged, and the same request with the same "
            "Idempotency-Key gets its answer"
            if pays
            else "the request took longer than it may; it charges nothing: send it again later, or ask for less"
        )
        return Problem(503, "deadline", detail, headers={"Retry-After": "5"})
    if isinstance(error, HTTPException):
        return _http_problem(error)
    return Problem(500, "internal", "an error that nobody foresaw was logged; nothing was released")


def _position(error: RefusedError | SqlError) -> dict[str, Any]:
    """Which statement of a batch it is, if it is one of several."""
    return {} if error.position is None else {"statement": error.position}


def _http_problem(error: HTTPException) -> Problem:
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return Problem(404, "missing", "there is nothing at this path; GET /openapi.json lists what there is")
    if error.status_code == 405:
        allowed = headers.get("Allow", headers.get("allow", ""))
        return Problem(405, "method", f"this path takes {allowed or 'other methods'}", headers=headers)
    status = error.status_code if 400 <= error.status_code < 500 and error.status_code != 422 else 400
    return Problem(status, "request", "the request is not well formed", headers=headers)


def _first_fault(error: RequestValidationError) -> str:
    """Where the first fault is and what is wrong with it, without what was sent."""
    faults = error.errors()
    if not faults:
        return "the request is not well formed"
    first = faults[0]
    if first.get("type") == "json_invalid":
        return "the body is not valid JSON"
    where, *inside = first.get("loc") or ("body",)
    place = ".".join(map(str, inside))
    place = f"the parameter {place} of the query" if where == "query" else place
    said = str(first.get("msg", "is not well formed")).removeprefix("Value error, ")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{place}: {said}{more}" if place else f"{said}{more}"

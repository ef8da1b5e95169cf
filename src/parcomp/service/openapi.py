"""The OpenAPI document: what FastAPI writes of the routes, with problems as they are sent and without 422."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from parcomp.service.bodies import ProblemBody
from parcomp.service.problems import MEDIA_TYPE

__all__ = ["describe", "problems"]

_MEANINGS = {
    400: "The request, or its SQL, is not well formed",
    401: "No key, a wrong one or a revoked one",
    403: "Refused by budget or quota (type ends in refused), or by the role of the key (in role)",
    409: "The Idempotency-Key stands for another request",
    413: "The body is too large",
    429: "Too many requests",
    503: "Not at the moment; Retry-After says when",
}
_WAIT = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds to wait."}}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route answers with, for its ``responses``."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
            **({"headers": _WAIT} if status in (429, 503) else {}),
        }
        for status in statuses
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["ProblemBody"] = ProblemBody.model_json_schema()
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            if path.startswith("/v1/"):
                operation["security"] = [{"key": []}]
    app.openapi_schema = document
    return document

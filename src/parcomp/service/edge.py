"""The outermost layer of every request: a number for it, security headers, a line in the log, and no traceback."""

from __future__ import annotations

import secrets
import time
import traceback
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parcomp.service.problems import problem_of, problem_response
from parcomp.service.watch import Metrics, logger

__all__ = ["Edge"]

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})


class Edge:
    """Wraps the application; what it logs and counts is what :mod:`parcomp.service.watch` allows."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {}).update(request_id=request_id, began=began)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = request_id
            await send(message)

        self._metrics.pending.inc()
        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            self._tell(error, request_id)
            if not status:
                await problem_response(problem_of(error))(scope, receive, sending)
        finally:
            self._metrics.pending.dec()
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "") or "unknown"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        state = scope.get("state", {})
        kind = state.get("problem", "")
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if kind:
            self._metrics.problems.labels(kind).inc()
        logger.info(
            "request",
            id=state.get("request_id"),
            method=method,
            route=route,
            status=status,
            seconds=round(seconds, 4),
            name=state.get("name"),
            problem=kind or None,
        )

    def _tell(self, error: Exception, request_id: str) -> None:
        # Messages of an unforeseen error may quote what was asked, so only its kind and place are told.
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{frame.filename.rpartition('parcomp/')[2]}:{frame.lineno}" for frame in frames[-8:]]
        logger.error("unforeseen", id=request_id, error=type(error).__name__, places=places)

"""What stands before every route of the API: key, role, rate, size, deadline, and when an answer may be sent.

All of it is looked at after the route is found and before the body is read: a path that is not there is 404 for
everybody, and without a key nothing of a request is parsed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from fastapi.routing import APIRoute
from limits import RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from parcomp.ledger import AccessKey, Role
from parcomp.service.desk import Desk, Viewer
from parcomp.service.pace import Pace, Pacing
from parcomp.service.problems import Problem, problem_of, problem_response
from parcomp.service.session import TOKEN_HEADER, presented_key

__all__ = [
    "AskingRoute",
    "CustodianRoute",
    "Limits",
    "LookingRoute",
    "check_headers",
    "check_json",
    "desk_of",
    "holder_of",
    "read_body",
]

_SENT_ONCE = ("authorization", "content-type", "idempotency-key", TOKEN_HEADER.lower())
"""Headers of which a second one would leave open which of them counts."""

_GUESSES_A_MINUTE = 100
"""Wrong keys from one address in a minute, at all workers of a server, before it is told to wait."""


class Limits:
    """How often a key and an address may come, in one worker of so many.

    Wrong keys are shared out among the workers: whoever guesses may come to any of them, and whoever has a key is not
    held up.  Right ones are counted by each worker, as a client with one connection is served by one.
    """

    def __init__(self, rate: int, workers: int = 1) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._rate = RateLimitItemPerSecond(rate)
        self._guesses = RateLimitItemPerMinute(max(_GUESSES_A_MINUTE // workers, 1))

    def check_rate(self, holder: AccessKey) -> None:
        """Raise if the key came too often."""
        if not self._limiter.hit(self._rate, "key", holder.digest):
            raise Problem(
                429, "rate", f"at most {self._rate.amount} requests a second are taken with one key",
                headers={"Retry-After": "1"},
            )  # fmt: skip

    def wrong_key(self, address: str) -> Problem:
        """What whoever presents a wrong key is told: after many of them to wait."""
        if self._limiter.hit(self._guesses, "guess", address):
            return _unauthorized("the key is not known, or was revoked")
        return Problem(
            429, "rate", "too many wrong keys came from this address; wait a minute", headers={"Retry-After": "60"}
        )


def desk_of(request: Request) -> Desk:
    """What the requests of this worker share."""
    desk: Desk = request.app.state.desk
    return desk


def holder_of(request: Request) -> AccessKey:
    """Whose request it is."""
    holder: AccessKey = request.state.holder
    return holder


class LookingRoute(APIRoute):
    """A route for every key."""

    delayed: ClassVar[bool] = False
    """Whether responses wait for ``answer_delay``."""

    def admit(self, desk: Desk, holder: AccessKey) -> None:
        """Raise if the route is not for this key."""

    @property
    def _pays(self) -> bool:
        """Whether a request may be charged: then it takes a key, to be sent again with."""
        return any(header.alias == "Idempotency-Key" for header in self.dependant.header_params)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the guard."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            desk = desk_of(request)
            pace = Pace(request.state.began, desk.settings.serving.delay_seconds if self.delayed else 0.0)
            Pacing.set(pace)
            try:
                try:
                    async with asyncio.timeout(desk.settings.serving.deadline_seconds):
                        await self._pass(request, desk)
                        response = await inner(request)
                except Exception as error:  # every error of a request ends here, as a problem
                    problem = problem_of(error, pays=self._pays)
                    if problem.status == 500:
                        await pace.wait()
                        raise
                    request.state.problem = problem.kind
                    response = problem_response(problem)
                await pace.wait()
            finally:
                pace.end()
            return response

        return handle

    async def _pass(self, request: Request, desk: Desk) -> None:
        limits: Limits = request.app.state.limits
        check_headers(request)
        key = presented_key(request)
        if key is None:
            raise _unauthorized("send a key: Authorization: Bearer KEY")
        holder = await desk.find(key)
        if holder is None:
            raise limits.wrong_key(request.client.host if request.client else "")
        request.state.holder = holder
        request.state.name = holder.name
        Viewer.set(holder.role)
        limits.check_rate(holder)
        self.admit(desk, holder)
        known = {parameter.alias for parameter in self.dependant.query_params}
        if set(request.query_params) - known:
            listed = ", ".join(sorted(known)) or "none"
            raise Problem(
                400, "request", f"the query string has a parameter that this path does not take; it takes: {listed}"
            )
        if len(request.query_params.multi_items()) > len(request.query_params):
            raise Problem(400, "request", "the query string has a parameter twice")
        await read_body(request, desk.settings.serving.body_bytes)
        if request.method == "POST":
            check_json(request)


class AskingRoute(LookingRoute):
    """A route for whoever may ask: analysts, and custodians whom the settings declare as one."""

    delayed = True

    def admit(self, desk: Desk, holder: AccessKey) -> None:
        """Raise if the key is of nobody whom the settings declare as an analyst."""
        quotas = desk.settings.quotas
        if holder.role == Role.CUSTODIAN and holder.name not in quotas:
            raise Problem(
                403,
                "role",
                "a custodian's key asks nothing, unless the settings declare an analyst of its name; use an "
                "analyst's key",
            )
        if quotas and holder.name not in quotas:
            raise Problem(403, "role", "the settings declare no analyst of this key's name")


class CustodianRoute(LookingRoute):
    """A route for custodians."""

    def admit(self, desk: Desk, holder: AccessKey) -> None:  # noqa: ARG002  the role alone decides
        """Raise if the key is an analyst's."""
        if holder.role != Role.CUSTODIAN:
            raise Problem(403, "role", "this is for custodians; use a custodian's key")


def _unauthorized(detail: str) -> Problem:
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="parcomp"'})


def check_headers(request: Request) -> None:
    """Raise if a header that says who asks, or what, is there twice."""
    for name in _SENT_ONCE:
        if len(request.headers.getlist(name)) > 1:
            raise Problem(400, "request", f"the request has the header {name.title()} twice")


def check_json(request: Request) -> None:
    """Read the body as JSON, for the handler to find, and raise unless it is said to be that.

    So nothing that a form of another site can send is taken; nor is an object with two members of a name, of which
    readers take the first or the last as they like.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(400, "body", "the body is JSON; send Content-Type: application/json")
    # Without a body the handler says what is missing.
    if request._body:
        try:
            request._json = json.loads(request._body, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            raise Problem(400, "body", "the body is not valid JSON") from None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise Problem(400, "body", "an object of the body has a member twice")
    return found


async def read_body(request: Request, most: int) -> None:
    """Read the body, if it is not too large, for the handler to find."""
    stated = request.headers.get("content-length", "0")
    too_large = Problem(413, "size", f"a body has at most {most:,} bytes")
    if stated.isdecimal() and int(stated[:20]) > most:
        raise too_large
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise too_large
    except ClientDisconnect:
        raise Problem(400, "request", "the request ended before its body did") from None
    request._body = bytes(body)

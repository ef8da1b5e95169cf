"""Signing in and out, and who is signed in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import parcomp
from parcomp.custodian import Settings
from parcomp.ledger import AccessKey, Role
from parcomp.service.desk import Desk
from parcomp.service.guard import Limits, LookingRoute, check_headers, check_json, desk_of, holder_of, read_body
from parcomp.service.session import COOKIE, LONGEST_KEY, SECONDS, split_key

__all__ = ["router", "signing"]

_LARGEST = 4096


class SigningRoute(LookingRoute):
    """A route for whoever has no session yet: the key is in the body, as JSON, which no form of another site sends."""

    async def _pass(self, request: Request, desk: Desk) -> None:  # noqa: ARG002  there is no key to look up yet
        check_headers(request)
        await read_body(request, _LARGEST)
        check_json(request)


class SigningBody(BaseModel):
    """A key, to sign in with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: Annotated[str, Field(min_length=1, max_length=LONGEST_KEY, pattern=r"^[\x21-\x7e]+$")]


signing = APIRouter(prefix="/console", route_class=SigningRoute, include_in_schema=False)
router = APIRouter(prefix="/console", route_class=LookingRoute, include_in_schema=False)


@signing.post("/session")
async def sign_in(request: Request, body: SigningBody) -> Response:
    """Take a key; the cookie is one half of it, the token in the body the other."""
    desk = desk_of(request)
    holder = await desk.find(body.key)
    if holder is None:
        limits: Limits = request.app.state.limits
        raise limits.wrong_key(request.client.host if request.client else "")
    request.state.name = holder.name
    cookie, token = split_key(body.key)
    response = JSONResponse({"token": token, **_who(desk.settings, holder)})
    response.set_cookie(COOKIE, cookie, max_age=SECONDS, **_attributes(request))
    return response


@router.get("/session")
async def who(request: Request) -> Response:
    """Who is signed in, and what the pages must know of the dataset."""
    return JSONResponse(_who(desk_of(request).settings, holder_of(request)))


@router.delete("/session")
async def sign_out(request: Request) -> Response:
    """Forget the cookie; the page forgets the token, without which the cookie is nothing."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, **_attributes(request))
    return response


def _attributes(request: Request) -> dict[str, Any]:
    # Behind a proxy with TLS, X-Forwarded-Proto says so.
    return {"httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}


def _who(settings: Settings, holder: AccessKey) -> dict[str, Any]:
    measure = settings.measure
    return {
        "name": holder.name,
        "role": str(holder.role),
        "asks": holder.name in settings.quotas if settings.quotas else holder.role == Role.ANALYST,
        "dataset": settings.name,
        "version": settings.version,
        "table": settings.domain.name or settings.name,
        "measure": str(measure.name),
        "parameter": measure.parameter,
        "symbol": measure.symbol,
        "neighbours": str(settings.neighbours),
        "rows_per_person": settings.rows_per_person,
        "group_factor": measure.group_factor(settings.rows_per_person),
        # A cost is for one row, for which the budget bears less where a person may have several.
        "row_budget": measure.affordable_down(settings.row_budget),
        "bounded": bool(settings.person),
        # Who else asks is not for an analyst to know.
        "analysts": [name for name in settings.quotas if holder.role == Role.CUSTODIAN or name == holder.name],
        "software": parcomp.__version__,
    }

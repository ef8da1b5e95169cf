"""The domain, the budget, the ledger, its graph and the budget map: what there is to look at."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from parcomp.custodian import Custodian
from parcomp.custodian.budget_map import MOST_BANDS
from parcomp.ledger import AccessKey, Role
from parcomp.service.bodies import BudgetBody, DomainBody, GraphBody, LedgerBody, MapBody
from parcomp.service.guard import CustodianRoute, LookingRoute, desk_of, holder_of
from parcomp.service.openapi import problems

__all__ = ["custodians", "router"]

router = APIRouter(prefix="/v1", route_class=LookingRoute, tags=["looking"])
custodians = APIRouter(prefix="/v1", route_class=CustodianRoute, tags=["looking"])

_PAGE = 10_000
_NODES = 500
_MOST_NODES = 2_000
_OF_THE_CHAIN = ("previous", "digest")
"""What analysts do not see: a digest speaks for all charges before it, and another's can be guessed and tried on it."""


@router.get("/domain", response_model=None, responses={200: {"model": DomainBody}, **problems(401, 429, 503)})
async def domain(request: Request) -> Response:
    """The attributes and their values, as in a domain file, and which of them are complete."""
    return JSONResponse(desk_of(request).settings.describe_domain())


@router.get("/budget", response_model=None, responses={200: {"model": BudgetBody}, **problems(401, 429, 503)})
async def budget(request: Request) -> Response:
    """What was spent of the budget; an analyst sees the own share beside it, a custodian all."""
    holder = holder_of(request)
    return JSONResponse(await desk_of(request).look(_budget, holder))


@router.get("/ledger", response_model=None, responses={200: {"model": LedgerBody}, **problems(400, 401, 429, 503)})
async def ledger(
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**53, description="Charges with higher numbers.")] = 0,
    limit: Annotated[int, Query(ge=1, le=_PAGE, description="How many at most.")] = _PAGE,
) -> Response:
    """The charges, in order; an analyst's own, a custodian sees all."""
    return JSONResponse(await desk_of(request).view(_ledger, holder_of(request), after, limit))


@router.get("/graph", response_model=None, responses={200: {"model": GraphBody}, **problems(400, 401, 429, 503)})
async def graph(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=_MOST_NODES, description="How many charges are shown at most.")] = _NODES,
) -> Response:
    """Which charges can meet in one row; the latest ones, and the members of the maximum overlap."""
    return JSONResponse(await desk_of(request).view(_graph, holder_of(request), limit))


@custodians.get(
    "/budget/map", response_model=None, responses={200: {"model": MapBody}, **problems(400, 401, 403, 429, 503)}
)
async def map_of_budget(
    request: Request,
    x: Annotated[str, Query(description="An attribute.", min_length=1, max_length=1000)],
    y: Annotated[str, Query(description="Another attribute.", min_length=1, max_length=1000)],
    bands: Annotated[int, Query(ge=1, le=MOST_BANDS, description="How many bands of each at most.")] = 40,
) -> Response:
    """The most that was spent on any row, for each cell of two attributes; exact or a certified upper bound."""
    return JSONResponse(await desk_of(request).view(_map, x, y, bands))


def _budget(custodian: Custodian, holder: AccessKey) -> dict[str, Any]:
    quotas = custodian.settings.quotas
    if holder.role == Role.CUSTODIAN or (quotas and holder.name not in quotas):
        balance = custodian.balance()
        shown = balance if holder.role == Role.CUSTODIAN else replace(balance, analysts={})
    else:
        shown = custodian.balance(holder.name)
    return shown.document()


def _ledger(custodian: Custodian, holder: AccessKey, after: int, limit: int) -> dict[str, Any]:
    seen = [
        charge
        for charge in custodian.charges()
        if charge.number > after and (holder.role == Role.CUSTODIAN or charge.analyst == holder.name)
    ]
    up = custodian.settings.measure.parameter_up
    hidden = () if holder.role == Role.CUSTODIAN else _OF_THE_CHAIN
    listed = [
        {
            name: told
            for name, told in {"number": one.number, "cost": up(one.units), **asdict(one)}.items()
            if name not in hidden
        }
        for one in seen[:limit]
    ]
    return {"charges": listed, "next": listed[-1]["number"] if len(seen) > limit else None}


def _graph(custodian: Custodian, holder: AccessKey, limit: int) -> dict[str, Any]:
    seen = custodian.overlook.graph(limit, None if holder.role == Role.CUSTODIAN else holder.name)
    return seen.as_json(custodian.settings)


def _map(custodian: Custodian, x: str, y: str, bands: int) -> dict[str, Any]:
    return custodian.overlook.map(x, y, bands).as_json(custodian.settings)

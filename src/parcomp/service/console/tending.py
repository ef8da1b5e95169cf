"""What custodians see and do beside the API: spending over time, charges in SQL, regions, keys and audits."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from parcomp.custodian import Access, Custodian, Settings, budget_map, charge_graph
from parcomp.custodian.accountant import Expense
from parcomp.errors import ArgumentError
from parcomp.ledger import AccessKey, Charge, MarkFile, Role, audit_charges, open_ledger, open_marked_ledger, utc_now
from parcomp.model import Query as Region
from parcomp.model import read_predicate
from parcomp.service.console.course import Step, course_of, left_on_rows, loss_found, reason_of
from parcomp.service.console.wording import sql_of
from parcomp.service.guard import CustodianRoute, LookingRoute, desk_of, holder_of
from parcomp.service.problems import Problem
from parcomp.service.watch import Metrics

__all__ = ["custodians", "router"]

router = APIRouter(prefix="/console", route_class=LookingRoute, include_in_schema=False)
custodians = APIRouter(prefix="/console", route_class=CustodianRoute, include_in_schema=False)

_POINTS = 400
"""Points of the line of spending: as many as a screen can tell apart."""

_MOST_LISTED = 1_000
_MOST_MAPS = 8
_SMALL_BANDS = 20
_MOST_NODES = 500
_MOST_MEMBERS = 100
_MOST_COVERING = 100
_Text = Annotated[str, Query(max_length=200)]
_Moment = Annotated[str, Query(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,12}Z)?$")]
"""A time as charges have it, or nothing."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RegionBody(_Strict):
    """Values of some attributes, as in a workload file."""

    where: dict[str, Any]


class KeyBody(_Strict):
    """A key to make."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    role: Annotated[str, Field(pattern="^(analyst|custodian)$")]


class RevokedBody(_Strict):
    """Keys to revoke: all in a name, or all but the latest."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    older: bool = False


@router.get("/charges")
async def charges(
    request: Request,
    analyst: _Text = "",
    unnamed: bool = False,
    text: _Text = "",
    before: Annotated[int, Query(ge=0, le=2**53)] = 2**53,
    limit: Annotated[int, Query(ge=1, le=_MOST_LISTED)] = 50,
) -> Response:
    """Charges in SQL, the latest first; an analyst's own, a custodian sees all."""
    holder = holder_of(request)
    return JSONResponse(await desk_of(request).view(_charges, holder, analyst, unnamed, text, before, limit))


@router.get("/graph")
async def graph(
    request: Request,
    analyst: _Text = "",
    unnamed: bool = False,
    since: _Moment = "",
    until: _Moment = "",
    limit: Annotated[int, Query(ge=1, le=_MOST_NODES)] = 500,
) -> Response:
    """The graph of the charges by someone and between two moments, as ``/v1/graph`` has it of all."""
    holder = holder_of(request)
    return JSONResponse(await desk_of(request).view(_graph, holder, analyst, unnamed, since, until, limit))


@router.get("/charges/{number}")
async def charge(request: Request, number: int) -> Response:
    """One charge, with its place in the chain."""
    return JSONResponse(await desk_of(request).view(_charge, holder_of(request), number))


@custodians.get("/charges/{number}/reason")
async def reason(request: Request, number: int) -> Response:
    """Why a charge added what it added: what its rows had paid before it, and for what."""
    return JSONResponse(await desk_of(request).view(_reason, number))


@custodians.get("/overview")
async def overview(request: Request) -> Response:
    """Spending over time, who has asked how often, and the head of the ledger."""
    metrics: Metrics = request.app.state.metrics
    found = await desk_of(request).view(_overview)
    return JSONResponse({**found, "refusals": metrics.counted("refused")})


@custodians.get("/bracket")
async def bracket(request: Request) -> Response:
    """Between what the loss of all charges is known to be, for a person as the balance has it."""
    return JSONResponse(await desk_of(request).view(_bracket))


@custodians.get("/maps")
async def maps(
    request: Request,
    x: Annotated[str, Query(min_length=1, max_length=1000)],
    y: Annotated[str, Query(min_length=1, max_length=1000)],
    z: Annotated[str, Query(min_length=1, max_length=1000)],
) -> Response:
    """The budget map of two attributes, once for each value of a third."""
    return JSONResponse(await desk_of(request).view(_maps, x, y, z))


@custodians.post("/region")
async def region(request: Request, body: RegionBody) -> Response:
    """What was spent on rows with given values, by which charges, and what is left there."""
    return JSONResponse(await desk_of(request).view(_region, body.where))


@custodians.get("/keys")
async def keys(request: Request) -> Response:
    """The keys, without what would let anyone in."""
    return JSONResponse({"keys": await desk_of(request).view(_keys)})


@custodians.post("/keys")
async def add_key(request: Request, body: KeyBody) -> Response:
    """Make a key; it is told here and nowhere else."""
    return JSONResponse(await desk_of(request).view(_add_key, body.name, body.role))


@custodians.post("/keys/revoked")
async def revoke_keys(request: Request, body: RevokedBody) -> Response:
    """Revoke the keys in a name."""
    return JSONResponse({"revoked": await desk_of(request).view(_revoke_keys, body.name, body.older)})


@custodians.post("/audits")
async def audit(request: Request) -> Response:
    """Recompute the chain of charges and their loss, by an independent pass."""
    return JSONResponse(await desk_of(request).view(_audit))


def _is_visible(holder: AccessKey, charge: Charge) -> bool:
    return holder.role == Role.CUSTODIAN or charge.analyst == holder.name


def _visible(custodian: Custodian, holder: AccessKey) -> list[Step]:
    return [one for one in course_of(custodian) if _is_visible(holder, one.charge)]


def _charges(
    custodian: Custodian, holder: AccessKey, analyst: str, unnamed: bool, text: str, before: int, limit: int
) -> dict[str, Any]:
    chosen = [
        one
        for one in reversed(_visible(custodian, holder))
        if (one.charge.analyst == analyst if analyst or unnamed else True)
    ]
    if text:
        sought = text.casefold()
        chosen = [one for one in chosen if sought in _sql(custodian, one.charge).casefold()]
    earlier = [one for one in chosen if one.charge.number < before]
    found = [_listed(custodian, one) for one in earlier[:limit]]
    return {"charges": found, "total": len(chosen), "before": found[-1]["number"] if len(earlier) > limit else 0}


def _listed(custodian: Custodian, step: Step) -> dict[str, Any]:
    up, charge = custodian.settings.measure.parameter_up, step.charge
    return {
        "number": charge.number,
        "time": charge.time,
        "analyst": charge.analyst,
        "sql": _sql(custodian, charge),
        "cost": up(charge.units),
        "spent": up(step.loss),
        "batch": charge.batch,
    }


def _charge(custodian: Custodian, holder: AccessKey, number: int) -> dict[str, Any]:
    visible = {one.charge.number: one for one in _visible(custodian, holder)}
    step = visible.get(number)
    if step is None:
        raise Problem(404, "missing", "there is no charge of this number that this key may see")
    one = step.charge
    return {
        **_listed(custodian, step),
        # A bound that was proven anew may be below the one before; what a charge adds is never less than nothing.
        "adds": custodian.settings.measure.growth_up(step.former, max(step.loss, step.former)),
        "statement": one.statement,
        "where": one.where,
        # As texts: not every number of a ledger is one that JavaScript holds exactly.
        "units": str(one.units),
        "upper": str(one.upper),
        # They speak for all charges before it, and those of others can be guessed and tried on them.
        "previous": one.previous if holder.role == Role.CUSTODIAN else None,
        "digest": one.digest if holder.role == Role.CUSTODIAN else None,
    }


def _reason(custodian: Custodian, number: int) -> dict[str, Any]:
    steps = {one.charge.number: one for one in course_of(custodian)}
    if number not in steps:
        raise Problem(404, "missing", "there is no charge of this number")
    found = reason_of(custodian, number)
    return {**found, "charges": [_listed(custodian, steps[one]) for one in found["members"][-_MOST_MEMBERS:]]}


def _graph(
    custodian: Custodian, holder: AccessKey, analyst: str, unnamed: bool, since: str, until: str, limit: int
) -> dict[str, Any]:
    seen = [(charge, expense) for charge, expense in custodian.spending() if _is_visible(holder, charge)]
    chosen = [
        (charge, expense)
        for charge, expense in seen
        if (charge.analyst == analyst if analyst or unnamed else True)
        and charge.time >= since
        and (not until or charge.time < until)
    ]
    analysts = sorted({charge.analyst for charge, _ in seen})
    return {
        **charge_graph(custodian.settings, chosen, limit).as_json(custodian.settings),
        "all": len(seen),
        "analysts": analysts,
    }


def _sql(custodian: Custodian, charge: Charge) -> str:
    try:
        return sql_of(custodian.settings.domain, charge.statement)
    except (KeyError, TypeError, ValueError):
        # Asked under an earlier domain, or damaged: it is shown as it stands.
        return charge.statement


def _overview(custodian: Custodian) -> dict[str, Any]:
    up = custodian.settings.measure.parameter_up
    made, entries = course_of(custodian), custodian.charges()
    today = utc_now()[:10]
    step = max(len(made) // _POINTS, 1)
    points = [
        {
            "time": one.charge.time,
            "number": one.charge.number,
            "charges": place,
            "spent": up(one.loss),
            "sequential": up(one.sequential),
        }
        for place, one in enumerate(made, 1)
        if place % step == 0 or place == len(made)
    ]
    # The chain holds loads of the table as well, and its head may be one.
    last = entries[-1] if entries else None
    return {
        "points": points,
        "today": sum(one.charge.time.startswith(today) for one in made),
        "charged": Counter(one.charge.analyst for one in made),
        "head": _beginning(custodian) if last is None else last.digest,
        "number": 0 if last is None else last.number,
        "loads": sum(one.is_load for one in entries),
        "loaded_last": last is not None and last.is_load,
    }


def _bracket(custodian: Custodian) -> dict[str, Any]:
    settings = custodian.settings
    found = loss_found(custodian)
    balance = custodian.balance()
    # What the books have proven may be above what a longer search proves: what they say is what counts.
    spent, lower = balance.spent, min(settings.measure.parameter_down(found), balance.spent)
    exact = settings.measure.parameter_up(found) >= spent
    return {"lower": spent if exact else lower, "spent": spent, "exact": exact}


def _beginning(custodian: Custodian) -> str:
    """What the first entry will follow; the ledger knows the rows that it was made with, settings do not."""
    settings = custodian.settings
    with closing(open_ledger(settings.ledger, settings.binding)) as ledger:
        return ledger.binding.digest


def _maps(custodian: Custodian, x: str, y: str, z: str) -> dict[str, Any]:
    settings = custodian.settings
    attribute = settings.domain.attributes.get(z)
    if attribute is None or z in (x, y) or attribute.size > _MOST_MAPS:
        raise ArgumentError(f"small maps are by a third attribute of at most {_MOST_MAPS} values")
    values = [attribute.value(code) for code in range(attribute.size)]
    drawn = (budget_map(settings, _within(custodian, {z: [value]}), x, y, _SMALL_BANDS) for value in values)
    return {
        "z": z,
        "maps": [{"value": value, **one.as_json(settings)} for value, one in zip(values, drawn, strict=True)],
    }


def _within(custodian: Custodian, where: dict[str, Any]) -> list[tuple[Charge, Expense]]:
    """The charges that cover rows with given values, restricted to these rows."""
    domain = custodian.settings.domain
    terms = [(domain.index(name), read_predicate(domain.attributes[name], one)) for name, one in where.items()]
    rows = Region(domain, tuple(sorted(terms, key=lambda term: term[0])))
    met = ((one, replace(expense, query=expense.query & rows)) for one, expense in custodian.spending())
    return [(one, expense) for one, expense in met if not expense.query.is_contradiction]


def _region(custodian: Custodian, where: dict[str, Any]) -> dict[str, Any]:
    settings = custodian.settings
    within = _within(custodian, where)
    graph = charge_graph(settings, within, 1)
    shown = graph.as_json(settings)["maximum"]
    members, covering = set(graph.members), {one.number for one, _ in within}
    steps = [one for one in course_of(custodian) if one.charge.number in covering]
    steps.sort(key=lambda one: (one.charge.number not in members, -one.charge.number))
    listed = [{**_listed(custodian, one), "maximum": one.charge.number in members} for one in steps[:_MOST_COVERING]]
    left = settings.measure.affordable_down(left_on_rows(settings, graph.upper))
    return {"charges": listed, "total": len(steps), "maximum": shown, "left": left}


def _keys(custodian: Custodian) -> list[dict[str, Any]]:
    with Access(custodian.settings) as access:
        known = access.keys()
    return [
        {"number": one.number, "name": one.name, "role": str(one.role), "added": one.added, "revoked": one.revoked}
        for one in known
    ]


def _add_key(custodian: Custodian, name: str, role: str) -> dict[str, str]:
    with Access(custodian.settings) as access:
        return access.add(name, role).as_json()


def _revoke_keys(custodian: Custodian, name: str, older: bool) -> list[int]:
    with Access(custodian.settings) as access:
        return [one.number for one in access.revoke(name, older=older)]


def _audit(custodian: Custodian) -> dict[str, Any]:
    settings, began = custodian.settings, time.monotonic()
    measure = settings.measure
    # What an audit finds whole may still lack what this process has seen, which is refused here.
    custodian.charges()
    mark = None if settings.mark is None else MarkFile(settings.mark)
    with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as opened:
        if mark is not None:
            mark.check(opened)
        found = audit_charges(
            opened.charges(),
            opened.binding,
            settings.domain,
            ties=opened.ties(),
            answers=opened.stored_answers(),
            strategy_of=opened.strategy,
        )
    return {
        "ok": found.ok,
        "charges": found.charges,
        "loads": found.loads,
        "head": found.head,
        "loss": measure.parameter_up(found.loss),
        "lower": measure.parameter_down(found.lower),
        "sequential": measure.parameter_up(found.sequential),
        "budget": measure.parameter_down(found.budget),
        "checked": found.checked,
        "problems": list(found.problems)[:100],
        **_as_epsilon(settings, found.loss),
        "time": utc_now(),
        "seconds": round(time.monotonic() - began, 3),
    }


def _as_epsilon(settings: Settings, loss: int) -> dict[str, Any]:
    """The loss and the budget as an ε at the δ of the budget, if it is one of (ε, δ)."""
    stated = settings.approximate
    if stated is None:
        return {}
    implied = stated.epsilon_up(loss)
    # JSON knows no infinity.
    return {
        "delta": stated.delta,
        "epsilon": {"loss": implied if math.isfinite(implied) else None, "budget": stated.epsilon},
    }

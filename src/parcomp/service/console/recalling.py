"""What an analyst sees beside the API: prices with all their details, rehearsals, and answers bought before.

*Looking never pays.*  An answer is recalled only if the books say that it was bought at this accuracy, and then asking
for it again is free: charges are never taken back, and after a load of the table, before which nothing pays for
anything after it, the custodian does not answer until it is opened again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from parcomp.custodian import Answer, Custodian
from parcomp.errors import ParcompError
from parcomp.ledger import Charge, StrategyRecord
from parcomp.model import Statement
from parcomp.service.bodies import AskBody, fixed_width_json
from parcomp.service.console.wording import keys_of, sql_of
from parcomp.service.guard import AskingRoute, desk_of, holder_of
from parcomp.service.problems import Problem
from parcomp.sql import parse_statement

__all__ = ["router"]

router = APIRouter(prefix="/console", route_class=AskingRoute, include_in_schema=False)


@router.post("/quotes")
async def quote(request: Request, body: AskBody) -> Response:
    """A quote, with the best that is affordable and the statement as it was understood."""
    name = holder_of(request).name
    found = await desk_of(request).ask(name, _quote, body.sql, name, body.cost)
    return JSONResponse(found)


@router.post("/recalled")
async def recall(request: Request, body: AskBody) -> Response:
    """The answer to a statement, if it was bought at this cost or at a higher one; charges nothing."""
    name = holder_of(request).name
    found = await desk_of(request).ask(name, _recalled, body.sql, name, body.cost)
    if found is None:
        raise Problem(404, "missing", "this was not asked yet at this cost; looking for an answer charges nothing")
    return Response(fixed_width_json(found), media_type="application/json")


@router.post("/rehearsals")
async def rehearse(request: Request, body: AskBody) -> Response:
    """An answer from random rows of the domain, with the noise of the cost; free, and without the data."""
    name = holder_of(request).name
    found = await desk_of(request).ask(name, Custodian.ask, body.sql, analyst=name, dummy=True, **body.cost)
    return Response(fixed_width_json(found), media_type="application/json")


@router.get("/answers")
async def answers(
    request: Request,
    before: Annotated[int, Query(ge=0, le=2**53)] = 2**53,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """The analyst's own charges with their answers, the latest first."""
    name = holder_of(request).name
    found = await desk_of(request).ask(name, _answers, name, before, limit)
    return Response(fixed_width_json(found), media_type="application/json")


def _quote(custodian: Custodian, sql: str, analyst: str, cost: dict[str, Any]) -> dict[str, Any]:
    quoted = custodian.quote(sql, analyst=analyst, **cost)
    settings = custodian.settings
    statement = json.loads(parse_statement(settings.domain, sql, settings.tables).text)
    return {
        **quoted.as_json(),
        "best_error": quoted.best_error,
        "cached": quoted.cached,
        "reason": quoted.reason,
        "statement": statement,
        "keys": keys_of(settings.domain, statement),
    }


def _recalled(custodian: Custodian, sql: Any, analyst: str, cost: dict[str, Any]) -> Answer | None:
    [quoted] = custodian.quote_batch([sql], analyst=analyst, **cost).quotes
    return custodian.ask(sql, analyst=analyst, **cost) if quoted.cached else None


def _answers(custodian: Custodian, analyst: str, before: int, limit: int) -> dict[str, Any]:
    own = [one for one in custodian.charges() if one.analyst == analyst and not one.is_load]
    earlier = [one for one in reversed(own) if one.number < before]
    listed = [_answered(custodian, charge, analyst) for charge in earlier[:limit]]
    more = listed[-1]["number"] if len(earlier) > limit else 0
    return {"answers": listed, "total": len(own), "before": more}


def _answered(custodian: Custodian, charge: Charge, analyst: str) -> dict[str, Any]:
    """A charge with its question in SQL, and its answer where the rows are still those that it was asked of."""
    settings = custodian.settings
    shown: dict[str, Any] = {
        "number": charge.number,
        "time": charge.time,
        "cost": settings.measure.parameter_up(charge.units),
        "amount": str(settings.measure.affordable_down(charge.units)),
        "sql": None,
        "answer": None,
    }
    statement = _statement_of(custodian, charge)
    if StrategyRecord.read(charge.statement) is not None:
        # The batch is asked for as a whole, and so are its answers.
        with suppress(KeyError, TypeError, ValueError):
            shown["sql"] = sql_of(settings.domain, charge.statement)
    if statement is not None:
        shown["sql"] = sql_of(settings.domain, charge.statement)
        found = _recalled(custodian, statement, analyst, {settings.measure.parameter: shown["amount"]})
        shown["answer"] = found
    return shown


def _statement_of(custodian: Custodian, charge: Charge) -> Statement | None:
    """What was charged; None for a statement of an earlier domain, or one that is not written in SQL here."""
    settings = custodian.settings
    try:
        written = sql_of(settings.domain, charge.statement)
        statement = parse_statement(settings.domain, written, settings.tables)
    except (ParcompError, KeyError, TypeError):
        return None
    return statement if statement.text == charge.statement else None

"""Quotes, answers and batches: what analysts send."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from parcomp.custodian import Ask, Custodian
from parcomp.estimation import MOST_CERTAIN
from parcomp.service.bodies import (
    AnswerBody,
    AnswersBody,
    AskBody,
    AskOrDeriveBody,
    BatchBody,
    EstimatesBody,
    QuoteBody,
    QuotesBody,
    fixed_width_json,
)
from parcomp.service.desk import Desk
from parcomp.service.guard import AskingRoute, desk_of, holder_of
from parcomp.service.openapi import problems
from parcomp.service.problems import Problem

__all__ = ["router"]

router = APIRouter(prefix="/v1", route_class=AskingRoute, tags=["asking"])

_KEY = r"^[\x21-\x7e]{1,200}$"
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same request with the same key is charged once, and gets the same answer again.",
        pattern=_KEY,
    ),
]


@router.post(
    "/quotes", response_model=None, responses={200: {"model": QuoteBody}, **problems(400, 401, 403, 413, 429, 503)}
)
async def quote(request: Request, body: AskBody) -> Response:
    """What asking would cost and how accurate the answer would be; charges nothing."""
    desk, holder = desk_of(request), holder_of(request)
    found = await desk.ask(holder.name, Custodian.quote, body.sql, analyst=holder.name, **body.cost)
    return JSONResponse(found.as_json())


@router.post(
    "/answers",
    response_model=None,
    responses={200: {"model": AnswerBody}, **problems(400, 401, 403, 409, 413, 429, 503)},
)
async def answer(request: Request, body: AskOrDeriveBody, key: Key = None) -> Response:
    """Pay for a statement and answer it; 403, and nothing charged, if budget or quota do not bear it.

    With `derive` it is worked out from answers that were released before, and nothing is charged; 409 if it does not
    follow from them. With `estimate` too it has beside it what all answers of the key say of it.
    """
    desk, holder = desk_of(request), holder_of(request)
    if body.derive:
        # There is nothing to pay twice, so that the key need not be kept.
        _checked(key)
        # With an estimate it takes a thread for as long as a batch does.
        call = desk.batch if body.estimate else desk.ask
        derived = partial(Custodian.ask, sql=body.sql, analyst=holder.name, derive=True, estimate=body.estimate)
        return await _answered(desk, await call(holder.name, derived))
    found = await desk.answer(Ask(body.sql, holder.name, body.cost, _checked(key)))
    return await _answered(desk, found)


@router.post(
    "/batches",
    response_model=None,
    responses={200: {"model": AnswersBody}, **problems(400, 401, 403, 409, 413, 429, 503)},
)
async def batch(request: Request, body: BatchBody, key: Key = None) -> Response:
    """Answer all statements or none, each at its cost or all within a budget."""
    desk, holder = desk_of(request), holder_of(request)
    asked = {"analyst": holder.name, "key": _checked(key), **body.measured, **body.costs}
    found = await desk.batch(holder.name, Custodian.ask_batch, body.texts, **asked)
    return await _answered(desk, {"answers": list(found)})


@router.post(
    "/batches/quotes",
    response_model=None,
    responses={200: {"model": QuotesBody}, **problems(400, 401, 403, 413, 429, 503)},
)
async def quote_batch(request: Request, body: BatchBody) -> Response:
    """What asking a batch would mean, each statement after those before it, and all together; charges nothing."""
    desk, holder = desk_of(request), holder_of(request)
    asked = {"analyst": holder.name, **body.measured, **body.costs}
    found = await desk.batch(holder.name, Custodian.quote_batch, body.texts, **asked)
    # With thousands of statements it takes long to write.
    written = await desk.writing.run(lambda: JSONResponse(found.as_json()))
    return written


@router.get(
    "/estimates",
    response_model=None,
    responses={200: {"model": EstimatesBody}, **problems(400, 401, 403, 429, 503)},
)
async def estimates(
    request: Request,
    interval: Annotated[
        float, Query(gt=0, le=MOST_CERTAIN, description="How often intervals shall hold the true count.")
    ] = 0.95,
) -> Response:
    """What all counts that the key has paid for since the last load say together; charges nothing."""
    desk, holder = desk_of(request), holder_of(request)
    found = await desk.batch(holder.name, Custodian.estimates, analyst=holder.name, interval=interval)
    return await _answered(desk, found)


def _checked(key: str | None) -> str | None:
    if key is not None and not re.fullmatch(_KEY, key):
        raise Problem(400, "request", "an Idempotency-Key has 1 to 200 printable ASCII characters and no blanks")
    return key


async def _answered(desk: Desk, document: object) -> Response:
    # With many groups it takes seconds to write.
    body = await desk.writing.run(lambda: fixed_width_json(document))
    return Response(body, media_type="application/json")

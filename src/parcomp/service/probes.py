"""Health, readiness and metrics: what needs no key."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from parcomp.service.bodies import StateBody
from parcomp.service.guard import desk_of
from parcomp.service.openapi import problems
from parcomp.service.problems import problem_of, problem_response
from parcomp.service.watch import Metrics

__all__ = ["router"]

router = APIRouter(tags=["probes"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=None, responses={200: {"model": StateBody}})
async def healthz() -> Response:
    """Whether the process serves requests."""
    return JSONResponse({"status": "ok"})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=None, responses={200: {"model": StateBody}, **problems(503)})
async def readyz(request: Request) -> Response:
    """Whether the ledger with its keys and the table can be read, so that requests can be answered."""
    try:
        await desk_of(request).ready()
    except Exception as error:  # whatever it is, the service is not ready
        return problem_response(problem_of(error))
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_model=None, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """How the service does, for Prometheus; nothing of what is asked or answered."""
    told: Metrics = request.app.state.metrics
    body, media_type = told.text()
    return Response(body, media_type=media_type)

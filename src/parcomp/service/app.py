"""The application: a custodian's settings file in, an ASGI application out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import parcomp
from parcomp.custodian import Custodian
from parcomp.service import asking, looking, probes
from parcomp.service.console import pages, recalling, signing, tending
from parcomp.service.desk import Desk
from parcomp.service.edge import Edge
from parcomp.service.guard import Limits
from parcomp.service.openapi import describe
from parcomp.service.problems import problem_of, problem_response
from parcomp.service.watch import Metrics

__all__ = ["create_app"]


def create_app(
    path: str | Path, custodian: Custodian | None = None, *, workers: int = 1, head: str | None = None
) -> FastAPI:
    """The service of the custodian whose settings file is given; its ledger must be there.

    ``custodian`` is the one of this file, if it was opened already; the service closes it at its end.  ``workers`` is
    how many processes serve at its address, this one among them.  ``head`` is a digest that the ledger must hold.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk = await anyio.to_thread.run_sync(Desk, path, custodian, head)
        app.state.desk, app.state.limits = desk, Limits(desk.settings.serving.rate, workers)
        try:
            yield
        finally:
            # What is charged is answered: the threads finish what they have begun.
            await asyncio.get_running_loop().run_in_executor(None, desk.close)

    app = FastAPI(
        title="Parcomp",
        version=parcomp.__version__,
        description="SQL answered with differential privacy, within a budget.",
        lifespan=lifespan,
        # Their pages load scripts from the network; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.metrics = Metrics()
    for router in (asking.router, looking.router, looking.custodians, probes.router):
        app.include_router(router)
    for router in (pages.router, signing.signing, signing.router, recalling.router, tending.router, tending.custodians):
        app.include_router(router)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _told)
    app.add_middleware(Edge, metrics=app.state.metrics)
    return app


async def _told(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    request.state.problem = problem.kind
    return problem_response(problem)

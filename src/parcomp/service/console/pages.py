"""The page and what it is made of: one HTML file, a style sheet and small modules, all of them from this package.

Where a person is in the console stands after the ``#`` of the address, which a browser never sends: what is asked is
in no log of a server or a proxy between.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from parcomp.service.problems import Problem, problem_response

__all__ = ["asset_names", "router"]

router = APIRouter(include_in_schema=False)

_KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@router.head("/")
@router.get("/")
async def page() -> Response:
    """The console."""
    body, _ = _asset("index.html")
    return Response(body, media_type=_KINDS["html"])


@router.get("/console/assets/{name}")
async def asset(request: Request, name: str) -> Response:
    """A module, the style sheet or the icon."""
    if name not in asset_names():
        return problem_response(Problem(404, "missing", "there is no such file"))
    return _sent(request, name)


@cache
def asset_names() -> frozenset[str]:
    """The files there are."""
    found = (one.name for one in files(__package__).joinpath("assets").iterdir())
    return frozenset(name for name in found if name.rpartition(".")[2] in _KINDS)


@cache
def _asset(name: str) -> tuple[bytes, str]:
    body = files(__package__).joinpath("assets", name).read_bytes()
    return body, f'"{sha256(body).hexdigest()[:32]}"'


def _sent(request: Request, name: str) -> Response:
    body, tag = _asset(name)
    # Asked for anew each time, and sent only if it has changed: after an upgrade no two modules are of two versions.
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=_KINDS[name.rpartition(".")[2]])

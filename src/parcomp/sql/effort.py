"""How much may be worked out to read one statement, and the statements of one request.

Expressions are evaluated for values of an attribute, of which there may be billions, and a short text can ask for a lot
of it.  So every evaluation is counted by the parts of its expression, and a statement that takes too many is refused by
name.  What it takes depends on the text and the domain alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from parcomp.errors import SizeError

__all__ = ["MAX_EFFORT", "MAX_REQUEST_EFFORT", "bounded_effort", "bounded_request_effort", "spend_effort"]

MAX_EFFORT = 2_000_000
"""So many parts of expressions are evaluated for one statement: a few seconds."""

MAX_REQUEST_EFFORT = 3 * MAX_EFFORT
"""So many for all statements of one request, which are read one after the other."""

_left: ContextVar[list[int] | None] = ContextVar("effort", default=None)
_request_left: ContextVar[list[int] | None] = ContextVar("request_effort", default=None)


@contextmanager
def bounded_effort() -> Iterator[None]:
    """Within this, one statement is read."""
    token = _left.set([MAX_EFFORT])
    try:
        yield
    finally:
        _left.reset(token)


@contextmanager
def bounded_request_effort() -> Iterator[None]:
    """Within this, the statements of one request are read."""
    token = _request_left.set([MAX_REQUEST_EFFORT])
    try:
        yield
    finally:
        _request_left.reset(token)


def spend_effort(parts: int) -> None:
    """Count an evaluation of so many parts; :class:`~parcomp.errors.SizeError` if there were too many."""
    left = _left.get()
    if left is None:
        return
    left[0] -= parts
    request = _request_left.get()
    if request is not None:
        request[0] -= parts
        if request[0] < 0:
            raise SizeError(
                "the expressions of these statements take too long to work out together; send them in several requests"
            )
    if left[0] < 0:
        raise SizeError(
            "the expressions of this statement take too long to work out over the attribute's values; use fewer or "
            "simpler ones, or ask the custodian for a coarser attribute or a level"
        )

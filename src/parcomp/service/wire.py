"""Connections: how requests come in over the wire, before they are requests, and how connections end.

The server below speaks HTTP; this adds what it leaves open.  What is no HTTP gets a problem, like everything else that
is wrong.  Who does not finish the head of a request in time, trickles a body after its answer, or does not read what is
sent, is cut off, so that nobody keeps connections from others by being slow; a body is bounded by the request's
deadline.  Who has sent all and ends that side (a half-closed connection) is answered all the same.

*Ending.*  A connection that is closed while a request is on its way is reset, and who sent it must guess what became
of it.  So a server that ends tells everyone it still answers that the connection closes after that, leaves those that
wait for a next request a moment to send it, and only then ends its side of them, for the other side to see before it
sends anything more.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from parcomp.service.edge import HEADERS
from parcomp.service.framing import LONGEST_HEAD, StrictConnection
from parcomp.service.problems import Problem, problem_response

__all__ = ["Wire"]

_HEAD_SECONDS: Final = 30.0
"""How long the head of a request may take."""

_LINGER_SECONDS: Final = 1.0
"""How long a server that ends waits for a next request, and then for the other side to end."""

_WRITE_SECONDS: Final = 30.0
_LEAST_WRITTEN: Final = 2**20
"""Bytes that whoever is sent something reads in so many seconds, or all there are."""

_MOST_CONNECTIONS: Final = 1_000
_CROWDED: Final = "more connections are open than are served; try again shortly"


class Wire(H11Protocol):
    """One connection."""

    conn: StrictConnection

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn = StrictConnection(h11.SERVER, LONGEST_HEAD)
        self._slow: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._half_closed = False
        self._ending = False
        self._ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; the first request is due."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        self._expect_nothing()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whether the connection stays, as it does for what was asked in full and is not answered yet."""
        if self._idle or self.cycle.more_body:
            return False
        self._half_closed = True
        return True

    def on_response_complete(self) -> None:
        """Go on with what was sent meanwhile; after the last answer to whoever sends no more, close."""
        super().on_response_complete()
        if self._half_closed and self._idle:
            self.transport.close()
        self._expect_to_be_read()

    def pause_writing(self) -> None:
        """Send no more for now: the other side is behind with reading."""
        super().pause_writing()
        self._expect_to_be_read()

    def data_received(self, data: bytes) -> None:
        """Go on with a request, or begin one."""
        if self._ended:
            # Nobody can be answered on it: what comes is not begun.
            return
        crowded = max(len(self.connections), len(self.tasks)) > _MOST_CONNECTIONS
        self.app = _turn_away if crowded else self.config.loaded_app
        super().data_received(data)
        if self._idle:
            self._expect()
            return
        self._expect_nothing()
        if self._ending:
            self._announce_the_end()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  it says less than the problem does
        """Answer what is no HTTP, and close."""
        if self.transport.is_closing() or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        fault = self.conn.fault
        detail = f"the request is not taken: {fault}" if fault else "what was sent is no HTTP request"
        sent = problem_response(Problem(400, "request", detail))
        headers = [*self.server_state.default_headers, *sent.raw_headers, CLOSE_HEADER]
        headers += [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        start = h11.Response(status_code=400, headers=headers, reason=STATUS_PHRASES[400])
        for event in (start, h11.Data(data=bytes(sent.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._part()

    def shutdown(self) -> None:
        """The server ends: answer what was asked, and close without a reset."""
        self._ending = True
        if self._idle:
            self.loop.call_later(_LINGER_SECONDS, self._end)
        else:
            self._announce_the_end()

    @property
    def _idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _announce_the_end(self) -> None:
        if self.cycle.keep_alive:
            self.cycle.keep_alive = False
            self.cycle.default_headers = [*self.cycle.default_headers, CLOSE_HEADER]

    def _end(self) -> None:
        """End this side, once nothing is due on it."""
        if self._idle and not self.transport.is_closing():
            self._part()

    def _part(self) -> None:
        """Say that nothing more is sent, and close once the other side had time to see it.

        To close at once with something unread is a reset, by which what was sent last may be lost.
        """
        self._ended = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()

    def _expect(self) -> None:
        # Not put off by what comes in bit by bit.
        if self._slow is None:
            self._slow = self.loop.call_later(_HEAD_SECONDS, self._cut_off)

    def _expect_nothing(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _cut_off(self) -> None:
        self._slow = None
        if self._idle:
            self.transport.close()

    def _expect_to_be_read(self) -> None:
        if self._unread is None and (left := self.transport.get_write_buffer_size()):
            self._unread = self.loop.call_later(_WRITE_SECONDS, self._give_up_unless_read, left)

    def _give_up_unless_read(self, before: int) -> None:
        """End a connection on which too little was read; to close it would wait for the rest to be read."""
        self._unread = None
        if self.transport.get_write_buffer_size() > max(before - _LEAST_WRITTEN, 0):
            self.transport.abort()
        else:
            self._expect_to_be_read()


async def _turn_away(scope: Scope, receive: Receive, send: Send) -> None:
    problem = Problem(503, "busy", _CROWDED, headers={**HEADERS, "Retry-After": "1", "Connection": "close"})
    await problem_response(problem)(scope, receive, send)

"""Where one request ends and the next begins: heads that could be read in two ways are not read at all.

A proxy and a server that disagree on it can be made to take the body of one request for the head of another.  The
parser below forgives what RFC 9112 lets a server refuse; this refuses it: lines that end without a carriage return
(section 2.2), folded lines (5.2), a length beside a transfer coding, and a transfer coding in HTTP/1.0 (6.1).  It also
bounds the whole head, of which the parser bounds only what has come before its end is there.
"""

from __future__ import annotations

import re
from typing import Any, Final

import h11

__all__ = ["LONGEST_HEAD", "StrictConnection"]

LONGEST_HEAD: Final = 2**16
"""Bytes of the first line and the headers of a request."""

_END: Final = re.compile(rb"\n\r?\n")
_BARE: Final = re.compile(rb"(?<!\r)\n")
_FOLDED: Final = re.compile(rb"\n[ \t]")


class StrictConnection(h11.Connection):
    """The server's side of a connection; ``fault`` says what it did not take."""

    fault: str = ""

    def next_event(self) -> Any:
        """What comes next; :class:`h11.RemoteProtocolError` for what is not taken."""
        if self.their_state is h11.IDLE:
            self._check_head(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names:
                if b"content-length" in names:
                    self._refuse("it has both a Content-Length and a Transfer-Encoding")
                if event.http_version < b"1.1":
                    self._refuse("it has a Transfer-Encoding, which HTTP/1.0 has not")
        return event

    def _check_head(self, data: bytes) -> None:
        end = _END.search(data)
        if (end.end() if end else len(data)) > LONGEST_HEAD:
            self._refuse(f"its head has more than {LONGEST_HEAD:,} bytes")
        if end is None:
            return
        head = data[: end.end()]
        if _BARE.search(head):
            self._refuse("a line of its head ends in a line feed without a carriage return")
        if _FOLDED.search(head):
            self._refuse("a header goes on in a second line")

    def _refuse(self, fault: str) -> None:
        self.fault = fault
        raise h11.RemoteProtocolError(fault, error_status_hint=400)

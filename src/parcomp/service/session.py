"""Signed in without a session on the server: the browser keeps the key in two halves.

Signing in splits the key K into a random pad T and the share C = K ⊕ T.  The share goes into a cookie that scripts
cannot read and that other sites cannot cause to be sent; the pad goes to the page, which sends it in a header.  Each
half by itself is uniformly random and says nothing about the key (a one-time pad), so a stolen cookie does nothing, and
a request that another site makes the browser send, which has the cookie and not the header, is one without a key.

Together they are the key, and what is then done with it is what is done with every key.  So any worker of any server
serves any request, no secret is kept for it anywhere, and a revoked key ends its sessions within a second too.  The
cookie also says until when it is good, and a code made with the key itself says that this was not changed.
"""

from __future__ import annotations

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error

from starlette.requests import Request

__all__ = ["COOKIE", "LONGEST_KEY", "SECONDS", "TOKEN_HEADER", "join_key", "presented_key", "split_key"]

COOKIE = "parcomp"
TOKEN_HEADER = "X-CSRF-Token"
SECONDS = 12 * 3600
"""How long a person stays signed in."""

LONGEST_KEY = 200
_MARK = b"parcomp console session until "


def split_key(key: str, now: float | None = None) -> tuple[str, str]:
    """The cookie and the token that stand for a key until :data:`SECONDS` from now.

    >>> cookie, token = split_key("pc_secret")
    >>> join_key(cookie, token), join_key(cookie, split_key("pc_secret")[1])
    ('pc_secret', None)
    """
    raw = key.encode()
    pad = secrets.token_bytes(len(raw))
    until = str(int((time.time() if now is None else now) + SECONDS))
    return f"{until}.{_written(_xor(raw, pad))}.{_written(_code(raw, until))}", _written(pad)


def join_key(cookie: str, token: str, now: float | None = None) -> str | None:
    """The key that a cookie and its token stand for, None if they do not belong together or their time is over."""
    if len(cookie) + len(token) > 4 * LONGEST_KEY + 200 or cookie.count(".") != 2:
        return None
    until, share, code = cookie.split(".")
    try:
        raw = _xor(_read(share), _read(token))
        good = hmac.compare_digest(_code(raw, until), _read(code))
        if not good or int(until) < (time.time() if now is None else now):
            return None
        return raw.decode()
    except ValueError:
        return None


def presented_key(request: Request) -> str | None:
    """The key of a request: in its ``Authorization``, or else in its cookie and its token; None without one."""
    written = request.headers.get("authorization")
    if written is not None:
        scheme, _, key = written.partition(" ")
        return (key.strip() or None) if scheme.lower() == "bearer" else None
    cookie, token = request.cookies.get(COOKIE), request.headers.get(TOKEN_HEADER)
    return join_key(cookie, token) if cookie and token else None


def _code(raw: bytes, until: str) -> bytes:
    return hmac.digest(raw, _MARK + until.encode(), "sha256")


def _xor(one: bytes, other: bytes) -> bytes:
    if not one or len(one) != len(other):
        raise ValueError("halves of a key are of one length")
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _written(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _read(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (Base64Error, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from None

"""Access keys: who may ask over the network, kept beside the charges that they lead to.

A key is 256 random bits from the operating system, written out once, when it is made.  The ledger's database keeps its
SHA-256.  That is enough, and a slow hash for passwords would add nothing: such a hash makes each guess dear because
people choose passwords that can be guessed, and nobody guesses one of 2²⁵⁶ equally likely keys.  Whoever reads the
database learns no key from it.

Keys are added and revoked by rows of their own, and like charges no row is ever changed or deleted, so the tables also
say who could ask at which time.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest

from parcomp.errors import ArgumentError, SettingsError, shown

__all__ = ["AccessKey", "Role", "check_name", "find_key", "key_digest", "new_key"]

_PREFIX = "pc_"
_BYTES = 32
_LONGEST_NAME = 100


class Role(StrEnum):
    """What a key is for: to ask, or to look after the dataset."""

    ANALYST = "analyst"
    CUSTODIAN = "custodian"

    @classmethod
    def _missing_(cls, value: object) -> Role:
        raise ArgumentError(f"unknown role {shown(value)}; there are {' and '.join(cls)}")


@dataclass(frozen=True, slots=True)
class AccessKey:
    """What is kept of a key: whose it is, what it is for, the digest of it, and from when to when it is good.

    ``revoked`` is "" for a key that is good.  Times are in UTC.
    """

    number: int
    name: str
    role: Role
    digest: str
    added: str
    revoked: str = ""


def new_key() -> str:
    """A key that nobody has.

    >>> len(new_key()), new_key()[:3], new_key() == new_key()
    (46, 'pc_', False)
    """
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def key_digest(key: str) -> str:
    """What is kept of a key."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def find_key(keys: Iterable[AccessKey], key: str) -> AccessKey | None:
    """The good one among the keys that was presented; every one is compared, in constant time."""
    presented, found = key_digest(key), None
    for one in keys:
        if compare_digest(one.digest, presented) and not one.revoked:
            found = one
    return found


def check_name(name: object) -> str:
    """The name itself, if a key can be in it."""
    if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip():
        return name
    raise SettingsError(
        f"a key is in a name of 1 to {_LONGEST_NAME} printable characters without blanks at its ends, not {shown(name)}"
    )

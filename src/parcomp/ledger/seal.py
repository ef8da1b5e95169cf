"""Which rows a ledger knows, without telling anything of them.

The digest of a coded table is a function of its rows, and whoever knew all of them but one could try that one out
against it.  So the chain holds a seal of the digest: a random salt, and the SHA-256 of both.  Who has the seal can tell
whether a table is the sealed one.  Digests of the chain stand on the seal, and tell nothing of the rows to whoever does
not have the salt of 256 bits.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256

__all__ = ["is_sealed", "seal"]

_SALT_BYTES = 32


def seal(digest: str) -> str:
    """A seal of a digest, another one each time."""
    return _sealed(secrets.token_hex(_SALT_BYTES), digest)


def is_sealed(digest: str, sealed: str) -> bool:
    """Whether a seal is of this digest.

    >>> is_sealed("0f", seal("0f")), is_sealed("0e", seal("0f")), seal("0f") == seal("0f")
    (True, False, False)
    """
    return hmac.compare_digest(_sealed(sealed.partition(":")[0], digest), sealed)


def _sealed(salt: str, digest: str) -> str:
    return f"{salt}:{sha256(f'{salt}:{digest}'.encode()).hexdigest()}"

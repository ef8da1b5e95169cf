"""Whose rows are whose, without saying who: keyed hashes of persons and of their rows.

With ``rows_per_person = k`` at most k rows of a person are taken.  Which ones is decided by ``h``, a keyed hash of the
person and the row's codes, so it depends on that person's rows alone.  The key belongs to the ledger: a table that is
read again is bounded to the same rows.  It need be no secret, since the guarantee holds for every key.  Rows of one
person with equal codes are the same to every count, so it does not matter which is taken.  A row without a person could
be anybody's: no number of rows bounds what it adds to a person's, so it is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.encoding.columns import is_text
from parcomp.data.encoding.numbers import read_number

__all__ = ["KEY_BYTES", "PersonHasher"]

KEY_BYTES = 32
_HASH_BYTES = 16


class PersonHasher:
    """Hashes persons and their rows under one ``key``."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def persons(self, array: pa.Array, nulls: Collection[str]) -> list[bytes | None]:
        """The hash of each person; None where there is none, or what stands for none."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        stored = encoded.dictionary
        has_text = is_text(stored.type)
        names = (
            None if person is None or (has_text and person in nulls) else person if has_text else _told_apart(person)
            for person in stored.cast(pa.large_string()).to_pylist()
        )
        known = [None if name is None else self._hash(b"p", name.encode()) for name in names]
        return [None if place is None else known[place] for place in encoded.indices.to_pylist()]

    def ranks(self, persons: list[bytes], codes: list[npt.NDArray[np.int64]]) -> list[bytes]:
        """What ranks each row among those of its person."""
        rows = np.ascontiguousarray(np.stack(codes, axis=1).astype("<i8"))
        return [self._hash(b"h", person + row.tobytes()) for person, row in zip(persons, rows, strict=True)]

    def _hash(self, purpose: bytes, content: bytes) -> bytes:
        return blake2b(content, digest_size=_HASH_BYTES, key=self._key, person=purpose).digest()


def _told_apart(written: str) -> str | None:
    """What is no text, as its engine writes it: numbers are told apart by value, as 1.0 is 1, and NaN is nobody."""
    if written.lower().lstrip("+-") == "nan":
        return None
    number = read_number(written)
    return written if number is None else str(number)

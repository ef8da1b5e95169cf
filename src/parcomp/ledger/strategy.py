"""Charges for a strategy: what the ledger keeps of a batch that was measured as a whole.

The batch is one charge (``docs/decisions/0010-a-strategy-is-one-charge.md``).  Its statement is canonical JSON,

    ``{"asked": …, "budget": …, "kind": "strategy", "statements": […], "strategy": …, …}``

with the statements that it answers, each once and sorted by their texts, what was asked for (``auto``, ``correlated``
or ``atoms``), what one row was allowed to cost, in additive units, and what was measured:

- ``correlated``: ``matrix``, the SHA-256 of H, and ``sigma``, a hexadecimal float.  H itself stands beside the charge,
  stored in the same transaction, since planning it anew may lead elsewhere.
- ``atoms``: ``histograms``, of each its ``queries``, as runs of places, and its ``units``.  The queries are those of
  the statements, one for each group, in order.  Atoms follow from them.

The digest of H is of its numbers of rows and columns and of its entries, row by row, all as little-endian 64-bit
integers.  A matrix that does not have the digest of its charge is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from parcomp.costs import MAX_UNITS
from parcomp.errors import LedgerError
from parcomp.model import groups_touched

__all__ = ["StrategyRecord", "matrix_digest", "packed", "touched", "unpacked"]

Matrix = npt.NDArray[np.int64]

_ASKED: Final = ("auto", "correlated", "atoms")
_KEYS: Final = {
    "correlated": {"kind", "asked", "budget", "statements", "strategy", "matrix", "sigma"},
    "atoms": {"kind", "asked", "budget", "statements", "strategy", "histograms"},
}
_TAMPERED = "the matrix of the strategy is not the one that was charged; see: parcomp ledger verify"
_MOST_ENTRIES: Final = 1 << 28
"""More than the matrix of any strategy has."""


@dataclass(frozen=True, slots=True)
class StrategyRecord:
    """What a charge says of a strategy; ``histograms`` are pairs of the places of queries and of units."""

    statements: tuple[str, ...]
    asked: str
    budget: int
    matrix: str = ""
    sigma: float | None = None
    histograms: tuple[tuple[tuple[int, ...], int], ...] = ()

    @property
    def strategy(self) -> str:
        """What is measured."""
        return "correlated" if self.matrix else "atoms"

    @property
    def key(self) -> str:
        """What makes two requests the same but for their budgets."""
        return _written({"asked": self.asked, "statements": self._documents()})

    @property
    def text(self) -> str:
        """The statement of the charge."""
        fields: dict[str, Any] = {
            "kind": "strategy",
            "asked": self.asked,
            "budget": self.budget,
            "statements": self._documents(),
            "strategy": self.strategy,
        }
        if self.matrix:
            assert self.sigma is not None
            fields |= {"matrix": self.matrix, "sigma": self.sigma.hex()}
        else:
            fields["histograms"] = [{"queries": _runs(queries), "units": units} for queries, units in self.histograms]
        return _written(fields)

    @classmethod
    def read(cls, text: str) -> StrategyRecord | None:
        """What the statement of a charge says; None if it is no strategy, an error if it is not as it is written."""
        # Most statements are told apart without being parsed.
        if '"strategy"' not in text:
            return None
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or document.get("kind") != "strategy":
            return None
        try:
            record = cls._of(document)
        except (KeyError, TypeError, ValueError, OverflowError):
            record = None
        if record is None or record.text != text:
            raise LedgerError("statement: is no strategy as a ledger has it")
        return record

    @classmethod
    def _of(cls, document: dict[str, Any]) -> StrategyRecord | None:
        strategy, asked, budget = document["strategy"], document["asked"], document["budget"]
        if strategy not in _KEYS or document.keys() != _KEYS[strategy] or asked not in _ASKED:
            return None
        statements = tuple(_written(one) for one in document["statements"] if isinstance(one, dict))
        if not statements or list(statements) != sorted(set(statements)) or not _is_units(budget):
            return None
        if strategy == "correlated":
            sigma = float.fromhex(document["sigma"])
            valid = isinstance(document["matrix"], str) and document["matrix"] and 0 < sigma < math.inf
            return cls(statements, asked, budget, document["matrix"], sigma) if valid else None
        histograms = tuple((_places(one["queries"]), one["units"]) for one in document["histograms"])
        if not histograms or not all(_is_units(units) for _, units in histograms):
            return None
        return cls(statements, asked, budget, histograms=histograms)

    def _documents(self) -> list[Any]:
        return [json.loads(one) for one in self.statements]


def touched(statement: str) -> int:
    """By how many groups of its answer, or coordinates of a strategy's, replacing a row is told to be charged for."""
    document = json.loads(statement)
    return 2 if document.get("kind") == "strategy" else groups_touched(document.get("groups"))


def matrix_digest(matrix: Matrix) -> str:
    """The SHA-256 of a matrix, in lowercase hexadecimal.

    >>> matrix_digest(np.eye(2, dtype=np.int64))[:16]
    '8dacc29ce644dcfa'
    """
    shape = np.array(matrix.shape, "<i8").tobytes()
    return sha256(shape + np.ascontiguousarray(matrix, "<i8").tobytes()).hexdigest()


def packed(matrix: Matrix) -> str:
    """A matrix as the text that a ledger stores."""
    least, most = (0, 0) if not matrix.size else (int(matrix.min()), int(matrix.max()))
    width = next(width for width in (1, 2, 4, 8) if -(2 ** (8 * width - 1)) <= least and most < 2 ** (8 * width - 1))
    entries = np.ascontiguousarray(matrix, f"<i{width}").tobytes()
    head = f"{matrix.shape[0]} {matrix.shape[1]} {width}\n".encode()
    return base64.b64encode(zlib.compress(head + entries, 6)).decode()


def unpacked(text: str | None, digest: str) -> Matrix:
    """The matrix that a text stands for, which must have the digest of its charge."""
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text or "", validate=True), 8 * _MOST_ENTRIES)
        head, _, entries = data.partition(b"\n")
        rows, columns, width = map(int, head.split())
        matrix = np.frombuffer(entries, f"<i{width}").reshape(rows, columns).astype(np.int64)
    except (binascii.Error, zlib.error, ValueError, TypeError):
        raise LedgerError(_TAMPERED) from None
    if matrix_digest(matrix) != digest:
        raise LedgerError(_TAMPERED)
    return matrix


def _written(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Ascending places as runs: the first of each, and the one after its last."""
    edges = [0, *(n + 1 for n, (one, other) in enumerate(pairwise(places)) if other != one + 1), len(places)]
    return [[places[start], places[stop - 1] + 1] for start, stop in pairwise(edges)]


def _places(runs: Iterable[Sequence[int]]) -> tuple[int, ...]:
    found: list[int] = []
    for start, stop in runs:
        if not (type(start) is int and type(stop) is int and (found[-1] if found else -1) < start < stop <= 2**31):
            raise ValueError("places ascend")
        found += range(start, stop)
    return tuple(found)


def _is_units(number: object) -> bool:
    return type(number) is int and 1 <= number <= MAX_UNITS

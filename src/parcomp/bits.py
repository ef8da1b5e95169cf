"""Bit tricks on 64-bit words for the numba kernels.

Sets of small integers are packed into ``uint64`` words: element ``i`` is bit ``i & 63`` of word ``i >> 6``.
Bits beyond the last element are zero in every array of this project.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["lowest_bit", "popcount", "word_count"]


def word_count(size: int) -> int:
    """How many 64-bit words hold ``size`` bits."""
    return (size + 63) >> 6


@intrinsic
def _ctpop(typingctx: Any, word: Any) -> tuple[Any, Callable[..., Any]]:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _cttz(typingctx: Any, word: Any) -> tuple[Any, Callable[..., Any]]:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@njit(inline="always", cache=True)
def popcount(word):  # type: ignore[no-untyped-def]
    """The number of ones in a word."""
    return np.int64(_ctpop(np.uint64(word)))


@njit(inline="always", cache=True)
def lowest_bit(word):  # type: ignore[no-untyped-def]
    """The index of the lowest one in a word; 64 for zero."""
    return np.int64(_cttz(np.uint64(word)))

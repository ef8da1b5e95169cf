"""Sets of small integers as words of bits, and bit tricks on words for kernels.

Element ``i`` of a set is bit ``i & 63`` of word ``i >> 6``.  Bits beyond the last element are zero in every array of
this project.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.jit import inlined, inner_kernel, intrinsic

__all__ = [
    "bit_of",
    "fill_ones",
    "has_bit",
    "lowest_bit",
    "pack_bits",
    "popcount",
    "unpack_bits",
    "weigh_bits",
    "word_count",
    "xorshift",
]

Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]


def word_count(size: int) -> int:
    """How many 64-bit words hold ``size`` bits."""
    return (size + 63) >> 6


def pack_bits(flags: Flags) -> Words:
    """Pack booleans into words along the last axis."""
    packed = np.zeros((*flags.shape[:-1], 8 * word_count(flags.shape[-1])), np.uint8)
    packed[..., : (flags.shape[-1] + 7) >> 3] = np.packbits(flags, axis=-1, bitorder="little")
    return packed.view(np.uint64)


def unpack_bits(words: Words, size: int) -> Flags:
    """The first ``size`` bits of the words, along the last axis, as booleans."""
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little", count=size).view(np.bool_)


@intrinsic
def _ctpop(typing: Any, word: Any) -> Any:  # noqa: ARG001
    return word(word), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])  # noqa: ARG005


@intrinsic
def _cttz(typing: Any, word: Any) -> Any:  # noqa: ARG001
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        from llvmlite import ir  # noqa: PLC0415  runs only where numba compiles, and loads slowly

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return word(word), code


@inlined
def popcount(word: Any) -> Any:
    """The number of ones in a word."""
    return np.int64(_ctpop(np.uint64(word)))


@inlined
def lowest_bit(word: Any) -> Any:
    """The index of the lowest one in a word; 64 for zero."""
    return np.int64(_cttz(np.uint64(word)))


@inlined
def bit_of(element: Any) -> Any:
    """The one of an element in its word."""
    return np.uint64(1) << np.uint64(element & 63)


@inlined
def has_bit(word: Any, element: Any) -> Any:
    """Whether the word of an element holds it, as 1 or 0; a word, since numba counts references to arrays passed."""
    return (word >> np.uint64(element & 63)) & np.uint64(1)


@inner_kernel
def fill_ones(words: Any, size: Any) -> None:
    """Make a set, of as many words as it takes, that of the first ``size`` elements."""
    for k in range(len(words)):
        words[k] = ~np.uint64(0)
    if size & 63:
        words[size >> 6] = bit_of(size) - np.uint64(1)


@inner_kernel
def weigh_bits(words: Any, weights: Any) -> Any:
    """The sum of the weights of a set's elements."""
    total = np.int64(0)
    for k in range(len(words)):
        word = words[k]
        while word:
            total += weights[(k << 6) + lowest_bit(word)]
            word &= word - np.uint64(1)
    return total


@inlined
def xorshift(word: Any) -> Any:
    """The number after ``word``, which is not 0, in the sequence of a xorshift generator (Marsaglia 2003)."""
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    return word ^ (word << np.uint64(17))

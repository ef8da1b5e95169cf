"""Kernels of pseudorandom subsets that need no memory: a keyed permutation, and questions about the sets it defines.

The permutation of ``0 … size-1`` under ``key`` is the generalized Feistel network of Black and Rogaway (2002): a number
is written in two digits to a base whose square is at least ``size``, rounds add a keyed hash of one digit to the other,
and numbers that leave ``0 … size-1`` are permuted again until they return (cycle walking).  Each round can be undone,
so it is a bijection whatever the hash.  The subset of ``count`` numbers under ``key`` holds ``v`` iff the
permutation takes ``v`` below ``count``: exactly ``count`` numbers, and the i-th of them is where the inverse takes
``i``.

Predicate ``n`` has ``sizes[n]``, ``counts[n]`` and the key ``key_of(seed, n)``.  Sizes are below 2**31.
"""

from __future__ import annotations

import numpy as np

from parcomp.jit import inlined, kernel

__all__ = ["accepting", "flags", "meet", "overlapping", "permute", "shared_codes", "unpermute"]

_ROUNDS = 6


@inlined
def _mix(word):  # type: ignore[no-untyped-def]
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inlined
def key_of(seed, number):  # type: ignore[no-untyped-def]
    """The key of predicate ``number``."""
    return _mix(_mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)) + np.uint64(number))


@inlined
def _base_of(size):  # type: ignore[no-untyped-def]
    """The least number whose square is at least ``size``."""
    base = np.uint64(np.sqrt(np.float64(size)))
    while base * base < np.uint64(size):
        base += np.uint64(1)
    return base


@inlined
def _shift(digit, key, turn, base):  # type: ignore[no-untyped-def]
    """By how much a round moves one digit, given the other."""
    word = _mix(key + (np.uint64(turn) << np.uint64(32)) + digit + np.uint64(1))
    return ((word >> np.uint64(32)) * base) >> np.uint64(32)


@kernel
def permute(value, key, size, base):  # type: ignore[no-untyped-def]
    """Where the permutation takes ``value``; all arguments are uint64."""
    while True:
        left, right = value // base, value % base
        for turn in range(_ROUNDS):
            moved = left + _shift(right, key, turn, base)
            if moved >= base:
                moved -= base
            left, right = right, moved
        value = left * base + right
        if value < size:
            return value


@kernel
def unpermute(value, key, size, base):  # type: ignore[no-untyped-def]
    """What the permutation takes to ``value``; all arguments are uint64."""
    while True:
        left, right = value // base, value % base
        for turn in range(_ROUNDS - 1, -1, -1):
            moved = right + base - _shift(left, key, turn, base)
            if moved >= base:
                moved -= base
            left, right = moved, left
        value = left * base + right
        if value < size:
            return value


@kernel
def flags(seed, numbers, counts, size):  # type: ignore[no-untyped-def]
    """Some predicates over ``size`` values, one boolean for each value."""
    base, values = _base_of(size), np.uint64(size)
    found = np.zeros((len(numbers), size), np.bool_)
    for i in range(len(numbers)):
        key, count = key_of(seed, numbers[i]), counts[numbers[i]]
        if 2 * count <= size:
            for j in range(count):
                found[i, unpermute(np.uint64(j), key, values, base)] = True
        else:
            found[i, :] = True
            for j in range(count, size):
                found[i, unpermute(np.uint64(j), key, values, base)] = False
    return found


@kernel
def accepting(seed, numbers, codes, counts, sizes):  # type: ignore[no-untyped-def]
    """Whether predicate ``numbers[i]`` accepts ``codes[i]``."""
    found = np.empty(len(numbers), np.bool_)
    for i in range(len(numbers)):
        n = numbers[i]
        place = permute(np.uint64(codes[i]), key_of(seed, n), np.uint64(sizes[n]), _base_of(sizes[n]))
        found[i] = np.int64(place) < counts[n]
    return found


@kernel
def meet(seed, first, count, second, limit, size):  # type: ignore[no-untyped-def]
    """Whether predicates ``first`` of ``count`` and ``second`` of ``limit`` values share one of the ``size`` values."""
    base, values = _base_of(size), np.uint64(size)
    mine, theirs = key_of(seed, first), key_of(seed, second)
    for j in range(count):
        value = unpermute(np.uint64(j), mine, values, base)
        if np.int64(permute(value, theirs, values, base)) < limit:
            return True
    return False


@kernel
def overlapping(seed, first, second, counts, sizes):  # type: ignore[no-untyped-def]
    """Whether predicates ``first[i]`` and ``second[i]`` of one attribute share a value."""
    found = np.empty(len(first), np.bool_)
    for i in range(len(first)):
        p, r = first[i], second[i]
        # Two sets that hold more values together than there are share one.
        found[i] = counts[p] + counts[r] > sizes[p]
        if found[i]:
            continue
        if counts[r] < counts[p]:
            p, r = r, p
        found[i] = meet(seed, p, counts[p], r, counts[r], sizes[p])
    return found


@kernel
def shared_codes(seed, numbers, start, counts, sizes):  # type: ignore[no-untyped-def]
    """A code that all predicates ``numbers[start[i]:start[i + 1]]`` of one attribute accept; -1 if there is none."""
    codes = np.full(len(start) - 1, -1, np.int64)
    for i in range(len(codes)):
        least = numbers[start[i]]
        for k in range(start[i] + 1, start[i + 1]):
            if counts[numbers[k]] < counts[least]:
                least = numbers[k]
        size = sizes[least]
        base, values, key = _base_of(size), np.uint64(size), key_of(seed, least)
        for j in range(counts[least]):
            value = unpermute(np.uint64(j), key, values, base)
            held = True
            for k in range(start[i], start[i + 1]):
                n = numbers[k]
                if n != least and np.int64(permute(value, key_of(seed, n), values, base)) >= counts[n]:
                    held = False
                    break
            if held:
                codes[i] = np.int64(value)
                break
    return codes

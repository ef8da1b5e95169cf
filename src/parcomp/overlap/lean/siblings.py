"""Write a workload with fewer queries, so that every row weighs what it did.

Two queries are *siblings* if they differ on one attribute alone, and no value of it satisfies both.  A row then
satisfies at most one of them, and one of them just if it satisfies the query that accepts the values of both there and
is like them elsewhere.  So for weights v ≤ w of siblings p and q with the union u,

    v·p(x) + w·q(x) = v·u(x) + (w - v)·q(x) for every row x,

and the right-hand side has no more queries than the left.  Where u accepts all values it does not constrain the
attribute any more: women and men are everybody.

The splitting bound of the right-hand side is never above that of the left, since for both siblings together no more
than the weight of u has to be shared out.  Where queries constrain few attributes of few values it is much lower: a
fractional row that has each of two values by half satisfies half of each sibling, and half of their union once.

Each step leaves fewer queries, or as many with fewer rejected values, so it comes to an end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np

from parcomp.bits import word_count
from parcomp.model.compiled import CompiledWorkload
from parcomp.slices import SLICE, Slices, sliced

__all__ = ["unite_siblings"]

_Query: TypeAlias = tuple[int, ...]
"""The masks of a query, ascending by attribute, by their numbers in a :class:`_Masks`."""

_LOOKED_AT = 16
"""So many queries that differ on one attribute alone are compared with each other query."""

_STEP = 64
"""Looking one query up takes about as long as so many word operations."""


class _Masks:
    """Sets of values of attributes, numbered as they come: the compiled workload's own first."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        self.attribute: list[int] = compiled.mask_attribute.tolist()
        words, offset = compiled.mask_words, compiled.mask_offset.tolist()
        self.bits = [int.from_bytes(words[begin:end].tobytes(), "little") for begin, end in pairwise(offset)]
        self._full = [(1 << size) - 1 for size in compiled.sizes.tolist()]
        self._number = {key: number for number, key in enumerate(zip(self.attribute, self.bits, strict=True))}

    def union(self, mask: int, other: int) -> tuple[int, ...]:
        """The values of either of two masks of an attribute: one mask, or none if these are all values."""
        attribute, bits = self.attribute[mask], self.bits[mask] | self.bits[other]
        if bits == self._full[attribute]:
            return ()
        number = self._number.setdefault((attribute, bits), len(self.bits))
        if number == len(self.bits):
            self.attribute.append(attribute)
            self.bits.append(bits)
        return (number,)


@sliced
def unite_siblings(compiled: CompiledWorkload) -> Slices[CompiledWorkload]:
    """A workload that weighs each row as ``compiled`` does, with siblings replaced by their unions."""
    masks = _Masks(compiled)
    start, term = compiled.start.tolist(), compiled.term.tolist()
    weight: dict[_Query, int] = {}
    for (begin, end), one in zip(pairwise(start), compiled.weights.tolist(), strict=True):
        query = tuple(term[begin:end])
        weight[query] = weight.get(query, 0) + one
    alike: dict[tuple[_Query, int, _Query], list[_Query]] = {}
    waiting = list(reversed(weight))
    work = 0
    while waiting:
        query = waiting.pop()
        if not weight.get(query):
            continue
        work += _STEP * (1 + len(query) * len(query))
        for place, mask in enumerate(query):
            before, after = query[:place], query[place + 1 :]
            known = alike.setdefault((before, masks.attribute[mask], after), [])
            sibling = next(
                (one for one in known if weight[one] and not masks.bits[one[place]] & masks.bits[mask]), None
            )
            if sibling is not None:
                shared = min(weight[query], weight[sibling])
                union = (*before, *masks.union(mask, sibling[place]), *after)
                weight[query] -= shared
                weight[sibling] -= shared
                weight[union] = weight.get(union, 0) + shared
                waiting += [query, union]
                break
            if len(known) == _LOOKED_AT:
                known[:] = [one for one in known if weight[one]]
            if len(known) < _LOOKED_AT and query not in known:
                known.append(query)
        if work >= SLICE:
            yield work
            work = 0
    yield work
    return _compiled(compiled, masks, {query: one for query, one in weight.items() if one})


def _compiled(compiled: CompiledWorkload, masks: _Masks, weight: dict[_Query, int]) -> CompiledWorkload:
    """The queries as a workload on the attributes of ``compiled``, with the masks that they use."""
    used = sorted({mask for query in weight for mask in query}, key=lambda mask: (masks.attribute[mask], mask))
    place = {mask: number for number, mask in enumerate(used)}
    attribute = np.array([masks.attribute[mask] for mask in used], np.int32)
    widths = [word_count(int(size)) for size in compiled.sizes[attribute].tolist()]
    words = b"".join(masks.bits[mask].to_bytes(8 * width, "little") for mask, width in zip(used, widths, strict=True))
    return CompiledWorkload(
        compiled.sizes,
        np.array(list(weight.values()), np.int64),
        np.cumsum([0, *map(len, weight)], dtype=np.int64),
        np.array([place[mask] for query in weight for mask in query], np.int32),
        attribute,
        np.cumsum([0, *widths], dtype=np.int64),
        np.frombuffer(words, np.uint64).copy(),
    )

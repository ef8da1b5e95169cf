"""The room that a stack of levels takes, and where to get more.

Memory that is not written to costs nothing, while copying what is there takes time.  So arrays are made much longer
than what they are to hold, as long as that is little, and twice as long where it is much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcomp.overlap.value import layout

__all__ = ["Room", "bytes_of", "fits", "grow_levels", "make_stack"]

# Arrays get so many times the room at once up to this many bytes, and twice the room beyond.
_GROWTH, _ROOMY = 16, 1 << 28

# So many levels a stack has at first.
_LEVELS = 64


class Room(NamedTuple):
    """How many entries a level takes of the arrays that levels share."""

    bits: int
    values: int
    slots: int
    queries: int


_PER_LEVEL = ("live", "stride", "bits_at", "value_at", "slots", "slot_at", "row", "head", "sifted", "counted", "aside")
_SHARED = {
    "bits": ("bits",),
    "values": ("value", "score"),
    "slots": ("slot_query", "slot_term", "multiplier", "slot_of"),
    "queries": ("query", "weight", "first"),
}
"""The arrays of a stack that have an entry for each level, and those of which each level owns a region."""


def _more(length: int, width: int) -> int:
    """More room than for ``length`` entries of ``width`` bytes."""
    return max(2, min(_GROWTH, _ROOMY // max(1, length * width))) * length + 64


def grow_levels(levels: layout.Levels) -> layout.Levels:
    """The same stack with at least twice the room."""

    def grow(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        longer = np.zeros((_more(len(array), array.nbytes // max(1, len(array))), *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        return longer

    return layout.Levels._make(grow(array) for array in levels)


def make_stack(like: layout.Levels, room: Room) -> layout.Levels:
    """A stack for levels of the same workload with room for one such level and more; its level 0 is empty."""
    lengths = dict.fromkeys(_PER_LEVEL, _LEVELS)
    for kind, names in _SHARED.items():
        for name in names:
            lengths[name] = _more(getattr(room, kind), getattr(like, name).itemsize)
    return layout.Levels(
        **{name: np.zeros((lengths[name], *array.shape[1:]), array.dtype) for name, array in like._asdict().items()}
    )


def fits(levels: layout.Levels, room: Room) -> bool:
    """Whether a stack that holds nothing has room for such a level."""
    return all(len(getattr(levels, name)) >= getattr(room, kind) for kind, names in _SHARED.items() for name in names)


def bytes_of(arrays: layout.Levels | layout.Scratch) -> int:
    """How much memory some arrays take."""
    return sum(array.nbytes for array in arrays)

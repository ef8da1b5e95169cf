"""Find equal lists: equal queries are equal lists of masks, equal values equal lists of words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.overlap.masks import _kernels as kernels
from parcomp.slices import SLICE, Slices, sliced

__all__ = ["merge_lists"]

Labels = npt.NDArray[np.int32]


@sliced
def merge_lists(start: npt.NDArray[np.int64], item: npt.NDArray[np.integer]) -> Slices[tuple[Labels, Labels]]:
    """Label equal lists alike: the label of each list, and the first list of each label.

    List ``i`` is ``item[start[i]:start[i + 1]]``; labels count from 0 in the order of first occurrence.
    """
    lists = len(start) - 1
    label, first = np.empty(lists, np.int32), np.empty(lists, np.int32)
    slot = np.full(max(64, 1 << (2 * lists - 1).bit_length() if lists else 0), -1, np.int32)
    done = labels = 0
    while done < lists:
        done, labels, work = kernels.label_lists(start, item, label, first, slot, done, labels, SLICE)
        yield int(work)
    return label, first[:labels].copy()

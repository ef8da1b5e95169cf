"""Which queries of a small workload each possible row satisfies: a column for each cell of the domain."""

from __future__ import annotations

from functools import reduce

import numpy as np

from tests.workloads.judged import Judged

__all__ = ["cell_matrix"]


def cell_matrix(judged: Judged, *, outside: bool = False, columns: bool = False) -> np.ndarray:
    """``[q, c]``: whether query q counts cell c; with ``outside``, attributes have a value more, which none accepts.

    To the ``columns`` of a workload a predicate of all declared values is none, and accepts that value too.
    """
    lines = []
    for accepted in judged.accepted:
        flags = []
        for name, values in judged.values.items():
            free = name not in accepted or (columns and accepted[name] >= set(values))
            flags.append(np.array([free or value in accepted[name] for value in values] + [free] * outside))
        lines.append(reduce(np.multiply.outer, flags).ravel())
    cells = int(np.prod([len(values) + outside for values in judged.values.values()]))
    return np.array(lines, np.float64).reshape(len(lines), cells)

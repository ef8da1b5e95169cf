"""Which queries of a small workload each possible row satisfies: a column for each cell of the domain."""

from __future__ import annotations

from functools import reduce

import numpy as np

from tests.workloads.judged import Judged

__all__ = ["cell_matrix"]


def cell_matrix(judged: Judged, *, outside: bool = False) -> np.ndarray:
    """``[q, c]``: whether query q counts cell c; with ``outside``, each attribute has one value more, which none accepts."""
    lines = []
    for accepted in judged.accepted:
        flags = [
            np.array(
                [name not in accepted or value in accepted[name] for value in values] + [name not in accepted] * outside
            )
            for name, values in judged.values.items()
        ]
        lines.append(reduce(np.multiply.outer, flags).ravel())
    cells = int(np.prod([len(values) + outside for values in judged.values.values()]))
    return np.array(lines, np.float64).reshape(len(lines), cells)

"""Which queries accept each value of each attribute: what searches for rows read, whatever they look for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.rows import _acceptance_kernels as kernels
from parcomp.overlap.rows.enumeration import accepting_queries

__all__ = ["Acceptance"]


class Acceptance:
    """The queries of a compiled workload by the values that they accept; ``arrays`` is what kernels are handed."""

    def __init__(self, compiled: CompiledWorkload) -> None:
        self._queries = compiled.query_count
        first, accepting = accepting_queries(compiled)
        # Bits beyond the last query are never cleared, so that they tell nothing apart.
        telling = np.zeros((compiled.attribute_count, accepting.shape[1]), np.uint64)
        for attribute in range(compiled.attribute_count):
            telling[attribute] = ~np.bitwise_and.reduce(accepting[first[attribute] : first[attribute + 1]], axis=0)
        self.arrays = kernels.AcceptedValues(first, accepting, telling)

    def flags(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which queries each row satisfies; a row has the number of a value for each attribute."""
        flags = np.zeros((len(rows), self._queries), np.bool_)
        kernels.members(self.arrays, rows, flags)
        return flags

"""What becomes of a stored value: the code of a declared value, or the reason why it has none."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["CLIPPED", "MOVED", "NULL", "OUT_OF_RANGE", "REASONS", "UNKNOWN", "WRONG_TYPE", "Outcomes"]

Outcomes: TypeAlias = npt.NDArray[np.int64]
"""A code, from 0 on, or one of the reasons below, for each value; on its way to the column a mark may be added."""

CLIPPED, MOVED = 2**61, 2**62
"""The marks: what is added to the code of a number that lay beyond the ends and was taken to the nearer one, and of one
that lay between two values and was taken to the nearer one.

No code is as large, since no attribute has more than 2**31 - 1 values.
"""

NULL, UNKNOWN, OUT_OF_RANGE, WRONG_TYPE = -1, -2, -3, -4
"""No value; a name that is not declared; a number or a date beyond the declared ends; not a value of this kind."""

REASONS: dict[int, str] = {NULL: "null", UNKNOWN: "unknown", OUT_OF_RANGE: "out_of_range", WRONG_TYPE: "wrong_type"}
"""The reasons, by the names that reports give them."""

"""The state of a worker, which kernels and Python read and write."""

from __future__ import annotations

# The level in work (0: nothing is left to do), the weight to beat, that of the heaviest row known, the scale of
# multipliers, and counters of levels bounded and of work done.
DEPTH, TARGET, BEST, SHIFT, NODES, WORK = range(6)
STATE = 6

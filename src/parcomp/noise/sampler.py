"""Draw noise: OpenDP's exact samplers of discrete distributions, on the operating system's randomness.

Noise is drawn in exact rational arithmetic for the very scale that is given, and added as an integer without bounds;
OpenDP then moves the sum to the nearer end of 64 bits, which is post-processing.

A value beyond ±2⁶² is moved to the nearer end *before* noise is added.  That brings no two values further apart, so
sensitivity does not grow, and no error can tell that a value was large.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from functools import lru_cache

# OpenDP switches Rust's backtraces on unless told otherwise: they slow down errors, and hold addresses.
os.environ.setdefault("RUST_BACKTRACE", "0")

import opendp.prelude as dp

from parcomp.noise.mechanism import LARGEST_VALUE, Mechanism

__all__ = ["add_noise", "measurement_of"]

# OpenDP calls "contrib" what has no vetted proof yet, which is all that draws noise.
dp.enable_features("contrib")


def add_noise(mechanism: Mechanism, values: Sequence[int]) -> list[int]:
    """Each value with noise of its own, drawn independently of all others.

    >>> len(add_noise(Mechanism("discrete-laplace", 2.0), [10, 20, 30]))
    3
    """
    clamped = [min(max(int(operator.index(value)), -LARGEST_VALUE), LARGEST_VALUE) for value in values]
    noisy: list[int] = measurement_of(mechanism)(clamped)
    return noisy


@lru_cache(maxsize=4096)
def measurement_of(mechanism: Mechanism) -> dp.Measurement:
    """OpenDP's measurement on lists of 64-bit integers; its ``map`` states what a change of the list costs."""
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    if mechanism.kind == "discrete-laplace":
        return dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=mechanism.scale)
    return dp.m.make_gaussian(space, dp.l2_distance(T="i64"), scale=mechanism.scale)

"""Kernels on the atoms of a workload: sums over the pairs of queries of each atom.

Atom ``x`` has the queries ``index[start[x]:start[x + 1]]``.  Floats throughout: these sums only lead to a strategy,
whose charge is worked out in integers.
"""

# mypy: ignore-errors

from __future__ import annotations

from parcomp.jit import kernel

__all__ = ["add_pairs", "forms"]


@kernel
def add_pairs(start, index, weight, gram):
    """Add the weight of each atom to ``gram[q, r]`` for each pair q ≥ r of its queries: the lower triangle."""
    for x in range(len(start) - 1):
        if weight[x] > 0:
            for i in range(start[x], start[x + 1]):
                for j in range(start[x], i + 1):
                    gram[index[i], index[j]] += weight[x]


@kernel
def forms(start, index, matrix, form):
    """Set ``form[x]`` to wᵀ·M·w, with w the 0/1 vector of the queries of atom ``x`` and M symmetric."""
    for x in range(len(start) - 1):
        total = 0.0
        for i in range(start[x], start[x + 1]):
            off = 0.0
            for j in range(start[x], i):
                off += matrix[index[i], index[j]]
            total += matrix[index[i], index[i]] + 2 * off
        form[x] = total

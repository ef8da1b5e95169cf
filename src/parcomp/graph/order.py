"""An order of a query graph's vertices, and the graph in that order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcomp.graph import _packed_kernels as kernels
from parcomp.graph.query_graph import QueryGraph
from parcomp.slices import SLICE, Slices, sliced

__all__ = ["degeneracy_order", "renumber"]


@sliced
def degeneracy_order(graph: QueryGraph) -> Slices[npt.NDArray[np.int64]]:
    """The vertices, last those whose neighbors weigh least, each among those that come before it."""
    size = graph.vertex_count
    order, reach, placed = np.empty(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_)
    done = 0
    while done < size:
        done, work = kernels.weigh_neighbors(graph.adjacency, graph.weights, reach, done, SLICE)
        yield int(work)
    left = size
    while left:
        left, work = kernels.order_by_degeneracy(
            graph.adjacency, graph.weights, reach, np.zeros(size), placed, order, left, SLICE
        )
        yield int(work)
    return order


@sliced
def renumber(graph: QueryGraph, order: npt.NDArray[np.int64], words: npt.NDArray[np.uint64]) -> Slices[None]:
    """Write the adjacency of the vertices in another order to ``words``, which are zero and as many as there are."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    renamed = words.reshape(graph.adjacency.shape)
    done = 0
    while done < len(order):
        done, work = kernels.fill_induced(graph.adjacency, order, position, renamed, done, SLICE)
        yield int(work)

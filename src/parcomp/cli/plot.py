"""A picture of a query graph: color classes as colors, the maximum overlap ringed."""

from __future__ import annotations

from cmath import phase
from collections.abc import Sequence
from itertools import combinations
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from parcomp.graph import Coloring, QueryGraph
from parcomp.picture import picture

__all__ = ["save_query_graph"]

_DARK = "#1b1f24"
_PALETTE = (
    *("#8ecae6", "#ffb703", "#90be6d", "#f28482", "#cdb4db"),
    *("#bc6c25", "#84a59d", "#f7ede2", "#577590", "#e5989b"),
)
_LABELED = 12
"""Up to this many queries each vertex carries its text; beyond, the picture shows structure only."""


def save_query_graph(
    path: Path, graph: QueryGraph, coloring: Coloring, members: Sequence[int], title: str, labels: Sequence[str]
) -> None:
    """Draw the graph to a PNG file; ``members`` are the vertices of the maximum overlap."""
    with picture(path, figsize=(9, 7.6)) as (figure, axes):
        import networkx as nx

        drawn = graph.to_networkx()
        labeled = graph.vertex_count <= _LABELED
        positions = nx.circular_layout(drawn) if labeled else _positions(drawn, members)
        colors = [_PALETTE[int(color) % len(_PALETTE)] for color in coloring.classes]
        lit = [(u, v) for u, v in combinations(sorted(members), 2) if drawn.has_edge(u, v)]
        nx.draw_networkx_edges(drawn, positions, ax=axes, edge_color="#b8c0cc", width=1.2 if labeled else 0.4)
        nx.draw_networkx_edges(drawn, positions, ax=axes, edgelist=lit, edge_color=_DARK, width=3 if labeled else 1.6)
        ringed = set(members)
        nx.draw_networkx_nodes(
            drawn,
            positions,
            ax=axes,
            node_color=colors,
            node_size=5200 if labeled else 170,
            edgecolors=[_DARK if v in ringed else "white" for v in drawn],
            linewidths=[(3.0 if labeled else 2.0) if v in ringed else 0.8 for v in drawn],
        )
        if labeled:
            nx.draw_networkx_labels(drawn, positions, dict(enumerate(labels)), ax=axes, font_size=8)
        axes.set_title(title, fontsize=12, pad=14)
        count = coloring.class_count
        caption = f"{count} colors: queries of one color never meet in a row  ·  ringed: the maximum overlap"
        figure.text(0.5, 0.02, caption, ha="center", fontsize=9, color="#57606a")
        axes.set_axis_off()
        axes.margins(0.16 if labeled else 0.05)


def _positions(drawn: Any, members: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Rings around the maximum overlap: what overlaps it, what overlaps that, and all others."""
    rings, placed = [list(members)], set(members)
    for _ in range(2):
        near = [v for v in drawn if v not in placed and any(u in placed for u in drawn[v])]
        rings.append(near)
        placed.update(near)
    rings.append([v for v in drawn if v not in placed])
    angle: dict[int, float] = {}
    positions: dict[int, tuple[float, float]] = {}
    for radius, ring in zip((0.16, 0.48, 0.78, 1.0), rings, strict=True):
        # A query stands near the direction in which the inner queries that it overlaps lie.
        pull = {v: sum(map(_unit, [angle[u] for u in drawn[v] if u in angle])) for v in ring}
        ring.sort(key=lambda v: phase(pull[v]) if pull[v] else v)
        for place, vertex in enumerate(ring):
            angle[vertex] = 2 * pi * place / len(ring)
            point = radius * _unit(angle[vertex])
            positions[vertex] = (point.real, point.imag)
    return positions


def _unit(angle: float) -> complex:
    return complex(cos(angle), sin(angle))

"""What all pictures share: colors that color-blind readers tell apart, names, axes, and files that come out the same.

The colors are those of Okabe and Ito (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parcomp.errors import ParcompError

__all__ = [
    "ALGORITHMS",
    "ALGORITHM_COLORS",
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "METHODS",
    "ORANGE",
    "PURPLE",
    "SKY",
    "SPREAD",
    "VERMILION",
    "YELLOW",
    "limit_line",
    "new_figure",
    "save_figure",
]

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
)
GREY = "#8c959f"
SPREAD = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
"""Colors of several lines in one picture."""

METHODS = {"parcomp": "Parcomp", "paper": "the paper's method, run here"}
ALGORITHMS = {"clique": "exact clique", "overlap": "exact maximum overlap", "chromatic": "approximate chromatic number"}
ALGORITHM_COLORS = {"clique": ORANGE, "overlap": BLUE, "chromatic": GREEN}


def new_figure(rows: int = 1, columns: int = 1, *, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, which pyplot knows nothing of."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an optional dependency
    except ImportError as error:
        raise ParcompError("the pictures of experiments need matplotlib: pip install 'parcomp[experiments]'") from error
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, **options)
    for one in axes.flat if hasattr(axes, "flat") else [axes]:
        one.grid(color="#d8dee4", linewidth=0.6)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def limit_line(axes: Any, seconds: float, text: str = "", *, vertical: bool = False, left: bool = False) -> None:
    """A line at a limit, with its text beside it: above its right end, or its left one."""
    line = axes.axvline if vertical else axes.axhline
    line(seconds, color=GREY, linestyle=(0, (4, 3)), linewidth=1.1, zorder=1)
    if not text:
        return
    place: dict[str, Any] = {"fontsize": 8, "color": "#57606a", "textcoords": "offset points"}
    if vertical:
        axes.annotate(text, (seconds, 0.03), xycoords=axes.get_xaxis_transform(), xytext=(-4, 0), ha="right", **place)
    else:
        x, side = (0.01, "left") if left else (0.99, "right")
        axes.annotate(text, (x, seconds), xycoords=axes.get_yaxis_transform(), xytext=(0, 3), ha=side, **place)


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG, both the same from run to run."""
    from matplotlib import rc_context  # noqa: PLC0415  an optional dependency

    paths: Sequence[Path] = (stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg"))
    with rc_context({"svg.hashsalt": stem.name}):
        for path in paths:
            dated = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=130, metadata=dated)
    return list(paths)

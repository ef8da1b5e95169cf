"""How the time for the maximum overlap grows with the number of queries t and of attributes m, measured and plotted.

The paper states O(m t²) for the query graph alone.  The exponent reported is the slope of a straight line through the
finished runs on logarithmic axes: near 1 means linear.  Census queries always have five attributes, so they appear
against t only; a set of marginals has one size for each number of attributes, so it appears in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.harness import Row, Settings, Timing, benchmark
from benchmarks.overlap import Solved, solve, warm_up
from parcomp import Workload
from parcomp.experiments import workloads

__all__ = ["growth_in_attributes", "growth_in_queries"]

Family = tuple[str, Sequence[int], Callable[[int], Workload]]
"""A name, the sizes to try in ascending order, and the workload of a size."""

Point = tuple[int, Solved]


@benchmark("growth-t")
def growth_in_queries(settings: Settings) -> Iterator[Row]:
    """Time against the number of queries."""
    quick = settings.quick
    families: list[Family] = [
        ("census", _doubling(125, 1_000 if quick else 16_000), lambda t: workloads.census_sample(t, 0)),
        ("marginals, 10 values", range(4, 8 if quick else 13, 2), lambda m: workloads.marginals(m, 10, 3)),
        ("boxes, m=5", _doubling(125, 500 if quick else 4_000), lambda t: workloads.boxes(t, 5, 1_000, 0)),
        ("uniform, m=10", _doubling(20, 40 if quick else 160), lambda t: workloads.uniform_workload(t, 10, 4, 0)),
        ("uniform, m=50", _doubling(20, 80 if quick else 320), lambda t: workloads.uniform_workload(t, 50, 4, 0)),
    ]
    yield from _measure(families, len, "queries", settings, settings.out / "growth-t.png")


@benchmark("growth-m")
def growth_in_attributes(settings: Settings) -> Iterator[Row]:
    """Time against the number of attributes."""
    quick = settings.quick
    families: list[Family] = [
        ("marginals, 10 values", range(4, 8 if quick else 13, 2), lambda m: workloads.marginals(m, 10, 3)),
        ("boxes, t=1,000", (2, 4) if quick else (1, 2, 3, 4, 6, 8), lambda m: workloads.boxes(1_000, m, 1_000, 0)),
        ("uniform, t=60", _doubling(5, 20 if quick else 160), lambda m: workloads.uniform_workload(60, m, 4, 0)),
    ]
    yield from _measure(families, _attribute_count, "attributes", settings, settings.out / "growth-m.png")


def _measure(
    families: Sequence[Family], size_of: Callable[[Workload], int], axis: str, settings: Settings, picture: Path
) -> Iterator[Row]:
    warm_up()
    limit = 5.0 if settings.quick else 60.0
    measured: dict[str, list[Point]] = {}
    for name, sizes, build in families:
        points: list[Point] = []
        for size in sizes:
            workload = build(size)
            points.append((size_of(workload), solve(workload, limit)))
            if not points[-1][1].exact:
                break
        measured[name] = points
        times = "  ".join(f"{size:,}: {Timing(one.seconds, one.exact)}" for size, one in points)
        yield Row(name, {"exponent": _exponent(points), f"time by {axis}": times})
    _plot(measured, axis, limit, picture)


def _exponent(points: Sequence[Point]) -> float | None:
    finished = [(size, one.seconds) for size, one in points if one.exact]
    if len(finished) < 2:
        return None
    sizes, seconds = np.log(np.array(finished)).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def _plot(measured: dict[str, list[Point]], axis: str, limit: float, picture: Path) -> None:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, points in measured.items():
        sizes, seconds = [size for size, _ in points], [one.seconds for _, one in points]
        exponent = _exponent(points)
        label = name if exponent is None else f"{name} (exponent {exponent:.2f})"
        (line,) = axes.plot(sizes, seconds, marker="o", label=label)
        unfinished = [(size, one.seconds) for size, one in points if not one.exact]
        if unfinished:
            axes.plot(*zip(*unfinished, strict=True), "o", markerfacecolor="white", markeredgecolor=line.get_color())
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds to the exact answer", title=f"Growth with {axis}")
    axes.axhline(limit, color="gray", linewidth=0.8, linestyle=":")
    axes.legend(fontsize="small", title="hollow: cut off at the dotted limit", title_fontsize="x-small")
    picture.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)  # draws without a display, whatever backend is configured
    figure.savefig(picture, dpi=150)


def _attribute_count(workload: Workload) -> int:
    return len(workload.domain.attributes)


def _doubling(first: int, last: int) -> list[int]:
    sizes = [first]
    while sizes[-1] * 2 <= last:
        sizes.append(sizes[-1] * 2)
    return sizes

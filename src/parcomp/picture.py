"""Pictures in PNG files, by matplotlib, which is an extra and slow to import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parcomp.errors import ArgumentError, ParcompError, shown

__all__ = ["picture"]


@contextmanager
def picture(path: Path, **figure: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, and write them to a file once they are drawn; what draws may need networkx too."""
    if path.suffix.lower() != ".png":
        raise ArgumentError(f"a picture is a PNG file, NAME.png, not {shown(path.name)}")
    try:
        import matplotlib as mpl  # noqa: PLC0415  an optional dependency

        mpl.use("Agg")
        from matplotlib import pyplot as plt  # noqa: PLC0415  only after the backend is chosen

        drawn, axes = plt.subplots(dpi=120, **figure)
        yield drawn, axes
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, bbox_inches="tight")
        plt.close(drawn)
    except ImportError as error:
        raise ParcompError("a picture needs matplotlib and networkx: pip install 'parcomp[plot]'") from error

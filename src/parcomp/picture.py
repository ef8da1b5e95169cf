"""Pictures in PNG files, by matplotlib, which is an extra and slow to import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parcomp.errors import ArgumentError, FileError, ParcompError, shown

__all__ = ["drawing", "picture"]


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


@contextmanager
def drawing(path: str | Path | None, axes: Any = None, **figure: Any) -> Iterator[Any]:
    """Yield axes to draw on: those given, else new ones, which are written to a file if there is a path.

    Without a path they are pyplot's, so that a notebook shows them; with one, pyplot and its backend are left alone.
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() != ".png":
        raise ArgumentError(f"a picture is a PNG file, NAME.png, not {shown(target.name)}")
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an optional dependency
    except ImportError as error:
        raise ParcompError("a picture needs matplotlib: pip install 'parcomp[plot]'") from error
    settings = {"layout": "constrained", **figure}
    if axes is None and target is None:
        from matplotlib import pyplot as plt  # noqa: PLC0415

        drawn = plt.figure(**settings)
    elif axes is None:
        drawn = Figure(**settings)
    else:
        drawn = axes.figure
    yield drawn.add_subplot() if axes is None else axes
    if target is not None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            drawn.savefig(target, dpi=120, bbox_inches="tight")
        except OSError as error:
            raise FileError(target, f"cannot be written ({error.strerror})") from None

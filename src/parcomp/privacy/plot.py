"""A picture of trade-off functions: type II error over type I error, the closer to the diagonal the better."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from parcomp.picture import picture
from parcomp.privacy.tradeoff import TradeOff

__all__ = ["save_tradeoffs"]


def save_tradeoffs(path: Path, functions: Mapping[str, TradeOff], title: str, caption: str = "") -> None:
    """Draw functions, by their labels, to a PNG file."""
    alphas = np.unique(np.concatenate((np.linspace(0, 1, 801), np.geomspace(1e-6, 1, 200))))
    with picture(path, figsize=(7, 6.4)) as (figure, axes):
        axes.plot([0, 1], [1, 0], color="#8c959f", linewidth=1, linestyle=":", label="nothing disclosed")
        for label, f in functions.items():
            values = f.values(alphas)
            (line,) = axes.plot(alphas, values, linewidth=2, label=label)
            axes.fill_between(alphas, values, 1 - alphas, color=line.get_color(), alpha=0.06)
        axes.set(xlabel="type I error α", ylabel="least type II error f(α)", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.grid(color="#d0d7de", linewidth=0.5)
        axes.set_title(title, fontsize=12, pad=12)
        axes.legend(frameon=False)
        if caption:
            figure.text(0.5, 0.005, caption, ha="center", fontsize=9, color="#57606a")

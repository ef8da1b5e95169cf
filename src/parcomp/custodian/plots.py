"""Quotes as pictures: what asking would cost, beside what remains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.figures.plots import BAR, plain_frame, thinned
from parcomp.picture import drawing

if TYPE_CHECKING:
    from parcomp.custodian.answer import Quote

__all__ = ["plot_quotes"]


def plot_quotes(quotes: Sequence[Quote], path: str | Path | None, axes: Any) -> Any:
    """Draw what each statement costs, and what remains on its rows."""
    places = range(1, len(quotes) + 1)
    with drawing(path, axes, figsize=(7.0, 0.9 + 0.35 * max(min(len(quotes), 40), 3))) as drawn:
        drawn.barh(places, [quote.remaining for quote in quotes], color="#d0d7de", height=0.75, label="remaining")
        colors = [BAR if quote.fits else "#cf222e" for quote in quotes]
        drawn.barh(places, [quote.cost for quote in quotes], color=colors, height=0.4, label="cost")
        drawn.invert_yaxis()
        drawn.set_yticks(thinned(list(places)), [str(place) for place in thinned(list(places))])
        drawn.set(xlabel="cost, in the measure's parameter", ylabel="statement", title="what asking would cost")
        drawn.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        plain_frame(drawn)
    return drawn

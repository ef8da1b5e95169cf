"""Estimates of a workload as text, as a table in a notebook and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.figures import count_in_words
from parcomp.markup import block, table
from parcomp.tabular import shortened, text_table

if TYPE_CHECKING:
    from parcomp.estimation.estimator import Estimate

__all__ = ["estimate_html", "estimate_text", "plot_estimate"]

_ROWS = 40
"""How many queries are listed before the rest is only counted."""

_WORDS = 60
_RIGHT = (False, False, True, True, True, True)


def estimate_text(found: Estimate) -> str:
    """The estimates as a table of text."""
    headings, rows = _table(found)
    return "\n".join([*_summary(found), text_table(headings, rows, _RIGHT), *_rest(found)])


def estimate_html(found: Estimate) -> str:
    """The estimates as a table in a notebook."""
    headings, rows = _table(found)
    return block(*_summary(found), table(headings, rows, _RIGHT), *_rest(found))


def plot_estimate(found: Estimate, path: str | Path | None, axes: Any) -> Any:
    """The raw answers with the estimates beside them."""
    from parcomp.figures.plots import plot_figures  # noqa: PLC0415  matplotlib is an extra

    counts = [found.listed(position) for position in range(len(found.values))]
    return plot_figures(
        [one.id for one in counts],
        [one.answer for one in counts],
        [one.estimate for one in counts],
        "count",
        "what all answers say together",
        path,
        axes,
    )


def _table(found: Estimate) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    percent = f"{100 * found.confidence:g} %"
    # What rests on an assumption is not guaranteed.
    held = "if Gaussian" if found.noise_assumed else "guaranteed"
    headings = ("query", "statement", "estimate", f"about {percent}", "raw", f"{percent}, {held}")
    counts = [found.listed(position) for position in range(min(_ROWS, len(found.values)))]
    decimals = max((one.decimals for one in counts), default=0)
    return headings, [(one.id, shortened(count_in_words(one.where), _WORDS), *one.texts(decimals)) for one in counts]


def _summary(found: Estimate) -> list[str]:
    methods = ", ".join(f"{found.methods.count(name):,} by {name}" for name in dict.fromkeys(found.methods))
    proven = "not above that of the raw answers, in root mean square: proven"
    proven += ", if the facts are true" if found.facts else ""
    error = proven if found.proven else "not proven: more rows may exist than were found; try a longer time_limit"
    return [f"estimates of {len(found.values):,} queries: {methods or 'none'}", f"error: {error}", *found.notes]


def _rest(found: Estimate) -> list[str]:
    return [f"… {len(found.values) - _ROWS:,} more; to_pandas() has all"] if len(found.values) > _ROWS else []

"""Figures and quotes in words and columns: what text, HTML and frames have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from parcomp.custodian.figure import Figure
from parcomp.tabular import number_text

__all__ = [
    "REHEARSED",
    "cell_text",
    "figure_columns",
    "free_name",
    "interval_text",
    "plain_fields",
    "stacked_fields",
]

REHEARSED = "rehearsed: from random rows of the domain, not from the data"
"""What every output of a rehearsed answer says."""


def interval_text(figure: Figure) -> str:
    """The interval of a figure, as people read it."""
    if figure.low is None and figure.high is None:
        return "–"
    return f"{'about ' if figure.approximate else ''}{number_text(figure.low)} to {number_text(figure.high)}"


def figure_columns(figures: Sequence[Figure]) -> list[tuple[int | float | None, ...]]:
    """Values, lower ends, upper ends and errors."""
    return [tuple(getattr(figure, name) for figure in figures) for name in ("value", "low", "high", "error")]


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, with lines after it until no other column has it."""
    while name in taken:
        name += "_"
    return name


def plain_fields(quote: Any) -> dict[str, Any]:
    """What a quote says, field by field, with an entry for each key of a mapping; what is empty is left out."""
    found: dict[str, Any] = {}
    for field in fields(quote):
        value = getattr(quote, field.name)
        if field.name == "errors_by_rows":
            # What is said of one item alone is in ``error_by_rows``.
            named = value.items() if len(quote.errors) > 1 else ()
            found |= {f"error of {name} over {rows:,} rows": one for name, told in named for rows, one in told.items()}
        elif isinstance(value, Mapping):
            found |= {f"{field.name} {key}": one for key, one in value.items()}
        elif value is not None and value != "":
            found[field.name] = value
    return found


def stacked_fields(quotes: Sequence[Any]) -> dict[str, list[Any]]:
    """The fields of quotes as columns: those that are always there, and then what any of them says beyond."""
    always = [field.name for field in fields(quotes[0]) if not isinstance(getattr(quotes[0], field.name), Mapping)]
    plain = [plain_fields(quote) for quote in quotes]
    more = dict.fromkeys(name for one in plain for name in one if name not in always)
    columns = {name: [getattr(quote, name) for quote in quotes] for name in always}
    return columns | {name: [one.get(name) for one in plain] for name in more}


def cell_text(value: object) -> str:
    """A field of a quote, as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number_text(value) if value is None or isinstance(value, (int, float)) else str(value)

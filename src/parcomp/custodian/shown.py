"""Quotes in words and columns: what text, HTML and frames have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from parcomp.costs import short_down, short_up
from parcomp.figures import growth_text, unit_of, whose
from parcomp.tabular import error_text, number_text

__all__ = ["added_in_words", "fields_in_words", "stacked_fields", "stacked_in_words"]


def _plain_fields(quote: Any) -> dict[str, Any]:
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
    named = [field.name for field in fields(quotes[0]) if not isinstance(getattr(quotes[0], field.name), Mapping)]
    # Most quotes are of statements that are measured one by one.
    always = [name for name in named if name != "strategy" or any(quote.strategy for quote in quotes)]
    plain = [_plain_fields(quote) for quote in quotes]
    more = dict.fromkeys(name for one in plain for name in one if name not in always)
    columns = {name: [getattr(quote, name) for quote in quotes] for name in always}
    return columns | {name: [one.get(name) for one in plain] for name in more}


def fields_in_words(quote: Any) -> dict[str, str]:
    """What a quote says, field by field: amounts with their unit, errors with their sign."""
    return {name: _in_words(quote, name, value) for name, value in _plain_fields(quote).items()}


def stacked_in_words(quotes: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """The names of what quotes say, and the cells of each; what is empty in all of them is left out."""
    told = [fields_in_words(quote) for quote in quotes]
    names = [name for name in dict.fromkeys(name for one in told for name in one) if name not in ("reason", "measure")]
    rows = [[str(place), *(one.get(name, "–") for name in names)] for place, one in enumerate(told, 1)]
    return ["statement", *names], rows


def added_in_words(batch: Any) -> str:
    """What all statements of a batch add to what the dataset has spent."""
    if not batch.quotes:
        return short_up(batch.adds)
    first, dearest = batch.quotes[0], max(quote.cost for quote in batch.quotes)
    return f"{growth_text(unit_of(first.measure), batch.adds, dearest)}{whose(first.rows_per_person)[1]}"


def _in_words(quote: Any, name: str, value: object) -> str:
    """A field of a quote, as people read it; what may be spent is rounded down, and what is spent up."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or not isinstance(value, (int, float)):
        return "–" if value is None else str(value)
    of_row, of_person = whose(quote.rows_per_person)
    if name == "cost":
        return f"{unit_of(quote.measure)}{short_up(value)}{of_row}"
    if name == "adds":
        return f"{growth_text(unit_of(quote.measure), value, quote.cost)}{of_person}"
    if name == "remaining" or name.startswith("left "):
        return f"{unit_of(quote.measure)}{short_down(value)}{of_row}"
    if name.startswith("epsilon "):
        return f"ε = {(short_down if name == 'epsilon remaining' else short_up)(value)}{of_person}"
    if name == "delta":
        return f"δ = {short_up(value)}"
    return error_text(value) if "error" in name.split(maxsplit=1)[0] or name == "best_error" else number_text(value)

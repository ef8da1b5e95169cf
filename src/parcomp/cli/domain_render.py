"""Domains as people read them: a line for each attribute, and one for each of its levels."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from parcomp.cli.terminal import new_console, number, plain_table
from parcomp.errors import one_line
from parcomp.model import Attribute, Categorical, Domain

__all__ = ["print_domain"]

_SHOWN = 12
"""How many values or groups are listed before the rest is only counted."""


def print_domain(domain: Domain, *, every_value: bool = False) -> None:
    """Print the attributes of a domain, with their values, ranges and levels; the first ones, if they are many."""
    most = None if every_value else _SHOWN
    table = plain_table("attribute", ">values", "which", names=True)
    for name, attribute in domain.attributes.items():
        table.add_row(Text(one_line(name)), number(attribute.size), Text(_values(attribute, most)))
        for level, groups in attribute.levels.items() if isinstance(attribute, Categorical) else ():
            listed = _listed([_group(group, values) for group, values in groups.items()], most)
            table.add_row(
                Text(f"  {one_line(level)}"), number(len(groups)), Text(f"a level of {one_line(name)}: {listed}")
            )
    new_console(f"{one_line(domain.name)}: {len(domain.attributes):,} attributes").print(table)


def _values(attribute: Attribute, most: int | None) -> str:
    """The values of an attribute, in words."""
    fields = attribute.describe()
    if isinstance(attribute, Categorical):
        text = _listed([_shown(value) for value in attribute.values], most)
    else:
        text = f"{_shown(fields['low'])} to {_shown(fields['high'])}"
        if "bins" in fields:
            text = f"{_shown(fields['low'])} to below {_shown(fields['high'])}, in {fields['bins']:,} equal bins"
        elif "step" in fields:
            text += f", in steps of {fields['step']}"
        elif "unit" in fields:
            text += f", by {fields['unit']}"
    return (
        text
        + (", or null" if attribute.nullable else "")
        + ("; beyond the ends, the nearest" if "clip" in fields else "")
    )


def _group(name: str, values: Sequence[object] | str) -> str:
    return f"{_shown(name)} ({'the rest' if isinstance(values, str) else f'{len(values):,}'})"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, (int, float)) else one_line(str(value))


def _listed(items: Sequence[str], most: int | None) -> str:
    shown = ", ".join(items[:most])
    return shown if most is None or len(items) <= most else f"{shown}, … ({len(items):,} in all)"

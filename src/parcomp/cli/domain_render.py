"""Domains as people read them: a line for each attribute, one for each of its levels, and the groups of a level."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.text import Text

from parcomp.cli.terminal import new_console, number, plain_table
from parcomp.errors import one_line
from parcomp.model import Attribute, Categorical, Domain
from parcomp.tabular import counted

__all__ = ["print_domain", "print_level"]

_SHOWN = 12
"""How many values or groups are listed before the rest is only counted."""

_MEMBERS = 4
"""The same of the values in a group, beside other groups."""


def print_domain(domain: Domain, *, every_value: bool = False, complete: Collection[str] = ()) -> None:
    """Print the attributes of a domain, with their values, ranges and levels; the first ones, if they are many.

    Of ``complete`` ones every row has a declared value, which is said.
    """
    most = None if every_value else _SHOWN
    table = plain_table("attribute", ">values", "which", names=True)
    for name, attribute in domain.attributes.items():
        which = _values(attribute, most) + ("; every row has one of these" if name in complete else "")
        table.add_row(Text(one_line(name)), number(attribute.size), Text(which))
        for level in attribute.levels if isinstance(attribute, Categorical) else ():
            groups = _groups(domain, level)
            members = None if every_value else _MEMBERS
            listed = _listed([f"{group} ({_listed(values, members)})" for group, values in groups.items()], most)
            table.add_row(
                Text(f"  {one_line(level)}"), number(len(groups)), Text(f"a level of {one_line(name)}: {listed}")
            )
    new_console(f"{one_line(domain.name)}: {counted(len(domain.attributes), 'attribute')}").print(table)


def print_level(domain: Domain, name: str) -> None:
    """Print the groups of a level, with the values in each."""
    index, level = domain.levels[name]
    table = plain_table("group", ">values", "which", names=True)
    for group, values in _groups(domain, name).items():
        table.add_row(Text(group), number(len(values)), Text(_listed(values, None)))
    title = f"{one_line(name)}, a level of {one_line(domain.names[index])}: {counted(len(level.groups), 'group')}"
    new_console(title).print(table)


def _groups(domain: Domain, name: str) -> dict[str, list[str]]:
    """The values in each group of a level, in words."""
    attribute = domain.attributes[domain.names[domain.levels[name][0]]]
    assert isinstance(attribute, Categorical)
    return {_shown(group): [_shown(value) for value in values] for group, values in attribute.levels[name].items()}


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


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, (int, float)) else one_line(str(value))


def _listed(items: Sequence[str], most: int | None) -> str:
    shown = ", ".join(items[:most])
    return shown if most is None or len(items) <= most else f"{shown}, … ({len(items):,} in all)"

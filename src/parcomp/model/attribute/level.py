"""Levels: coarser groupings of a categorical attribute's values.

A level is a partition: every value is in exactly one of its groups, so the level is a function of the attribute, and
whatever a condition says of it is a predicate on the attribute.  Nothing else knows of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.predicate import Predicate
from parcomp.model.text_file import is_unicode

__all__ = ["REST", "Level", "read_level"]

REST = "rest"
"""Stands for the values that no other group of a level lists."""


@dataclass(frozen=True, slots=True)
class Level:
    """A partition of an attribute's values: the names of its groups in order, and the predicate of each."""

    name: str
    groups: tuple[str, ...]
    members: tuple[Predicate, ...]
    nullable: bool

    def values_in(self, groups: Predicate) -> Predicate:
        """The attribute's values in some of the groups, which are coded in order; null is coded last, here as there."""
        size = self.members[0].size
        chosen = [member for code, member in enumerate(self.members) if code in groups]
        if self.nullable and len(self.groups) in groups:
            chosen.append(Predicate.from_runs(size, [(size - 1, size)]))
        return reduce(or_, chosen, Predicate.contradiction(size))


def read_level(
    name: object, written: object, values: int, nullable: bool, code: Callable[[object], int | None]
) -> Level:
    """The level that a mapping of groups to values stands for.

    ``values`` is how many values the attribute has beside null, and ``code`` finds the code of one.
    """
    if not isinstance(name, str) or not name:
        raise _error(f"the name of a level must be a non-empty string, not {shown(name)}")
    if not is_unicode(name):
        raise _error(f"the name of level {shown(name)} is not valid Unicode")
    if not isinstance(written, Mapping) or not written:
        raise _error(f"level {shown(name)} must be an object of groups and their values")
    owner: dict[int, str] = {}
    rest: str | None = None
    for group, listed in written.items():
        if not isinstance(group, str) or not is_unicode(group):
            raise _error(f"level {shown(name)}: the name of a group must be a string, not {shown(group)}")
        if isinstance(listed, str) and listed == REST:
            if rest is not None:
                raise _error(f"level {shown(name)}: groups {shown(rest)} and {shown(group)} are both the rest")
            rest = group
        else:
            _take(f"level {shown(name)}", group, listed, code, owner)
    left = [one for one in range(values) if one not in owner]
    if rest is not None:
        if not left:
            raise _error(f"level {shown(name)}: nothing is left for the group {shown(rest)}, which is the rest")
        owner |= dict.fromkeys(left, rest)
    elif left:
        raise _error(
            f"level {shown(name)}: {len(left):,} of {values:,} values are in no group; list them, or write "
            f'"{REST}" in place of the list of one group'
        )
    codes: dict[str, list[int]] = {group: [] for group in written}
    for one, group in owner.items():
        codes[group].append(one)
    members = tuple(Predicate.from_codes(values + nullable, found) for found in codes.values())
    return Level(name, tuple(codes), members, nullable)


def _take(level: str, group: str, listed: object, code: Callable[[object], int | None], owner: dict[int, str]) -> None:
    """Enter the group as the owner of the values that it lists."""
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence) or not listed:
        raise _error(f'{level}: group {shown(group)} must be a list of values, or "{REST}", not {shown(listed)}')
    for value in listed:
        try:
            found = None if value is None else code(value)
        except PredicateError:
            found = None
        if found is None:
            raise _error(f"{level}: group {shown(group)} lists {shown(value)}, which is no value of the attribute")
        if found in owner:
            raise _error(f"{level}: value {shown(value)} is listed twice, in {shown(owner[found])} and {shown(group)}")
        owner[found] = group


def _error(message: str) -> DomainError:
    return DomainError(message, field="levels")

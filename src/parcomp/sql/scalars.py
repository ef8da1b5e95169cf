"""Expressions as they are read, before it is known what is grouped by: over attributes, items and constants.

Each has a *kind*, which follows from the text and the domain alone.  It tells the division of integers from that of
other numbers, and an operation that could fail on some row is refused by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from parcomp.model import Attribute, Binned, Categorical, Constant, Dated, Domain, Integer, Item
from parcomp.sql.logic import Atom

__all__ = ["Call", "Kind", "Of", "Scalar", "depth_of", "is_constant", "is_of_items", "kind_of", "leaves_of"]

Kind: TypeAlias = Literal["integer", "number", "text", "boolean", "date", "bins", "several types", "null"]


@dataclass(frozen=True, slots=True)
class Of:
    """The value of the attribute at ``index``, or the group of its level ``name``."""

    index: int
    name: str
    level: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """An operation: of :mod:`parcomp.model.arithmetic`, on text or on dates; ``kind`` is what it gives.

    The operation ``number`` gives what it is given, but as no integer.
    """

    name: str
    arguments: tuple[Scalar, ...]
    kind: Kind


Scalar: TypeAlias = Constant | Of | Item | Atom | Call
"""An atom is a condition about one attribute, as it stands in CASE."""


def leaves_of(scalar: Scalar) -> Iterator[Constant | Of | Item | Atom]:
    """What an expression is made of in the end."""
    if isinstance(scalar, Call):
        for argument in scalar.arguments:
            yield from leaves_of(argument)
    else:
        yield scalar


def depth_of(scalar: Scalar) -> int:
    """How many calls stand within each other, at most; found without as many calls here.

    >>> depth_of(Call("add", (Call("abs", (Constant(1),), "integer"), Constant(2)), "integer"))
    2
    """
    deepest = 0
    left: list[tuple[Scalar, int]] = [(scalar, 0)]
    while left:
        one, depth = left.pop()
        if isinstance(one, Call):
            left += [(argument, depth + 1) for argument in one.arguments]
        deepest = max(deepest, depth)
    return deepest


def is_constant(scalar: Scalar) -> bool:
    """Whether an expression is the same on every row."""
    return all(isinstance(leaf, Constant) for leaf in leaves_of(scalar))


def is_of_items(scalar: Scalar) -> bool:
    """Whether some item is in an expression."""
    return any(isinstance(leaf, Item) for leaf in leaves_of(scalar))


def kind_of(domain: Domain, scalar: Scalar) -> Kind:
    """What an expression gives where it is not null."""
    match scalar:
        case Constant(value):
            if value is None:
                return "null"
            if isinstance(value, bool):
                return "boolean"
            if isinstance(value, str):
                return "text"
            return "integer" if value.denominator == 1 else "number"
        case Of(index, _, level):
            return "text" if level else _attribute_kind(domain.attributes[domain.names[index]])
        case Atom():
            return "boolean"
        case Call():
            return scalar.kind
    return "number"


def _attribute_kind(attribute: Attribute) -> Kind:
    if isinstance(attribute, Categorical):
        types = {type(value) for value in attribute.values}
        kinds: dict[type, Kind] = {int: "integer", str: "text", bool: "boolean"}
        return kinds[types.pop()] if len(types) == 1 else "several types"
    if isinstance(attribute, Integer):
        return "integer"
    if isinstance(attribute, Dated):
        return "date"
    return "bins" if isinstance(attribute, Binned) else "number"

"""How much room the values of a column may take, whatever the noisy numbers are.

Who sees the length of a body and not what is in it must not learn more than the statement tells.  Numbers are written
in a fixed width.  A text that noisy numbers choose (``CASE WHEN COUNT(*) > 9 THEN 'many' ELSE 'few' END``) or that
spells one (``CAST(COUNT(*) AS TEXT)``) is padded to the longest that the column could hold.

Bounded: an expression is a constant, an item, a label, or an operation.  No operation of
:mod:`parcomp.model.arithmetic` joins texts, so a text is one that stands in the statement, a label of the domain, or a
number, truth or moment that is spelled; those that choose among their arguments have the room of the longest of them.
Numbers that are spelled have the room of :data:`NUMBER`, which every 64-bit number and every float fits into; a longer
one, whose integer part has more than 20 digits, takes :data:`LONGEST`, which every number that is computed with fits
into (4,096 bits are 1,234 digits, and at most 30 places follow).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from fractions import Fraction

from parcomp.model import Constant, Expression, Item, Label, Mapped, Operation, as_value
from parcomp.model.arithmetic import Scalar

__all__ = ["LONGEST", "NUMBER", "is_in_words", "room_of"]

NUMBER = 26
"""Characters that a number takes in an answer, or null: as many as the longest float, and more than 64 bits."""

LONGEST = 1_300
"""Characters that every number fits into that is computed with, spelled out."""

_MOMENT = len("2000-01-01 00:00:00")
_TRUTHS = {"=", "<>", "<", "<=", ">", ">=", "not", "and", "or", "is null", "same"}

Labels = Callable[[int], Iterable[Scalar]]
"""The labels that the key at a place has."""


def is_in_words(expression: Expression, labels: Labels) -> bool:
    """Whether an expression may be a text, a truth or a moment, and so is shown without an interval in every row."""
    return any(map(_is_word, _leaves(expression, labels)))


def room_of(expression: Expression, labels: Labels) -> int:
    """The most characters that a value of the expression takes in JSON, but for numbers that take :data:`LONGEST`."""
    return max((_written(one) for one in _leaves(expression, labels)), default=NUMBER)


_NUMERIC = Fraction(0)
"""Stands for all numbers."""


def _leaves(expression: Expression, labels: Labels) -> Iterable[Scalar]:
    """Values that stand for all that an expression may have: a number for all numbers, and the longest texts."""
    match expression:
        case Constant(value):
            yield value
        case Item():
            yield _NUMERIC
        case Label(place):
            yield from labels(place)
        case Mapped(_, table):
            yield from (value for _, value in table)
        case Operation("case", arguments):
            for result in (*arguments[1:-1:2], arguments[-1]):
                yield from _leaves(result, labels)
        case Operation("coalesce" | "greatest" | "least", arguments):
            for argument in arguments:
                yield from _leaves(argument, labels)
        case Operation("nullif", arguments):
            yield None
            yield from _leaves(arguments[0], labels)
        case Operation("text", (argument, *form)):
            yield from (_spelled(one, *form) for one in _leaves(argument, labels))
        case Operation(name):
            yield name in _TRUTHS or _NUMERIC


def _spelled(value: Scalar, form: Expression | None = None) -> Scalar:
    if value is None or isinstance(value, str):
        return value
    places = int(form.value) if isinstance(form, Constant) and isinstance(form.value, Fraction) else 0
    # It stands for all texts of this length, as what is spelled needs no escapes.
    return "0" * (_MOMENT if isinstance(value, datetime) else NUMBER + places)


def _is_word(value: Scalar) -> bool:
    return isinstance(value, (str, bool, datetime))


def _written(value: Scalar) -> int:
    return max(len(json.dumps(as_value(value))), NUMBER) if _is_word(value) else NUMBER

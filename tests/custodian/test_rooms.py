"""Whatever noisy numbers are, values fit into the room that their expression says, and are words only if it says so."""

from __future__ import annotations

import json
import random
from datetime import datetime
from fractions import Fraction

from parcomp.custodian.rooms import LONGEST, NUMBER, is_in_words, room_of
from parcomp.model import Constant, Expression, Item, Label, Mapped, Operation, apply, as_value
from parcomp.model.arithmetic import OPERATIONS, Scalar

LABELS: list[list[Scalar]] = [["F", "é" * 9, None], [Fraction(3), Fraction(-17, 4)], [datetime(2026, 1, 2, 3), None]]
TABLE = (("F", 'a "quoted" word that is longer than numbers are'), ("M", None), ("X", Fraction(7)))
COUNT, MEAN = Item("count"), Item("average", "age")
NUMBERS = ("+", "-", "*", "/", "div", "%", "neg", "abs", "sign", "floor", "round", "power", "exp", "sqrt")
TRUTHS = ("=", "<>", "<", "<=", ">", ">=")


def drawn_number(draw: random.Random, depth: int) -> Expression:
    """An expression that is a number or null."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([COUNT, MEAN, Label(1), Constant(Fraction(draw.randint(-99, 99), draw.randint(1, 9)))])
    name = draw.choice(NUMBERS)
    one = name in {"neg", "abs", "sign", "floor", "round", "exp", "sqrt"}
    return Operation(name, tuple(drawn_number(draw, depth - 1) for _ in range(1 if one else 2)))


def drawn_truth(draw: random.Random, depth: int) -> Expression:
    if depth and draw.random() < 0.3:
        name = draw.choice(["and", "or", "not", "is null"])
        return Operation(
            name, tuple(drawn_truth(draw, depth - 1) for _ in range(1 if name in {"not", "is null"} else 2))
        )
    return Operation(draw.choice(TRUTHS), (drawn_number(draw, depth), drawn_number(draw, depth)))


def drawn(draw: random.Random, depth: int) -> Expression:
    """Any expression: a number, a truth, a text or a choice among such."""
    kind = draw.randrange(8) if depth else draw.randrange(4)
    match kind:
        case 0:
            return drawn_number(draw, depth)
        case 1:
            return Constant(draw.choice(["few", "a text with many characters in it", 'é\n"', True, None]))
        case 2:
            return draw.choice([Label(0), Label(2), Mapped(0, TABLE)])
        case 3:
            return drawn_truth(draw, depth)
        case 4:
            return Operation("text", (drawn(draw, depth - 1),))
        case 5:
            # As SQL makes it of numbers with so many places.
            places = draw.randint(0, 6)
            number = Operation("round", (drawn_number(draw, depth - 1), Constant(Fraction(places))))
            return Operation("text", (number, Constant(Fraction(places))))
        case 6:
            parts = [drawn_truth(draw, depth - 1), drawn(draw, depth - 1), drawn_truth(draw, depth - 1)]
            return Operation("case", (*parts, drawn(draw, depth - 1), drawn(draw, depth - 1)))
        case _:
            return Operation(draw.choice(["coalesce", "nullif"]), (drawn(draw, depth - 1), drawn(draw, depth - 1)))


def value_of(expression: Expression, numbers: dict[Item, Scalar], labels: list[Scalar]) -> Scalar:
    match expression:
        case Constant(value):
            return value
        case Item():
            return numbers[expression]
        case Label(place):
            return labels[place]
        case Mapped(_, table):
            return table[0][1]
        case Operation(name, arguments):
            return apply(name, [value_of(one, numbers, labels) for one in arguments])


def test_no_value_takes_more_room_than_its_expression_says():
    draw = random.Random(5)
    words = long = 0
    for _ in range(6_000):
        expression = drawn(draw, 3)
        room, in_words = room_of(expression, LABELS.__getitem__), is_in_words(expression, LABELS.__getitem__)
        assert room >= NUMBER
        for _ in range(4):
            size = draw.choice([1, 100, 10**6, 10**18])
            mean = draw.choice([None, Fraction(draw.randint(-size, size), draw.randint(1, 1000))])
            numbers = {COUNT: Fraction(draw.randint(-size, size)), MEAN: mean}
            value = value_of(expression, numbers, [draw.choice(known) for known in LABELS])
            if isinstance(value, (str, bool, datetime)):
                assert in_words
            written = len(json.dumps(as_value(value)))
            if written > room:
                # A number beyond all that are shown as such, spelled or as it is.
                assert written <= LONGEST
                assert as_value(value) is not None
                text = str(as_value(value)).removeprefix("-")
                assert text.replace(".", "").isdecimal(), text
                assert len(text.partition(".")[0]) > 20
                long += 1
            words += in_words
    assert words > 1_000
    assert long > 10


def test_every_operation_is_known_to_make_numbers_truths_or_choices():
    """One that joins texts would make longer ones than its arguments are."""
    of_numbers = {*NUMBERS, "ceil", "trunc", "ln", "log", "log2", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan"}
    of_numbers |= {"atanh", "degrees", "radians", "spelled"}
    choices = {"coalesce", "nullif", "greatest", "least", "case"}
    truths = {*TRUTHS, "not", "and", "or", "is null", "same"}
    assert set(OPERATIONS) == of_numbers | choices | truths | {"text"}

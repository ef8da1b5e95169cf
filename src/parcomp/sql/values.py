"""What an expression over one attribute makes of its values: labels to group by, and where a comparison is TRUE.

An attribute may have a billion values, so expressions are not computed for each.  The values are cut into *pieces*,
runs of codes on each of which the expression only grows or only falls, or is null throughout.  There a label is found
by bisection, and so is the place where a comparison changes.  Whether an operation keeps pieces is known for each:

- a monotone function of an expression has its pieces: adding or multiplying by a constant, FLOOR, ROUND, DATE_TRUNC, …;
- ``x % n`` grows while ``x`` divided by ``n``, cut to a whole number, stays the same, and a month within its year;
- CASE has those of its results, cut where a condition changes, and so COALESCE and NULLIF;
- what is none of these, such as ``x * x``, has a piece for each value.

*Exact*: a row's label is a function of its value, so the rows of a label are those whose value is in a set, and a
comparison of labels is a predicate on the attribute.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from parcomp.errors import PredicateError, SizeError
from parcomp.model import Bands, Categorical, Constant, Dated, Domain, Item, Predicate, Value, apply, as_value
from parcomp.sql.comparison import Operator, Truth
from parcomp.sql.dates import PARTS, begins_with, name_of_day, part_of, truncated
from parcomp.sql.effort import spend_effort
from parcomp.sql.logic import Atom
from parcomp.sql.scalars import Call, Of, Scalar, is_constant, leaves_of
from parcomp.sql.texts import TEXT_OPERATIONS

__all__ = ["MAX_RUNS", "Values", "evaluate_constant", "label_of"]

MAX_RUNS = 50_000
"""How often an expression may change over the values of its attribute."""

_LARGEST = int(sys.float_info.max)
"""Beyond it a number cannot be shown, and what was paid for could not be handed out."""

_CHARACTERS_PER_PART = 16
"""Of a text that is made, so many count as much as one part of an expression."""

_At: TypeAlias = Callable[[int], Any]
_MONOTONE = {"number", "floor", "ceil", "round", "trunc", "sign", "neg", "date_trunc"}
_SHIFTS = {"+", "-", "*", "/", "div", "greatest", "least"}


class Values:
    """An expression as a function of the codes of one attribute."""

    def __init__(self, domain: Domain, scalar: Scalar) -> None:
        self.index = _index(scalar)
        self.attribute = domain.attributes[domain.names[self.index]]
        self._evaluated = _function(domain, scalar)
        self._parts = 2 + sum(1 for _ in leaves_of(scalar))
        self._domain = domain
        self._starts = self._cut(scalar)

    def at(self, code: int) -> Any:
        """What the expression gives for a code."""
        spend_effort(self._parts)
        return self._evaluated(code)

    def bands(self) -> Bands:
        """The labels that values have, numbers in order and others as they first occur, null last."""
        runs: dict[tuple[type, Value], list[tuple[int, int]]] = {}
        found = list(self._runs())
        by_hour = any(isinstance(scalar, datetime) and scalar.hour for _, _, scalar in found)
        for start, stop, scalar in found:
            _check_size(scalar)
            label = f"{scalar:%Y-%m-%dT%H}" if by_hour and isinstance(scalar, datetime) else as_value(scalar)
            runs.setdefault((type(label), label), []).append((start, stop))
        labels = [label for _, label in runs]
        if all(label is None or _is_number(label) for label in labels):
            labels.sort(key=lambda label: (label is None, label or 0))
        else:
            labels.sort(key=lambda label: label is None)
        size = self.attribute.size
        return Bands(tuple(labels), tuple(Predicate.from_runs(size, runs[type(label), label]) for label in labels))

    def is_plain(self, bands: Bands) -> bool:
        """Whether bands are the values themselves, each under its own name."""
        return len(bands.labels) == self.attribute.size and all(
            member.count == 1 and (type(label), label) == (type(value := self.attribute.value(member.first())), value)
            for label, member in zip(bands.labels, bands.members, strict=True)
        )

    def compare(self, operator: Operator, constant: Any) -> Truth:
        """Where the expression compares so with a constant that is not null and of its kind."""
        below, equal, above = self._against(constant)
        true = {
            "=": equal,
            "<>": below | above,
            "<": below,
            "<=": below | equal,
            ">": above,
            ">=": above | equal,
        }[operator]
        return true, (below | equal | above) & ~true

    def where(self, holds: Callable[[Any], bool]) -> Truth:
        """Where a condition on what the expression gives holds, and where not; it is unknown where that is null."""
        true: list[tuple[int, int]] = []
        false: list[tuple[int, int]] = []
        for start, stop, scalar in self._runs():
            if scalar is not None:
                (true if holds(scalar) else false).append((start, stop))
        size = self.attribute.size
        return Predicate.from_runs(size, true), Predicate.from_runs(size, false)

    def nulls(self) -> Truth:
        """Where the expression is null, and where not."""
        pieces = [(start, stop) for start, stop in self._pieces() if self.at(start) is None]
        null = Predicate.from_runs(self.attribute.size, pieces)
        return null, ~null

    def texts(self) -> list[str]:
        """The different texts that it gives."""
        return list(dict.fromkeys(scalar for _, _, scalar in self._runs() if isinstance(scalar, str)))

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """The runs on which the expression is monotone; null is one of its own."""
        yield from pairwise((*self._starts, self.attribute.null))
        if self.attribute.nullable:
            yield self.attribute.null, self.attribute.size

    def _runs(self) -> Iterator[tuple[int, int, Any]]:
        """The runs on which the expression stays the same, and what it is there."""
        found, length = 0, 1
        for first, stop in self._pieces():
            start = first
            while start < stop:
                value = self.at(start)
                end = self._end(start, stop, value, length)
                yield start, end, value
                start, length = end, end - start
                found += 1
                if found > MAX_RUNS:
                    raise _too_many()

    def _end(self, start: int, stop: int, value: Any, length: int) -> int:
        """Where a piece leaves the value that it has at ``start``: often after as many as the run before it had.

        Otherwise steps double until it is left, and bisection finds the place.
        """
        if start + length < stop and self.at(start + length - 1) == value != self.at(start + length):
            return start + length
        if start + 1 == stop or self.at(start + 1) != value:
            return start + 1
        if self.at(stop - 1) == value:
            return stop
        step = 2
        while start + step < stop and self.at(start + step) == value:
            step *= 2
        span = range(start + step // 2, min(start + step, stop))
        return span.start + bisect_left(span, True, key=lambda code: self.at(code) != value)

    def _against(self, constant: Any) -> tuple[Predicate, Predicate, Predicate]:
        """Where the expression is below a constant, at it and above it."""
        below: list[tuple[int, int]] = []
        equal: list[tuple[int, int]] = []
        above: list[tuple[int, int]] = []
        for start, stop in self._pieces():
            first, last = self.at(start), self.at(stop - 1)
            if first is None:
                continue
            span, grows = range(start, stop), first <= last
            if grows:
                reach = start + bisect_left(span, True, key=lambda code: self.at(code) >= constant)
                leave = start + bisect_left(span, True, key=lambda code: self.at(code) > constant)
            else:
                reach = start + bisect_left(span, True, key=lambda code: self.at(code) <= constant)
                leave = start + bisect_left(span, True, key=lambda code: self.at(code) < constant)
            (below if grows else above).append((start, reach))
            equal.append((reach, leave))
            (above if grows else below).append((leave, stop))
        size = self.attribute.size
        return Predicate.from_runs(size, below), Predicate.from_runs(size, equal), Predicate.from_runs(size, above)

    def _cut(self, scalar: Scalar) -> list[int]:
        """Where pieces begin; the first at 0."""
        starts = sorted({0, *(code for code in self._breaks(scalar) if code < self.attribute.null)})
        if len(starts) > MAX_RUNS:
            raise _too_many()
        return starts

    def _breaks(self, scalar: Scalar) -> Iterable[int]:
        if is_constant(scalar):
            return ()
        if isinstance(scalar, Atom):
            return [edge for run in scalar.true.runs() for edge in run]
        if isinstance(scalar, Of) and not isinstance(self.attribute, Categorical):
            return ()
        if not isinstance(scalar, Call):
            return self._each()
        varying = [argument for argument in scalar.arguments if not is_constant(argument)]
        breaks = [code for argument in varying for code in self._breaks(argument)]
        if len(varying) == 1 and (_is_monotone(scalar) or _is_shift(scalar)):
            return breaks
        if _is_multiple_below(scalar):
            return self._starts_of(_quotient(scalar.arguments[1]))
        if scalar.name in {"case", "coalesce"}:
            return breaks
        if scalar.name == "extract":
            part, inner = scalar.arguments
            assert isinstance(part, Constant)
            within = PARTS[str(part.value)][1]
            if within is None:
                return breaks
            return self._starts_of(Call("date_trunc", (Constant(within), inner), "date"))
        if scalar.name == "dayname":
            return self._starts_of(Call("date_trunc", (Constant("day"), *scalar.arguments), "date"))
        if len(varying) == 1 and varying[0] is scalar.arguments[0]:
            if scalar.name == "%":
                return self._starts_of(_quotient(scalar))
            if scalar.name == "abs":
                return [*breaks, *self._starts_of(Call("sign", scalar.arguments, "integer"))]
            if scalar.name == "nullif":
                of = Values(self._domain, scalar.arguments[0])
                excluded = evaluate_constant(self._domain, scalar.arguments[1])
                if excluded is None:
                    return breaks
                _, equal, _ = of._against(excluded)
                return [*breaks, *(edge for run in equal.runs() for edge in run)]
        return self._each()

    def _starts_of(self, call: Call) -> list[int]:
        """Where another expression over the same attribute changes."""
        return [start for start, _, _ in Values(self._domain, call)._runs()]

    def _each(self) -> range:
        if self.attribute.null > MAX_RUNS:
            raise _too_many()
        return range(self.attribute.null)


def _is_monotone(call: Call) -> bool:
    """Whether a call only grows or only falls in its one varying argument."""
    place = 1 if call.name == "date_trunc" else 0
    return call.name in _MONOTONE and not is_constant(call.arguments[place])


def _is_shift(call: Call) -> bool:
    """Whether a call moves or stretches its one varying argument; a constant divided by it has a pole."""
    return call.name in _SHIFTS and not (call.name in {"/", "div"} and is_constant(call.arguments[0]))


def _is_multiple_below(call: Call) -> bool:
    """Whether a call is ``x - x % n``, which stays the same where ``x / n``, cut to a whole number, does."""
    if call.name != "-" or not isinstance(call.arguments[1], Call):
        return False
    cut = call.arguments[1]
    return cut.name == "%" and cut.arguments[0] == call.arguments[0] and is_constant(cut.arguments[1])


def _quotient(remainder: Scalar) -> Call:
    """How often the divisor of a remainder fits."""
    assert isinstance(remainder, Call)
    return Call("trunc", (Call("/", remainder.arguments, "number"),), "integer")


def evaluate_constant(domain: Domain, scalar: Scalar) -> Any:
    """What an expression of constants gives."""
    return _function(domain, scalar)(0)


def label_of(scalar: Any) -> Fraction | str | bool | None:
    """What an expression gives, as a constant; a moment is its ISO date."""
    _check_size(scalar)
    return str(as_value(scalar)) if isinstance(scalar, datetime) else scalar


def _check_size(scalar: Any) -> None:
    if isinstance(scalar, Fraction) and abs(scalar) > _LARGEST:
        raise PredicateError("this expression gives numbers beyond 1.7e308, which no answer can show")


def _function(domain: Domain, scalar: Scalar) -> _At:
    """What an expression gives for each code."""
    match scalar:
        case Constant(value):
            return lambda _: value
        case Of(index, name, level):
            return _level_at(domain, name) if level else _value_at(domain, index)
        case Atom(_, true, false):
            return lambda code: True if code in true else False if code in false else None
        case Item():
            raise AssertionError("an item is no function of one row's value")
    name, arguments = scalar.name, [_function(domain, argument) for argument in scalar.arguments]
    if name in {"extract", "date_trunc"}:
        unit, moment = str(arguments[0](0)), arguments[1]
        if name == "date_trunc":
            return lambda code: None if (at := moment(code)) is None else truncated(unit, at)
        return lambda code: None if (at := moment(code)) is None else Fraction(part_of(unit, at))
    if name == "dayname":
        (day,) = arguments
        return lambda code: None if (at := day(code)) is None else name_of_day(at)
    if name == "number":
        return arguments[0]
    if name in TEXT_OPERATIONS:
        operation = TEXT_OPERATIONS[name]

        def on_text(code: int) -> Any:
            given = [argument(code) for argument in arguments]
            if None in given:
                return None
            result = operation(*given)
            if isinstance(result, str):
                # A long constant joined to each of many values would fill the memory.
                spend_effort(len(result) // _CHARACTERS_PER_PART)
            return result

        return on_text
    return lambda code: apply(name, [argument(code) for argument in arguments])


def _value_at(domain: Domain, index: int) -> _At:
    attribute = domain.attributes[domain.names[index]]
    null = attribute.null
    if isinstance(attribute, Dated):
        begins = begins_with(attribute)
        return lambda code: None if code == null else begins(code)
    scale = attribute.scale
    if scale is not None:
        step, base = Fraction(scale.step), scale.base
        return lambda code: None if code == null else (base + code) * step

    def named(code: int) -> Any:
        value = attribute.value(code)
        return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value

    return named


def _level_at(domain: Domain, name: str) -> _At:
    index, level = domain.levels[name]
    null = domain.attributes[domain.names[index]].null
    group = {
        code: name
        for name, member in zip(level.groups, level.members, strict=True)
        for start, stop in member.runs()
        for code in range(start, stop)
        if code < null
    }
    return group.get


def _index(scalar: Scalar) -> int:
    """The one attribute that an expression is about."""
    indexes = {leaf.index for leaf in leaves_of(scalar) if isinstance(leaf, (Of, Atom))}
    if len(indexes) != 1:
        raise PredicateError("an expression in WHERE, GROUP BY or CASE is about one attribute; this one is about two")
    return indexes.pop()


def _is_number(label: Value) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def _too_many() -> SizeError:
    return SizeError(
        f"the expression changes more than {MAX_RUNS:,} times over the attribute's values; use wider bands, or ask the "
        "custodian for a coarser attribute or a level"
    )

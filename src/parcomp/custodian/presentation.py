"""From a statement's figures to the columns of an answer: what a selection does with noisy numbers, which is free.

*Post-processing.*  Everything here is a function of figures that were released, of labels, which are public, and of
the selection's text.  So it costs nothing and discloses nothing more, whatever it computes.

*Intervals.*  An expression of one figure takes its interval to all values that the expression has there, by interval
arithmetic; so the result holds in 95 of 100 answers at least.  With several figures each must hold with a share of what
may fail (:mod:`parcomp.custodian.intervals`).  Rows that HAVING or LIMIT pick by noisy numbers are picked for their
noise as well: their intervals are marked as approximate.  That of several figures, and that of a function that is not
linear, holds more often than 95 times in 100: it is marked as cautious, as are those of cautious figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from parcomp.custodian.answer import Answer
from parcomp.custodian.estimating import NOTES
from parcomp.custodian.intervals import Interval, interval_of, widened
from parcomp.custodian.rooms import is_in_words, room_of
from parcomp.figures import AnswerColumn, Figure
from parcomp.model import (
    Constant,
    Expression,
    Item,
    Label,
    Mapped,
    Operation,
    Ordering,
    Selection,
    Statement,
    Value,
    apply,
    as_value,
    is_noisy,
    items_in,
)
from parcomp.model.arithmetic import Scalar

__all__ = ["longest_notes", "notes", "present"]

_KEEPS_WHOLE = {"+", "-", "*", "%", "neg", "abs", "greatest", "least", "coalesce", "nullif"}
_MAKES_WHOLE = {"floor", "ceil", "sign", "round", "trunc"}
_APPROXIMATE = "the 95 % intervals are approximate: "
_LONGEST_OF_ESTIMATES = max(NOTES.values(), key=len)
_CAUTIOUS = "cautious intervals, which hold the true value in 95 of 100 answers or more: "
_EXACTLY_NOISY = {"count", "sum", "distinct"}
"""Items whose figure is the true number with log-concave noise, and nothing else."""


def present(
    selection: Selection,
    figures: Mapping[Item, Sequence[Figure]],
    estimated: Mapping[Item, Sequence[Figure]] | None = None,
) -> tuple[AnswerColumn, ...]:
    """The columns of an answer; ``figures`` has for each item one per group, in the order of the groups.

    ``estimated`` has the same of estimates, if there are any.  Rows are picked and ordered by the figures.
    """
    table = _Table(selection.statement, figures, list(selection.statement.group_labels()))
    rows = list(range(len(table.labels)))
    if selection.having is not None:
        having = selection.having
        rows = [row for row in rows if table.value(having, row) is True]
    for key in reversed(selection.order):
        rows = _ordered(table, key, rows)
    rows = rows[selection.offset :]
    if selection.limit is not None:
        rows = rows[: selection.limit]
    columns = tuple(
        _column(table, column.name, column.expression, rows, selection.picks_by_noise) for column in selection.columns
    )
    if estimated is None:
        return columns
    beside = replace(table, figures=estimated)
    return tuple(
        replace(shown, estimates=_column(beside, column.name, column.expression, rows, picked=True).figures)
        if shown.figures is not None
        else shown
        for shown, column in zip(columns, selection.columns, strict=True)
    )


def notes(selection: Selection, columns: Sequence[AnswerColumn]) -> tuple[str, ...]:
    """What someone who reads the answer should know about its intervals."""
    if selection.picks_by_noise:
        return ("the groups shown were picked by noisy numbers, so their 95 % intervals are approximate",)
    said = []
    approximate, cautious = ([_where(column, mark) for column in columns] for mark in ("approximate", "cautious"))
    if any(approximate):
        said.append(_APPROXIMATE + ", ".join(filter(None, approximate)))
    if any(cautious):
        said.append(_CAUTIOUS + ", ".join(filter(None, cautious)))
    return tuple(said)


def longest_notes(answer: Answer) -> list[str]:
    """Notes as long as those of an answer of this shape can be: which intervals are marked follows from its numbers."""
    kept = [
        _LONGEST_OF_ESTIMATES if note in NOTES.values() else note
        for note in answer.notes
        if not note.startswith((_APPROXIMATE, _CAUTIOUS))
    ]
    rows = f"{len(answer):,}"
    listed = ", ".join(f"{column.name} in {rows} of {rows} rows" for column in answer.measured)
    return [*kept, _APPROXIMATE + listed, _CAUTIOUS + listed]


def _where(column: AnswerColumn, mark: str) -> str:
    """The column, and in how many of its rows the intervals have a mark; "" if in none."""
    figures = column.figures or ()
    many = sum(getattr(figure, mark) for figure in figures)
    if many < len(figures):
        return f"{column.name} in {many:,} of {len(figures):,} rows" if many else ""
    return column.name if many else ""


@dataclass(frozen=True, slots=True)
class _Table:
    """The figures and the labels of all groups."""

    statement: Statement
    figures: Mapping[Item, Sequence[Figure]]
    labels: list[tuple[Value, ...]]
    _tables: dict[int, dict[tuple[type, Value], Scalar]] = field(default_factory=dict, init=False)

    def value(self, expression: Expression, row: int) -> Scalar:
        """What an expression is in a row."""
        match expression:
            case Constant(value):
                return value
            case Item():
                return _scalar(self.figures[expression][row].value)
            case Label(place):
                return _scalar(self.labels[row][place])
            case Mapped(place, table):
                known = self._tables.setdefault(id(table), {})
                if not known:
                    known.update({(type(label), label): value for label, value in table})
                label = self.labels[row][place]
                return known[type(label), label]
            case Operation(name, arguments):
                return apply(name, [self.value(argument, row) for argument in arguments])

    def labels_of(self, place: int) -> Iterator[Scalar]:
        """The labels that the key at a place has."""
        return map(_scalar, {label[place] for label in self.labels})

    def is_whole(self, expression: Expression) -> bool:
        """Whether an expression is a whole number in every row."""
        match expression:
            case Constant(value):
                return value is None or (isinstance(value, Fraction) and value.denominator == 1)
            case Item():
                return all(figure.value is None or isinstance(figure.value, int) for figure in self.figures[expression])
            case Label(place):
                return all(isinstance(label[place], int) for label in self.labels)
            case Operation(name, arguments):
                if name in _MAKES_WHOLE:
                    return len(arguments) == 1 or self.is_whole(arguments[0])
                if name == "case":
                    return all(self.is_whole(result) for result in (*arguments[1:-1:2], arguments[-1]))
                return name in _KEEPS_WHOLE and all(self.is_whole(argument) for argument in arguments)
        return False

    def slope(self, expression: Expression, row: int) -> tuple[Item, Fraction] | None:
        """The item that an expression is a multiple of, but for a constant, and the factor; None if it is not."""
        if isinstance(expression, Item):
            return expression, Fraction(1)
        if not isinstance(expression, Operation):
            return None
        name, arguments = expression.name, expression.arguments
        noisy = [argument for argument in arguments if is_noisy(argument)]
        if len(noisy) != 1 or name not in {"+", "-", "*", "/", "neg", "round"}:
            return None
        inner = self.slope(noisy[0], row)
        if inner is None or (name == "/" and noisy[0] is not arguments[0]):
            return None
        item, factor = inner
        if name in {"*", "/"}:
            other = self.value(arguments[1] if noisy[0] is arguments[0] else arguments[0], row)
            if not isinstance(other, Fraction) or (name == "/" and not other):
                return None
            factor = factor * other if name == "*" else factor / other
        return item, factor

    def interval(self, item: Item, row: int, shares: int) -> Interval:
        """Where the true number is, in 95 of 100 answers for all of so many items together."""
        figure = self.figures[item][row]
        if figure.low is None or figure.high is None:
            return -math.inf, math.inf
        low, high = Fraction(figure.low), Fraction(figure.high)
        if shares <= 1 or figure.value is None:
            return low, high
        return widened(Fraction(figure.value), low, high, shares, self._step(item))

    def _step(self, item: Item) -> Fraction | None:
        """What the noise of an item is a multiple of, if it is plain noise."""
        if item.kind not in _EXACTLY_NOISY:
            return None
        scale = None if item.attribute is None else self.statement.domain.attributes[item.attribute].scale
        return Fraction(scale.step) if scale is not None and item.kind == "sum" else Fraction(1)


def _column(table: _Table, name: str, expression: Expression, rows: Sequence[int], picked: bool) -> AnswerColumn:
    if isinstance(expression, Item):
        plain = tuple(table.figures[expression][row] for row in rows)
        figures = tuple(replace(one, approximate=True) for one in plain) if picked else plain
        return AnswerColumn(name, tuple(one.value for one in figures), figures)
    values = [table.value(expression, row) for row in rows]
    items = set(items_in(expression))
    if not items:
        return AnswerColumn(name, tuple(map(as_value, values)))
    # By the expression and not by its values, which noisy numbers decide on: an answer's form tells nothing of them.
    if is_in_words(expression, table.labels_of):
        return AnswerColumn(name, tuple(map(as_value, values)), room=room_of(expression, table.labels_of))
    whole = table.is_whole(expression)
    figures = tuple(
        _figure(table, expression, row, value, items, whole, picked) for row, value in zip(rows, values, strict=True)
    )
    return AnswerColumn(name, tuple(one.value for one in figures), figures)


def _figure(
    table: _Table, expression: Expression, row: int, value: Scalar, items: set[Item], whole: bool, picked: bool
) -> Figure:
    """The figure of an expression in a row."""
    approximate = picked or any(table.figures[item][row].approximate for item in items)
    # Only plain noise is known to be rarer, further out, by as much as a share of the interval needs.
    approximate |= len(items) > 1 and not all(item.kind in _EXACTLY_NOISY for item in items)
    shown = _shown(value, whole)
    slope = table.slope(expression, row)
    cautious = slope is None or len(items) > 1 or any(table.figures[item][row].cautious for item in items)
    if shown is None:
        return Figure(None, None, None, None, approximate)
    low, high = interval_of(
        expression, lambda node: table.value(node, row), lambda item: table.interval(item, row, len(items))
    )
    assert isinstance(value, Fraction)
    error = None if slope is None else table.figures[slope[0]][row].error
    mean = None if slope is None or error is None else _product(error, abs(slope[1]))
    return Figure(
        shown, _end(min(low, value), whole, -1), _end(max(high, value), whole, 1), mean, approximate, cautious
    )


def _shown(value: Scalar, whole: bool) -> int | float | None:
    if not isinstance(value, Fraction):
        return None
    # A table of 64-bit numbers must hold what is shown.
    if whole and value.denominator == 1 and abs(value) < 2**63:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return None


def _product(error: float, factor: Fraction) -> float | None:
    try:
        return error * float(factor)
    except OverflowError:
        return None


def _end(end: Fraction | float, whole: bool, outward: int) -> int | float | None:
    """An end of an interval as a number to show, rounded outward; None if it has none."""
    if not isinstance(end, Fraction):
        return None
    shown = _shown(end, whole)
    if isinstance(shown, float) and (Fraction(shown) - end) * outward < 0:
        return math.nextafter(shown, outward * math.inf)
    return shown


def _ordered(table: _Table, key: Ordering, rows: list[int]) -> list[int]:
    """The rows by one key; those that are equal stay as they are."""
    values = {row: table.value(key.expression, row) for row in rows}
    nulls = [row for row in rows if values[row] is None]
    known = [row for row in rows if values[row] is not None]
    # Values of several types have an order too: by type.
    known.sort(key=lambda row: (type(values[row]).__name__, values[row]), reverse=key.descending)
    return nulls + known if key.nulls_first else known + nulls


def _scalar(value: Value) -> Scalar:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Fraction(value) if math.isfinite(value) else None
    return value

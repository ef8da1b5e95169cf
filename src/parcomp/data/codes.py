"""The rows of a table as codes: the one place where a stored value becomes a value of the domain.

For each attribute a row gets the code of its value, or none.  A row without a code for some attribute lies outside the
domain and belongs to no count at all.  All predicates and groups are asked of the codes, as integers, never of the
stored values; so predicates that share no value select no common row and a predicate and its complement leave none
out, whatever is stored (Prop. "disjoint" speaks about values of the domain only, and that is all that is left).

*Numbers.*  With whole bin edges a value belongs to the bin of the largest whole number that does not exceed it, which
is exact for every type of column.  Otherwise the edge ``k`` is the double nearest to ``low + k * width``, as files have
it, and the value, converted to the nearest double, is compared with it.  NaN and the infinities are outside.

*Sums* are of the value rounded down, and their sensitivity rests on its declared range.  A value beside an edge may be
inside as a double and, rounded down exactly, lie below the range; so what is summed is clipped to the range after it
was rounded, whatever the type of the column and the edges.

*Strings* are equal if their code points are, whatever collation the column has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from parcomp.data.columns import Column
from parcomp.data.dialect import Dialect
from parcomp.errors import DataError, PredicateError
from parcomp.model import Attribute, Binned, Categorical, Condition, Domain, Integer, Statement

__all__ = ["CodedRows", "code_rows"]

_MOST_BRANCHES = 32
"""Up to this many named values a CASE finds the code, beyond it a join with the list of values does."""

_EXACT_IN_DOUBLE = 2**53
"""All whole numbers up to this one are doubles."""


@dataclass(frozen=True, slots=True)
class CodedRows:
    """``sql`` selects a row of non-negative integers for each row within the domain.

    Column ``c0``, ``c1``, … holds the code of each attribute, in the order of the domain, in the narrowest type of
    integers.  ``bounds`` has the name and the largest possible number of every column; ``summed`` says of each
    attribute that can be summed which column, plus which constant, is its value rounded down and clipped.
    """

    sql: str
    bounds: Mapping[str, int]
    summed: Mapping[str, tuple[str, int]]


def code_rows(domain: Domain, columns: Sequence[Column], source: str, dialect: Dialect) -> CodedRows:
    """The coded rows of the query ``source``, which selects the attributes' columns as ``x0``, ``x1``, …."""
    writer = _Writer(dialect)
    for index, ((name, attribute), column) in enumerate(zip(domain.attributes.items(), columns, strict=True)):
        writer.add(index, name, attribute, column, summable=_is_summable(domain, name))
    codes = ", ".join(f"{sql} AS {name}" for name, sql in writer.codes.items())
    inside = " AND ".join(f"c{index} IS NOT NULL" for index in range(len(columns)))
    rows = f"SELECT {', '.join(writer.read)} FROM ({source}) AS source"
    narrow = (f"CAST({name} AS {dialect.integer_type(bound)}) AS {name}" for name, bound in writer.bounds.items())
    sql = f"SELECT {codes} FROM ({rows}) AS stored{''.join(writer.joins)}"
    sql = f"SELECT {', '.join(narrow)} FROM ({sql}) AS coded WHERE {inside}"
    return CodedRows(sql, writer.bounds, writer.summed)


@dataclass(slots=True)
class _Writer:
    """Collects the SQL of all attributes: what is read, what is joined, what is coded."""

    dialect: Dialect
    read: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    summed: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, index: int, name: str, attribute: Attribute, column: Column, *, summable: bool) -> None:
        stored, value, code = f"x{index}", f"y{index}", f"c{index}"
        self.bounds[code] = attribute.size - 1
        if isinstance(attribute, Categorical):
            self.read.append(f"{_plain(column, stored, self.dialect)} AS {value}")
            found = self._named(index, value, attribute, column)
        elif isinstance(attribute, Integer):
            self.read.append(f"{_plain(column, stored, self.dialect)} AS {value}")
            found = self._integer(value, attribute, column)
            self.summed[name] = code, attribute.low
        else:
            assert isinstance(attribute, Binned)
            found = self._bin(index, name, attribute, column, summable=summable)
        # Whether a value is null is asked of what is stored: text that is not a number is outside, and not null.
        if attribute.nullable:
            self.read.append(f"{stored} IS NULL AS z{index}")
            found = f"CASE WHEN z{index} THEN {attribute.size - 1} ELSE {found} END"
        self.codes[code] = found

    def _named(self, index: int, value: str, attribute: Categorical, column: Column) -> str:
        literals = {}
        for code, declared in enumerate(attribute.values):
            literal = self._literal(declared, column)
            if literal is not None:
                literals[literal] = code
        if not literals:
            return "CAST(NULL AS BIGINT)"
        operand = value + self.dialect.collation if column.kind in ("string", "date") else value
        if len(literals) <= _MOST_BRANCHES:
            return f"CASE {' '.join(f'WHEN {operand} = {text} THEN {code}' for text, code in literals.items())} END"
        listed = ", ".join(f"({text}, {code})" for text, code in literals.items())
        self.joins.append(f" LEFT JOIN (VALUES {listed}) AS m{index}(v, k) ON {operand} = m{index}.v")
        return f"m{index}.k"

    def _literal(self, value: str | int | bool, column: Column) -> str | None:
        """A declared value in SQL; None if no row of the column can hold it."""
        if isinstance(value, str):
            return self.dialect.text(value)
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        low, high = self._range(column, value, value)
        return _whole_literal(value) if low <= high else None

    def _integer(self, value: str, attribute: Integer, column: Column) -> str:
        low, high = self._range(column, attribute.low, attribute.high)
        if low > high:
            return "CAST(NULL AS BIGINT)"
        shift = f" + {low - attribute.low}" if low > attribute.low else ""
        number = _clipped(f"{_offset(value, low)}{shift}", attribute.high - attribute.low)
        return f"CASE WHEN {_between(value, low, high)} THEN {number} END"

    def _range(self, column: Column, low: int, high: int) -> tuple[int, int]:
        """The part of ``low … high`` that the column can hold, since literals beyond it need not be integers."""
        if column.kind == "integer":
            return max(low, -(2**63)), min(high, 2**63 - 1)
        bound = self.dialect.wide_bound
        return (low, high) if bound is None else (max(low, -bound), min(high, bound))

    def _bin(self, index: int, name: str, attribute: Binned, column: Column, *, summable: bool) -> str:
        value, stored, double = f"y{index}", f"x{index}", self.dialect.double
        low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
        width = (high - low) / attribute.bins
        first = math.floor(low)
        edges_are_whole = low.denominator == width.denominator == 1
        # Some engines make an integer of FLOOR, and 0 of NaN: it is taken only of a double that lies in some bin.
        whole = f"FLOOR({value})" if column.kind == "float" else f"n{index}"
        if column.kind == "float" or not edges_are_whole:
            self.read.append(f"{_double(column, stored, self.dialect)} AS {value}")
        if column.kind != "float" and (edges_are_whole or summable):
            self.read.append(f"{_rounded_down(column, stored, self.dialect)} AS {whole}")
        if edges_are_whole:
            _check_whole_edges(name, attribute, column)
            if column.kind == "float":
                inside = _inside(value, first, int(high), double)
            else:
                inside = _between(whole, first, int(high) - 1)
            code = self.dialect.whole_quotient.format(_offset(whole, first), int(width))
        else:
            edges = _Edges.of(name, attribute, column)
            inside = _inside(value, edges.nearest(0), edges.nearest(attribute.bins), double)
            code = edges.code(value, double)
        if summable and edges_are_whole and width == 1:
            self.summed[name] = f"c{index}", first
        elif summable:
            self.summed[name] = f"v{index}", first
            self.bounds[f"v{index}"] = largest = math.ceil(high) - 1 - first
            # A null is in no sum, so what stands for it does not matter.
            self.codes[f"v{index}"] = f"CASE WHEN {inside} THEN {_clipped(_offset(whole, first), largest)} ELSE 0 END"
        return f"CASE WHEN {inside} THEN {_clipped(code, attribute.bins - 1)} END"


@dataclass(frozen=True, slots=True)
class _Edges:
    """The edges ``(start + k * step) / denominator`` of bins, not all of them whole.

    Numerators and denominator are doubles exactly, so by IEEE 754 one division gives the double nearest to the edge,
    and the same one on every engine.  The bin is guessed as ``floor((y - low) / width)``.  With ``u`` the spacing of
    doubles at the larger bound, the edges, ``low`` and the difference are off by at most ``u/2``, ``u/2`` and ``u``,
    and the quotient by 2**-20 more; since ``width >= 16 u`` the guess is off by one at most, and comparing with both
    edges of the guessed bin mends it.
    """

    start: int
    step: int
    denominator: int

    @classmethod
    def of(cls, name: str, attribute: Binned, column: Column) -> _Edges:
        """The edges, if comparing a value of the column with them as doubles is exact."""
        low, high = Fraction(str(attribute.low)), Fraction(str(attribute.high))
        width = (high - low) / attribute.bins
        denominator = math.lcm(low.denominator, width.denominator)
        start, step = int(low * denominator), int(width * denominator)
        largest = max(abs(low), abs(high))
        numerators = abs(start) + step * (attribute.bins + 2)
        wide_enough = width >= 16 * Fraction(math.ulp(float(largest)))
        # An engine may divide the digits by a power of ten, which is correctly rounded if both are doubles.
        digits_fit = column.scale is None or (column.scale <= 22 and largest * 10**column.scale < _EXACT_IN_DOUBLE)
        if max(numerators, denominator) >= _EXACT_IN_DOUBLE or not wide_enough or not digits_fit:
            raise DataError(
                f"{name}: the bin edges from {attribute.low} to {attribute.high} in {attribute.bins} bins are too fine "
                "to tell exactly on which side of them a value of the column lies; declare whole numbers as edges"
            )
        return cls(start, step, denominator)

    def code(self, value: str, double: str) -> str:
        """The bin of a value that lies in one."""
        start, step, denominator = (_double_literal(n, double) for n in (self.start, self.step, self.denominator))
        low = _double_literal(self.nearest(0), double)
        width = _double_literal(self.step / self.denominator, double)
        # The quotient of a tiny difference could underflow, which PostgreSQL reports as an error.
        guess = f"(CASE WHEN {value} - {low} < {width} THEN {_double_literal(0, double)} "
        guess += f"ELSE FLOOR(({value} - {low}) / {width}) END)"
        upper = f"(({guess} + {_double_literal(1, double)}) * {step} + {start}) / {denominator}"
        lower = f"({guess} * {step} + {start}) / {denominator}"
        mended = f"CASE WHEN {value} >= {upper} THEN 1 WHEN {value} < {lower} THEN -1 ELSE 0 END"
        return f"CAST({guess} AS BIGINT) + {mended}"

    def nearest(self, position: int) -> float:
        """The double that stands for an edge."""
        return (self.start + position * self.step) / self.denominator


def _check_whole_edges(name: str, attribute: Binned, column: Column) -> None:
    bits = 52 if column.kind == "float" else 62
    if max(abs(int(attribute.low)), abs(int(attribute.high))) > 2**bits:
        raise DataError(
            f"{name}: low and high must lie within ±2**{bits} to place values of a column of kind {column.kind} "
            "exactly; declare narrower bounds"
        )


def _is_summable(domain: Domain, name: str) -> bool:
    try:
        Statement("sum", Condition.of(domain.query()), name)
    except PredicateError:
        return False
    return True


def _plain(column: Column, stored: str, dialect: Dialect) -> str:
    """What is stored, in a type in which it can be compared exactly; null where text is not of the kind declared."""
    if column.as_text:
        return _READ_TEXT[column.kind].format(stored)
    if column.kind in ("string", "date"):
        return f"CAST({stored} AS {dialect.string})"
    if column.kind == "integer":
        return f"CAST({stored} AS BIGINT)"
    return f"{dialect.wide_cast}({stored} AS {dialect.wide})" if column.kind == "wide integer" else stored


def _double(column: Column, stored: str, dialect: Dialect) -> str:
    if column.as_text:
        return _plain(column, stored, dialect)
    if column.kind in ("decimal", "wide integer"):
        return dialect.nearest_double.format(stored)
    return f"CAST({stored} AS {dialect.double})"


def _rounded_down(column: Column, stored: str, dialect: Dialect) -> str:
    """The largest whole number up to the integer or the decimal that is stored."""
    if column.kind == "decimal":
        return f"{dialect.wide_cast}(FLOOR({stored}) AS {dialect.wide})"
    return _plain(column, stored, dialect)


_READ_TEXT = {
    "string": "{}",
    "wide integer": "CASE WHEN REGEXP_FULL_MATCH({0}, '[+-]?[0-9]+') THEN TRY_CAST({0} AS HUGEINT) END",
    "float": "CASE WHEN REGEXP_FULL_MATCH({0}, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?') "
    "THEN TRY_CAST({0} AS DOUBLE) END",
    "boolean": "CASE LOWER({}) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END",
}
"""How DuckDB reads text; its own casts take more for a number than is one, 12.7 for the integer 13 among it."""


def _inside(value: str, low: float, high: float, double: str) -> str:
    """Whether a double lies in ``[low, high)``; NaN does not, since all engines sort it last."""
    return f"{value} >= {_double_literal(low, double)} AND {value} < {_double_literal(high, double)}"


def _between(value: str, low: int, high: int) -> str:
    return f"{value} BETWEEN {_whole_literal(low)} AND {_whole_literal(high)}"


def _offset(value: str, low: int) -> str:
    return f"CAST({value} - {_whole_literal(low)} AS BIGINT)"


def _clipped(number: str, largest: int) -> str:
    return f"LEAST(GREATEST({number}, 0), {largest})"


def _whole_literal(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"


def _double_literal(number: float, double: str) -> str:
    # From a string: engines read bare digits as a decimal, and not all convert it to the nearest double.
    return f"CAST('{number!r}' AS {double})"

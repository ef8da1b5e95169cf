"""What the rows of a column hold, for a draft from data: its values if they are few, or the least and the largest.

A column of text is taken for integers, decimals, dates or booleans if all of its texts are such, but for those that
programs write for null; a number that begins with a zero, like 01, is a code, and makes the whole column text.  All of
this is asked of the values as encoding reads them, so that what was seen is in the domain that is drafted.  Where
nearly all texts of a column that could not be listed are numbers or dates, what these would be is drafted as a comment.

Rows are read once, batch by batch.  Of each column only its ends and at most so many different texts are kept as a
draft lists, and of its first values whether they differ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from parcomp.data.drafting.draft import Line, complete, left_out, unread
from parcomp.data.encoding.columns import is_text
from parcomp.data.encoding.encoder import ColumnEncoder
from parcomp.data.encoding.numbers import read_number
from parcomp.data.encoding.report import NULL_CODE, NULL_TOKENS
from parcomp.errors import DomainError
from parcomp.model import Attribute, Categorical, Dated, Integer, Stepped

__all__ = ["MAX_NAMED_VALUES", "Observed", "observed_column"]

MAX_NAMED_VALUES = 100
"""A column with more different texts than this is not drafted as a list of them."""

_MOST_PLACES = 6
"""The most decimal places of a step that is taken from the data."""

_MOST_TOKENS = 20
"""How many spellings of null are told from other texts in one column."""

_COMPARED = 10_000
"""How many of a column's first values are compared with each other."""

_FEWEST = 20
_NEARLY = 0.95
"""Of so many values at least, such a share is different: then the column seems to identify its rows."""

_NEARLY_ALL = 0.9
"""The share of a column's texts that must be numbers or dates for the column to be taken for one with errors."""

_SURE_TOKENS = frozenset({"na", "n/a", "#n/a", "nan", "null"})
"""Texts that stand for null also among texts, where a dash or ``none`` may well be a value."""

_LEADING_ZERO = r"^[+-]?0[0-9]"
_COMMA = r"^[+-]?[0-9]{1,3}(\.?[0-9]{3})*,[0-9]+$"
_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"
_WORDS = pa.array(["true", "false"], pa.large_string())
_ANY_DAY = Dated("0001-01-01", "9999-12-31")
_ENDS = "the least and the largest in the data"
_IDENTIFIER = "nearly every row has another value, as in an identifier; declare it if it is none"
_COARSE = "; finer decimals are rounded to the step"
_ODD = "; NaN and infinities stay outside"
_NULL_CODE = "; {} may be a code for null"
_COMMAS = "decimals with a comma, which are not read; convert them before the table is read, or in a view"


class Observed(ABC):
    """A column as far as it was read."""

    def __init__(self) -> None:
        self._nulls = False
        self._tokens: set[str] = set()
        self._compared = 0
        self._hashes: set[int] = set()

    def add(self, array: pa.Array) -> None:
        """Look at more of its values."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if is_text(array.type):
            array = array.cast(pa.large_string())
        self._nulls = self._nulls or bool(array.null_count)
        array = array.drop_null()
        first = array[: _COMPARED - self._compared]
        self._compared += len(first)
        self._hashes.update(map(hash, first.to_pylist()))
        if len(array):
            self._add(array)

    @abstractmethod
    def _add(self, array: pa.Array) -> None: ...

    @property
    def tokens(self) -> Iterable[str]:
        """The texts in it that seem to stand for null."""
        return ()

    def line(self, nulls: frozenset[str]) -> Line | None:
        """What is drafted of it, if these texts are declared to stand for null; nothing if there is no other value."""
        return self._line(nullable=self._nulls or bool(self._tokens & nulls))

    @abstractmethod
    def _line(self, *, nullable: bool) -> Line | None: ...

    @property
    def _identifies(self) -> bool:
        return self._compared >= _FEWEST and len(self._hashes) >= _NEARLY * self._compared


def observed_column(kind: pa.DataType, step: str | None = None) -> Observed:
    """What looks at a column of a type; ``step`` is that of its decimals, if it is declared."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_text(kind):
        return _Texts()
    if pa.types.is_boolean(kind):
        return _Booleans()
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _Moments(hours=not pa.types.is_date(kind))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _Numbers(step)
    return _Unread()


class _Unread(Observed):
    def _add(self, array: pa.Array) -> None: ...

    def _line(self, *, nullable: bool) -> Line | None:  # noqa: ARG002  it is the same for all
        return unread()


class _Booleans(Observed):
    def _add(self, array: pa.Array) -> None: ...

    def _line(self, *, nullable: bool) -> Line | None:
        # Both are public: they follow from the type.
        return complete(Categorical([False, True], nullable))


class _Numbers(Observed):
    """Numbers of any type, or texts as long as all of them are numbers."""

    def __init__(self, step: str | None = None) -> None:
        super().__init__()
        self.strays = 0
        self._step = step
        self._places = 0
        self._ends: tuple[Fraction, Fraction] | None = None
        self._odd = False

    @property
    def sound(self) -> bool:
        """Whether there were only numbers."""
        return not self.strays

    def _add(self, array: pa.Array) -> None:
        kind = array.type
        if pa.types.is_integer(kind):
            found = pc.min_max(array).as_py()
            self._widen([Fraction(found["min"]), Fraction(found["max"])])
        elif pa.types.is_floating(kind):
            self._add_doubles(np.unique(array.to_numpy(zero_copy_only=False)))
        else:
            if pa.types.is_decimal(kind) and self._step is None:
                self._step = _step(kind.scale)
            self.add_texts(pc.value_counts(array.cast(pa.large_string())))

    def add_texts(self, counted: pa.StructArray) -> None:
        """Look at texts, each with how many there are; those that are no numbers are counted."""
        texts = counted.field("values")
        plain = pc.match_substring_regex(texts, _PLAIN_NUMBER)
        numbers = texts.filter(plain)
        if len(numbers):
            found = pc.min_max(numbers.cast(pa.decimal128(38, 15))).as_py()
            self._widen([Fraction(found["min"]), Fraction(found["max"])])
            decimals = pc.utf8_rtrim(pc.replace_substring_regex(numbers, r"^-?[0-9]+\.?", ""), "0")
            self._places = max(self._places, pc.max(pc.utf8_length(decimals)).as_py())
        for text, count in zip(*(part.filter(pc.invert(plain)).to_pylist() for part in counted.flatten()), strict=True):
            number = read_number(text)
            if isinstance(number, Fraction):
                self._widen([number])
                self._places = max(self._places, _places(number))
            elif isinstance(number, float) or text.lower() == "nan":
                self._odd = True
            else:
                self.strays += count

    def _add_doubles(self, stored: npt.NDArray[np.floating]) -> None:
        if stored.dtype != np.float64:
            # As encoding does: the double nearest to the shortest decimal of a narrower float.
            stored = np.array([float(str(number)) for number in stored], np.float64)
        finite = stored[np.isfinite(stored)]
        self._odd = self._odd or len(finite) < len(stored)
        if not len(finite):
            return
        self._widen([Fraction(repr(float(number))) for number in (finite.min(), finite.max())])
        # A double that comes back from rounding to so many places is the nearest to a decimal of so many.
        with np.errstate(over="ignore", invalid="ignore"):
            while self._places <= _MOST_PLACES and not np.array_equal(np.round(finite, self._places), finite):
                self._places += 1

    def _widen(self, numbers: Iterable[Fraction]) -> None:
        all_numbers = [*numbers, *(self._ends or ())]
        self._ends = min(all_numbers), max(all_numbers)

    def _line(self, *, nullable: bool) -> Line | None:
        return self.drafted(nullable, identifies=self._identifies)

    def drafted(self, nullable: bool, *, identifies: bool = False) -> Line | None:
        """What is drafted of the numbers that were seen, if there were any."""
        if self._ends is None:
            return None
        is_whole = self._places == 0 and (self._step is None or Fraction(self._step) >= 1)
        if is_whole and identifies:
            return left_out(_IDENTIFIER)
        for attribute in self._attributes(nullable, is_whole=is_whole):
            is_coarse = isinstance(attribute, Stepped) and Fraction(attribute.scale.step) > Fraction(
                _step(self._places)
            )
            remark = _ENDS + (_COARSE if is_coarse else "") + (_ODD if self._odd else "")
            code = next((end for end in map(_written, self._ends) if NULL_CODE.fullmatch(end)), "")
            return complete(attribute, remark + (_NULL_CODE.format(code) if code else ""))
        fields: dict[str, object] = {"low": None, "high": None, "step": None} | ({"nullable": True} if nullable else {})
        return Line(fields=fields, remark="numbers that are too large or too many; give low, high and step or bins")

    def _attributes(self, nullable: bool, *, is_whole: bool) -> Iterable[Attribute]:
        """The attributes that hold all numbers, the finest first."""
        assert self._ends is not None
        low, high = self._ends
        if is_whole:
            try:
                yield Integer(int(low), int(high), nullable)
            except DomainError:
                return
            return
        steps = [self._step] if self._step is not None else []
        steps += [_step(places) for places in range(min(self._places, _MOST_PLACES), -1, -1)]
        for step in steps:
            size = Fraction(step)
            ends = (_decimal(math.floor(low / size), step), _decimal(math.ceil(high / size), step))
            try:
                yield Stepped(*ends, step, nullable)
            except DomainError:
                continue


class _Moments(Observed):
    """Dates and times of any type, or texts as long as all of them are such."""

    def __init__(self, *, hours: bool = False) -> None:
        super().__init__()
        self._hours = hours
        self._encoder = ColumnEncoder("a date", _ANY_DAY, (), "UTC")
        self._ends: tuple[int, int] | None = None

    @property
    def strays(self) -> int:
        """How many texts were no dates."""
        return self._encoder.tally["wrong_type"]

    @property
    def sound(self) -> bool:
        """Whether there were only dates."""
        return not self.strays

    def _add(self, array: pa.Array) -> None:
        self.add_moments(array)

    def add_moments(self, array: pa.Array) -> None:
        """Look at moments, none of them null."""
        codes = self._encoder.codes(array)
        codes = codes[codes < _ANY_DAY.size]
        if is_text(array.type):
            self._hours = self._hours or bool(pc.max(pc.utf8_length(array)).as_py() > 10)
        if len(codes):
            seen = [int(codes.min()), int(codes.max()), *(self._ends or ())]
            self._ends = min(seen), max(seen)

    def _line(self, *, nullable: bool) -> Line | None:
        return self.drafted(nullable)

    def drafted(self, nullable: bool) -> Line | None:
        """What is drafted of the moments that were seen, if there were any."""
        if self._ends is None:
            return None
        low, high = (str(_ANY_DAY.value(end)) for end in self._ends)
        return complete(Dated(low, high, nullable=nullable), _ENDS + ('; or unit = "hour"' if self._hours else ""))


class _Texts(Observed):
    """Texts, and what all of them may be besides."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: set[str] = set()
        self._looked_at = 0
        self._commas = 0
        self._coded = False
        self._boolean = True
        self._numbers = _Numbers()
        self._moments = _Moments()

    def _add(self, array: pa.Array) -> None:
        array = self._without_tokens(array)
        if not len(array):
            return
        self._looked_at += len(array)
        counted = pc.value_counts(array)
        texts = counted.field("values")
        if len(self._texts) <= MAX_NAMED_VALUES:
            self._texts.update(texts[: 2 * MAX_NAMED_VALUES + 1].to_pylist())
        self._coded = self._coded or pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py()
        self._boolean = self._boolean and pc.all(pc.is_in(pc.utf8_lower(texts), _WORDS)).as_py()
        if not self._coded and not self._is_hopeless(self._numbers.strays):
            self._numbers.add_texts(counted)
        if not self._is_hopeless(self._moments.strays):
            self._moments.add_moments(array)
        self._commas += pc.sum(pc.match_substring_regex(array, _COMMA)).as_py()

    def _is_hopeless(self, strays: int) -> bool:
        """Whether so many texts are something else that no more need to be looked at."""
        return strays > _COMPARED and 2 * strays > self._looked_at

    def _is_nearly_all(self, others: int) -> bool:
        return self._looked_at - others >= _NEARLY_ALL * self._looked_at

    def _without_tokens(self, texts: pa.Array) -> pa.Array:
        trimmed = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
        alike = pc.is_in(trimmed, pa.array(sorted(NULL_TOKENS), pa.large_string()))
        for token in pc.unique(texts.filter(alike)).to_pylist():
            if len(self._tokens) < _MOST_TOKENS:
                self._tokens.add(token)
        return texts.filter(pc.invert(pc.is_in(texts, pa.array(sorted(self._tokens), pa.large_string()))))

    @property
    def _kind(self) -> str:
        if not self._looked_at or self._boolean:
            return "booleans" if self._looked_at else "nothing"
        if self._numbers.sound and not self._coded:
            return "numbers"
        return "dates" if self._moments.sound else "strings"

    @property
    def tokens(self) -> Iterable[str]:
        """Among names only those that can hardly be one."""
        if self._kind in ("nothing", "strings"):
            return [token for token in self._tokens if token.strip().lower() in _SURE_TOKENS]
        return self._tokens

    def line(self, nulls: frozenset[str]) -> Line | None:
        """What else seems to stand for null is a value among others where it is not declared so."""
        values = self._texts | (self._tokens - nulls)
        if self._kind not in ("nothing", "strings"):
            return super().line(nulls)
        if not values:
            return None
        if self._identifies or len(values) > MAX_NAMED_VALUES:
            almost = self._almost(nullable=self._nulls or bool(self._tokens & nulls))
            if almost is not None:
                return almost
        if self._identifies:
            return left_out(_IDENTIFIER)
        if len(values) > MAX_NAMED_VALUES:
            return left_out(f"more than {MAX_NAMED_VALUES} different texts; declare values if it is not free text")
        nullable = self._nulls or bool(self._tokens & nulls)
        return complete(Categorical(sorted(values), nullable), "the values in the data")

    def _almost(self, *, nullable: bool) -> Line | None:
        """What is drafted, as a comment, of a column that would be one of dates or numbers but for some texts."""
        if self._is_nearly_all(self._looked_at - self._commas):
            return left_out(_COMMAS)
        for kind, found in (("dates", self._moments), ("numbers", self._numbers)):
            if self._is_nearly_all(found.strays) and not (kind == "numbers" and self._coded):
                line = found.drafted(nullable)
                if line is not None and line.attribute is not None:
                    remark = (
                        f"{kind}, but for {found.strays:,} texts that are none: mend these, or take them as outside"
                    )
                    return Line(fields=line.attribute.describe(), remark=f"{remark}; {line.remark}")
        return None

    def _line(self, *, nullable: bool) -> Line | None:
        if self._kind == "booleans":
            return complete(Categorical([False, True], nullable))
        if self._kind == "numbers":
            return self._numbers.drafted(nullable, identifies=self._identifies)
        return self._moments.drafted(nullable)


def _places(number: Fraction) -> int:
    """The decimal places of a number, as far as they count."""
    many = _MOST_PLACES + 1
    return next((places for places in range(many) if 10**places % number.denominator == 0), many)


def _written(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else ""


def _step(places: int) -> str:
    return f"0.{'0' * (places - 1)}1" if places > 0 else "1"


def _decimal(steps: int, step: str) -> str:
    """So many steps, each a power of ten."""
    places = len(step) - 2 if "." in step else 0
    digits = f"{abs(steps):0{places + 1}d}"
    written = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits
    return f"-{written}" if steps < 0 else written

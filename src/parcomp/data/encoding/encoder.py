"""From columns of stored values to columns of codes: the one place where a stored value becomes a value of the domain.

Every value of every type has an outcome, a code or the reason why it has none, so no row can make encoding fail.  What
a value becomes depends on itself and the declaration alone, never on the rows around it.

*Strings* are equal if their code points are.  *Null* is what the source calls null, and text that is one of the tokens
for it; what is no text in the source is none here, however its engine writes it.  A float that is not a number is no
value of any kind, and not null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from parcomp.data.encoding.columns import is_text, value_kind
from parcomp.data.encoding.moments import MomentPlacer
from parcomp.data.encoding.numbers import NumberPlacer, number_placer, read_number
from parcomp.data.encoding.outcome import CLIPPED, MOVED, NULL, OUT_OF_RANGE, REASONS, UNKNOWN, WRONG_TYPE, Outcomes
from parcomp.data.sources.source import WRITTEN
from parcomp.model import Attribute, Categorical, Dated

__all__ = ["ColumnEncoder"]

_MOST_SAMPLES = 1_000
"""How many different values without a code are remembered for each attribute and reason."""

_NOTED = {**REASONS, CLIPPED: "clipped", MOVED: "rounded"}
_BEYOND = (REASONS[OUT_OF_RANGE], "clipped")
"""Of these the values are remembered in columns of numbers too."""

_DAY = 86_400_000
"""Milliseconds."""

_PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
_PLAIN_LENGTH = 15
"""Decimals of so many digits are told apart by doubles, and a double's shortest decimal is the one that was read."""


class ColumnEncoder:
    """Encodes the column of one attribute.

    ``tally`` counts the values without a code by reason, ``samples`` has what they were, as long as they are few:
    texts, and the numbers that lie beyond the ends, as they are written.  Both have ``clipped`` too, the numbers that
    were taken to an end, and ``tally`` has ``rounded``, those that were taken to the nearest step.  ``has_text`` is
    whether the column is one of texts.
    """

    def __init__(self, name: str, attribute: Attribute, nulls: Sequence[str], timezone: str) -> None:
        self.name = name
        self.attribute = attribute
        self.tally: Counter[str] = Counter()
        self.samples: dict[str, Counter[str]] = {}
        self.has_text = False
        self._nulls = pa.array(list(nulls), pa.large_string())
        self._outcomes = _reader(name, attribute, timezone)

    def codes(self, array: pa.Array) -> npt.NDArray[np.int64]:
        """The code of each value; those without one have the code after the last, which is ``attribute.size``."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_date64(array.type):
            array = _whole_days(array)
        self.has_text = is_text(array.type)
        if self.has_text or array.type == WRITTEN:
            array = array.cast(pa.large_string())
        missing = array.is_null()
        if self.has_text and len(self._nulls):
            missing = pc.or_(missing, pc.is_in(array, self._nulls))
        missing = missing.to_numpy(zero_copy_only=False)
        outcomes = np.full(len(array), NULL, np.int64)
        if not missing.all():
            present = array if not missing.any() else array.filter(pa.array(~missing))
            outcomes[~missing] = self._outcomes(present)
        self._note(array, outcomes)
        outcomes = np.where(outcomes < 0, outcomes, outcomes & ~(CLIPPED | MOVED))
        if self.attribute.nullable:
            outcomes[missing] = self.attribute.null
        return np.where(outcomes < 0, self.attribute.size, outcomes)

    def add(self, tally: Mapping[str, int], samples: Mapping[str, Mapping[str, int]]) -> None:
        """Add what another encoder has met."""
        self.tally.update(tally)
        for reason, values in samples.items():
            self.samples.setdefault(reason, Counter()).update(values)

    def _note(self, array: pa.Array, outcomes: Outcomes) -> None:
        for reason, name in _NOTED.items():
            found = outcomes == reason if reason < 0 else (outcomes >= 0) & (outcomes & reason != 0)
            count = int(found.sum())
            if not count or (reason == NULL and self.attribute.nullable):
                continue
            self.tally[name] += count
            is_number = name in _BEYOND and not isinstance(self.attribute, Dated)
            if reason in (NULL, MOVED) or not (self.has_text or is_number):
                continue
            seen = self.samples.setdefault(name, Counter())
            if len(seen) < _MOST_SAMPLES:
                for one in pc.value_counts(array.filter(pa.array(found))).to_pylist():
                    seen[str(one["values"])] += one["counts"]


def _reader(name: str, attribute: Attribute, timezone: str) -> Callable[[pa.Array], Outcomes]:
    """What finds the outcomes of values that are not null."""
    kind = value_kind(name, attribute)
    if isinstance(attribute, Dated):
        placer = MomentPlacer(attribute, ZoneInfo(timezone))
        return lambda array: _each(array, placer.texts) if is_text(array.type) else placer.moments(array)
    if isinstance(attribute, Categorical):
        named = _Named(attribute, kind)
        return lambda array: _each(array, named.outcomes)
    numbers = number_placer(name, attribute)
    return lambda array: _number_outcomes(numbers, array)


def _each(array: pa.Array, outcomes: Callable[[Iterable[object]], Outcomes]) -> Outcomes:
    """The outcomes of values, each different one looked at once."""
    if _is_narrow(array.type):
        stored, place_of = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        found = outcomes(str(number) for number in stored)
        return _at(place_of, found)
    if pa.types.is_date(array.type):
        # As text, since Python has no dates beyond the year 9999.
        array = array.cast(pa.date32()).cast(pa.large_string())
    encoded = array.dictionary_encode()
    place_of = encoded.indices.to_numpy(zero_copy_only=False)
    return _at(place_of, outcomes(encoded.dictionary.to_pylist()))


def _whole_days(array: pa.Array) -> pa.Array:
    """Days of 64 bits, which may be off midnight and beyond those of 32 bits, as days of 32 bits.

    What lies beyond is taken to the last of these, which no attribute declares either.
    """
    days = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // _DAY
    held = np.clip(days, np.iinfo(np.int32).min, np.iinfo(np.int32).max).astype(np.int32)
    return pa.array(held, pa.date32(), mask=array.is_null().to_numpy(zero_copy_only=False))


def _at(place_of: npt.NDArray[np.integer], outcomes: Outcomes) -> Outcomes:
    """The outcomes of all values, from those of the different ones and the place of each among them."""
    placed: Outcomes = outcomes[place_of]
    return placed


def _is_narrow(kind: pa.DataType) -> bool:
    """Whether values are floats whose shortest decimal is another one than that of the double equal to them."""
    return bool(pa.types.is_floating(kind) and not pa.types.is_float64(kind))


class _Named:
    """Finds named values: strings, integers or booleans."""

    def __init__(self, attribute: Categorical, kind: str) -> None:
        self._codes = {value: code for code, value in enumerate(attribute.values)}
        self._one = {"strings": self._string, "integers": self._integer, "booleans": self._boolean}[kind]

    def outcomes(self, values: Iterable[object]) -> Outcomes:
        return np.fromiter((self._one(value) for value in values), np.int64)

    def _string(self, value: object) -> int:
        assert isinstance(value, str)
        return self._codes.get(value, UNKNOWN)

    def _integer(self, value: object) -> int:
        number = _exact(value)
        if not isinstance(number, Fraction) or number.denominator != 1:
            return UNKNOWN if isinstance(number, float) else WRONG_TYPE
        return self._codes.get(int(number), UNKNOWN)

    def _boolean(self, value: object) -> int:
        words = {"true": True, "false": False}
        truth = words.get(value.lower()) if isinstance(value, str) else None
        if isinstance(value, bool):
            truth = value
        elif truth is None:
            number = _exact(value)
            if number not in (0, 1):
                return WRONG_TYPE
            truth = number == 1
        return self._codes.get(truth, UNKNOWN)


def _exact(value: object) -> Fraction | float | None:
    """The number that a stored value is; an infinity is a float, and what is none is None."""
    return Fraction(value) if isinstance(value, int) else read_number(str(value))


def _number_outcomes(placer: NumberPlacer, array: pa.Array) -> Outcomes:
    kind = array.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return placer.integers(array.cast(pa.int64()).to_numpy(zero_copy_only=False))
    if pa.types.is_float64(kind):
        return _double_outcomes(placer, array.to_numpy(zero_copy_only=False))
    if _is_narrow(kind):
        # The double nearest to the shortest decimal of a narrower float.
        stored, place_of = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        doubles = np.array([float(str(number)) for number in stored], np.float64)
        return _double_outcomes(placer, doubles)[place_of]
    # Decimals and unsigned integers, too, are read as they are written.
    return _text_outcomes(placer, array if is_text(kind) else array.cast(pa.large_string()))


def _double_outcomes(placer: NumberPlacer, numbers: npt.NDArray[np.float64]) -> Outcomes:
    outcomes, certain = placer.doubles(numbers)
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        values, place_of = np.unique(numbers[doubtful], return_inverse=True)
        found = [placer.exact(Fraction(repr(number))) for number in values.tolist()]
        outcomes[doubtful] = np.array(found, np.int64)[place_of]
    return outcomes


def _text_outcomes(placer: NumberPlacer, array: pa.Array) -> Outcomes:
    encoded = array.dictionary_encode()
    texts = encoded.dictionary
    short = pc.less_equal(pc.binary_length(texts), _PLAIN_LENGTH)
    plain = pc.and_(short, pc.match_substring_regex(texts, _PLAIN_NUMBER)).to_numpy(zero_copy_only=False)
    outcomes = np.empty(len(texts), np.int64)
    if plain.any():
        doubles = texts.filter(pa.array(plain)).cast(pa.float64()).to_numpy(zero_copy_only=False)
        outcomes[plain] = _double_outcomes(placer, doubles)
    for place in np.flatnonzero(~plain).tolist():
        number = read_number(texts[place].as_py())
        outcomes[place] = WRONG_TYPE if number is None else placer.exact(number)
    return _at(encoded.indices.to_numpy(zero_copy_only=False), outcomes)

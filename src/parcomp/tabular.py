"""What has columns, as a data frame of pandas, polars or Arrow, and as a table of text.

A class that is :class:`Tabular` says which columns it has; everything else follows from their values.  Whole numbers
are integers that may be missing, labels that are all ISO dates are dates, and labels of several types are text.  Arrow
is always there; pandas and polars are extras, and imported when they are asked for.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from parcomp.errors import ParcompError, one_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = [
    "Columns",
    "Tabular",
    "count_text",
    "counted",
    "days_of",
    "decimals_beside",
    "decimals_of",
    "error_text",
    "label_text",
    "number_text",
    "rounded_text",
    "shortened",
    "text_table",
]

_LITTLE = 1e-3
"""Errors, and estimated counts, below this are told apart by nobody."""

_OF_A_WIDTH = 3
"""So many digits of how uncertain a number is are told, and as many of the number itself."""

_LEAST_TEXT = 24
"""Characters that a text keeps where a table has to be narrower."""

_MOST_DECIMALS = 6
"""Numbers with more decimals are not in steps of an attribute but worked out, as averages are."""

_DIGITS = 6
"""So many digits of a number that is worked out tell it from others; of a large one its hundredths are told too."""

_PLAIN = (1e-4, 1e18)
"""Numbers between these are written without an exponent."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of equal length by name, those of ``numbers`` among them; ``about`` is what holds for all of them."""

    values: Mapping[str, Sequence[Any]]
    numbers: frozenset[str] = frozenset()
    about: Mapping[str, Any] = field(default_factory=dict)


class Tabular(ABC):
    """Something with columns."""

    __slots__ = ()

    @abstractmethod
    def _columns(self) -> Columns:
        """The columns, in order."""

    def to_arrow(self) -> pa.Table:
        """The columns as a table of Arrow; what holds for all of them is the schema's metadata, in JSON."""
        import pyarrow as pa  # noqa: PLC0415  it takes a while to import, and not everyone wants a frame

        columns = self._columns()
        arrays = {name: _array(values, name in columns.numbers) for name, values in columns.values.items()}
        about = json.dumps(dict(columns.about), ensure_ascii=False)
        return pa.table(arrays).replace_schema_metadata({"parcomp": about})

    def to_pandas(self) -> pd.DataFrame:
        """The columns as a data frame of pandas; what holds for all of them is in its ``attrs``."""
        with _installed("pandas"):
            import pandas as pd  # noqa: PLC0415  an optional dependency

        import pyarrow as pa  # noqa: PLC0415

        types = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame = self.to_arrow().replace_schema_metadata(None).to_pandas(types_mapper=types.get, date_as_object=False)
        frame.attrs = dict(self._columns().about)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The columns as a data frame of polars."""
        with _installed("polars"):
            import polars as pl  # noqa: PLC0415  an optional dependency

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame


@contextmanager
def _installed(package: str) -> Iterator[None]:
    """Name the extra to install where an import within this fails."""
    try:
        yield
    except ImportError:
        raise ParcompError(
            f"a frame of {package} needs {package}: pip install 'parcomp[frames]'; to_arrow() needs nothing more"
        ) from None


def _array(values: Sequence[Any], is_number: bool) -> pa.Array:
    """Values as an array of one type."""
    import pyarrow as pa  # noqa: PLC0415

    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(-_LARGEST <= value < _LARGEST for value in present):
        return pa.array(values, pa.int64())
    if kinds <= {int, float} and (kinds or is_number):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {str}:
        days = days_of(values)
        return pa.array(values, pa.string()) if days is None else pa.array(days, pa.date32())
    return pa.array([None if value is None else label_text(value) for value in values], pa.string())


def days_of(labels: Sequence[object]) -> list[date | None] | None:
    """Labels as dates, if all of them are ISO dates or null, and not all null."""
    try:
        found = [None if label is None else _day(label) for label in labels]
    except ValueError:
        return None
    return found if any(day is not None for day in found) else None


def _day(label: object) -> date:
    if not isinstance(label, str) or not _DATE.fullmatch(label):
        raise ValueError
    return date.fromisoformat(label)


def label_text(label: object) -> str:
    """The label of a group, as people read it; on one line, whatever it holds."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return "null" if label is None else one_line(str(label))


def number_text(number: int | float | None, decimals: int | None = None) -> str:
    """A number with its thousands set apart; a dash where there is none.

    With ``decimals`` it has so many.  Without, it has those of its notation if they are few, as numbers in steps of an
    attribute have; one that is worked out has six digits, or all before the point and two after it.

    >>> number_text(681892345.67), number_text(11_917.5), number_text(11_917.5, 2), number_text(1_000_000)
    ('681,892,345.67', '11,917.5', '11,917.50', '1,000,000')
    >>> number_text(2 / 3), number_text(2e6 / 3), number_text(1e-7 / 3), number_text(None)
    ('0.666667', '666,666.67', '3.33333e-08', '–')
    """
    if number is None:
        return "–"
    if decimals is None:
        decimals = decimals_of([number])
    if decimals is not None:
        return f"{number:,.{decimals}f}"
    if not _PLAIN[0] <= abs(number) < _PLAIN[1]:
        return f"{number:,.{_DIGITS}g}"
    return _without_zeros(f"{number:,.{max(_DIGITS - 1 - _magnitude(number), 2)}f}")


def decimals_of(numbers: Iterable[int | float | None]) -> int | None:
    """The most decimals that one of some numbers has; None where that is more than steps of an attribute have.

    >>> decimals_of([12, 0.5, 17.25, None]), decimals_of([12, 3.0]), decimals_of([0.5, 1 / 3])
    (2, 0, None)
    """
    most = 0
    for number in numbers:
        if isinstance(number, float) and not number.is_integer():
            if not _PLAIN[0] <= abs(number) < _PLAIN[1]:
                return None
            most = max(most, len(repr(number).partition(".")[2]))
        elif isinstance(number, float) and abs(number) >= _PLAIN[1]:
            return None
    return most if most <= _MOST_DECIMALS else None


def rounded_text(number: float, digits: int) -> str:
    """A number to so many digits, with its thousands set apart and without an exponent where it is not tiny.

    >>> rounded_text(2_987_654.3, 4), rounded_text(12.345678, 4), rounded_text(0.00001234, 3), rounded_text(-0.5, 4)
    ('2,988,000', '12.35', '1.23e-05', '-0.5')
    """
    if number == 0 or not _PLAIN[0] <= abs(number) < _PLAIN[1]:
        return f"{number:,.{digits}g}"
    shown = float(f"{number:.{digits}g}")
    return _without_zeros(f"{shown:,.{max(digits - 1 - _magnitude(shown), 0)}f}")


def error_text(error: float) -> str:
    """A mean error to four digits; one that is next to nothing is said to be so.

    >>> error_text(12_345.678), error_text(0.5), error_text(7.229e-05), error_text(0)
    ('± 12,350', '± 0.5', 'below 0.001', '± 0')
    """
    return f"below {_LITTLE:g}" if 0 < error < _LITTLE else f"± {rounded_text(error, 4)}"


def count_text(count: float, decimals: int | None = None) -> str:
    """An estimated count, which is next to nothing where it is far below one.

    >>> count_text(1.16e-05, 2), count_text(239.608, 1), count_text(0.0, 1)
    ('below 0.001', '239.6', '0')
    """
    return "0" if not count else f"below {_LITTLE:g}" if 0 < count < _LITTLE else number_text(count, decimals)


def decimals_beside(figures: Iterable[tuple[float | None, float | None, float | None]]) -> int | None:
    """How many decimals numbers need that stand beside each other, each with its interval; None where it takes many.

    The least uncertain one has three digits of its uncertainty.

    >>> decimals_beside([(243.88, 240.049, 247.71)]), decimals_beside([(1e6, 0.9e6, 1.1e6), (5, None, None)])
    (2, 0)
    """
    widths = [(high - low) / 2 for _, low, high in figures if low is not None and high is not None and high > low]
    if not widths or not math.isfinite(min(widths)):
        return None
    decimals = max(_OF_A_WIDTH - 1 - _magnitude(min(widths)), 0)
    return decimals if decimals <= _MOST_DECIMALS else None


def shortened(words: str, most: int) -> str:
    """Words on one line, cut off where they take more characters.

    >>> shortened("SELECT  COUNT(*) FROM people", 12)
    'SELECT COUN…'
    """
    line = one_line(" ".join(words.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _magnitude(number: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(number)))


def _without_zeros(written: str) -> str:
    return written.rstrip("0").rstrip(".") if "." in written else written


def counted(number: int, thing: str, things: str = "") -> str:
    """So many things; the plural of a thing is made by an s if it is not given.

    >>> counted(1, "charge"), counted(0, "charge"), counted(1_200, "load")
    ('1 charge', '0 charges', '1,200 loads')
    >>> counted(1, "query", "queries"), counted(2, "query", "queries")
    ('1 query', '2 queries')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def text_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    long: int | None = None,
    width: int | None = None,
) -> str:
    """A table without lines, with columns as wide as what they hold; ``right`` says which are aligned to the right.

    Texts of the column ``long`` are cut off where the table would be wider than ``width``.
    """
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415  only who prints a table needs it

    listed = [list(map(one_line, headings)), *map(list, rows)] if any(headings) else list(map(list, rows))
    widths = [max((cell_len(row[place]) for row in listed), default=0) for place in range(len(headings))]
    if long is not None and width is not None:
        room = max(width - sum(widths) - 2 * (len(widths) - 1) + widths[long], _LEAST_TEXT)
        for row in listed:
            if cell_len(row[long]) > room:
                row[long] = f"{set_cell_size(row[long], room - 1).rstrip()}…"
        widths[long] = min(widths[long], room)
    lines = []
    for row in listed:
        cells = [
            " " * (width - cell_len(cell)) + cell if is_right else set_cell_size(cell, width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

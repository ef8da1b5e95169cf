"""What the SQL of the three engines differs in, and how a literal is written so that no value can break out of it.

All other SQL of this package is the same text for every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["DUCKDB", "POSTGRES", "SPARK", "Dialect", "quoted_name"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """An engine's wording.

    ``wide`` is its integer type beyond 64 bits, which holds the integers up to ``wide_bound`` in absolute value (None:
    all of them), and ``wide_cast`` a cast to it that does not fail on any value of an integer or decimal column.
    ``nearest_double`` is the double nearest to an integer or a decimal, or null where that is infinite or NaN.
    ``integers`` are the integer types that codes are stored in, each with its largest number, the narrowest first.
    ``whole_quotient`` divides two non-negative 64-bit integers and rounds down.  ``exact_sum`` adds up 64-bit
    integers without overflow.  ``collation`` makes a comparison of strings one of code points.  ``text`` writes a
    string literal, or returns None for a string that no column of the engine can hold.
    """

    name: str
    string: str
    wide: str
    wide_bound: int | None
    integers: tuple[tuple[str, int], ...]
    whole_quotient: str
    collation: str
    text: Callable[[str], str | None]
    double: str = "DOUBLE"
    wide_cast: str = "CAST"
    nearest_double: str = "CAST({0} AS DOUBLE)"
    exact_sum: str = "SUM({})"

    def integer_type(self, largest: int) -> str:
        """The narrowest type that holds the integers from 0 to ``largest``."""
        return next(name for name, bound in self.integers if largest <= bound)


def quoted_name(name: str) -> str:
    """The name of a table or column, as DuckDB and PostgreSQL take any."""
    return '"' + name.replace('"', '""') + '"'


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted_without_nul(value: str) -> str | None:
    # PostgreSQL stores no NUL in a text and takes none in a query.
    return None if "\0" in value else _quoted(value)


def _hexadecimal(value: str) -> str:
    # Spark reads backslashes and ${…} within literals as something else; in hexadecimal there are none.
    return f"CAST(X'{value.encode('utf-8').hex()}' AS STRING)"


def _signed(**bits: int) -> tuple[tuple[str, int], ...]:
    """Integer types with a sign, of so many bits."""
    return tuple((name, 2 ** (size - 1) - 1) for name, size in bits.items())


DUCKDB = Dialect(
    name="DuckDB",
    string="VARCHAR",
    wide="HUGEINT",
    wide_bound=2**127 - 1,
    wide_cast="TRY_CAST",
    integers=(("UTINYINT", 2**8 - 1), ("USMALLINT", 2**16 - 1), ("UINTEGER", 2**32 - 1), ("UBIGINT", 2**64 - 1)),
    whole_quotient="{} // {}",
    collation=" COLLATE C",
    text=_quoted,
)

POSTGRES = Dialect(
    name="PostgreSQL",
    double="DOUBLE PRECISION",
    string="TEXT",
    wide="NUMERIC",
    wide_bound=None,
    # The cast fails on numbers that are too large for a double, and on those so small that the nearest double is 0.
    nearest_double="CASE WHEN ABS({0}) < 1e-300 THEN CAST(ROUND({0}, 323) AS DOUBLE PRECISION) "
    "WHEN ABS({0}) < 1e308 THEN CAST({0} AS DOUBLE PRECISION) END",
    integers=_signed(SMALLINT=16, INTEGER=32, BIGINT=64),
    whole_quotient="{} / {}",
    collation=' COLLATE "C"',
    text=_quoted_without_nul,
)

SPARK = Dialect(
    name="Spark",
    string="STRING",
    wide="DECIMAL(38, 0)",
    wide_bound=10**38 - 1,
    integers=_signed(TINYINT=8, SMALLINT=16, INT=32, BIGINT=64),
    whole_quotient="{} DIV {}",
    exact_sum="SUM(CAST({} AS DECIMAL(28, 0)))",
    collation=" COLLATE UTF8_BINARY",
    text=_hexadecimal,
)

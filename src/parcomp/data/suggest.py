"""Drafts of domain files, from what is public: a schema, a codebook or the types of a file's columns.

A domain must be public knowledge, so a draft is made of declarations only.  The rows of a file are looked at only if
the custodian says that they are public too.  What no declaration bounds is left out and named, with what is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from parcomp.data.codebook import is_codebook, read_codebook
from parcomp.data.csv_text import CsvFile
from parcomp.data.dialect import quoted_name
from parcomp.data.duckdb_table import Connection, open_parquet
from parcomp.data.schema_text import read_schema, sort_out
from parcomp.errors import DataError, one_line
from parcomp.model import Attribute, Binned, Categorical, Domain, Integer, read_text

__all__ = ["MAX_NAMED_VALUES", "Draft", "suggest_domain"]

MAX_NAMED_VALUES = 100
"""A column of data with more distinct values than this is not drafted as a list of them."""

_DEFINITIONS = """
SELECT t.table_name, d.sql
FROM information_schema.tables t LEFT JOIN duckdb_tables() d
    ON d.database_name = t.table_catalog AND d.schema_name = t.table_schema AND d.table_name = t.table_name
WHERE t.table_catalog = 'database_file' AND t.table_schema = 'main' ORDER BY t.table_name
"""

_INTEGER = "0|-?[1-9][0-9]{0,36}"
_NO_ATTRIBUTE = "no attribute is read from a column of this type; cast it in a view"


@dataclass(frozen=True, slots=True)
class Draft:
    """A domain that can be saved, and what to declare by hand: attribute → what is missing."""

    domain: Domain
    left_out: dict[str, str] = field(default_factory=dict)


def suggest_domain(path: str | Path, *, table: str | None = None, from_data: bool = False) -> Draft:
    """Draft a domain from a schema (``.sql``), a codebook (``.csv``) or a file with data (Parquet, CSV, DuckDB).

    Of a file with data only the columns and their declarations are read.  With ``from_data`` its rows are too: their
    distinct values, or the least and the largest, become part of the domain and are thereby public.
    """
    path = Path(path)
    name = one_line(str(path))
    suffix = path.suffix.lower()
    if not path.is_file():
        raise DataError(f"{name}: there is no such file")
    if suffix not in (".sql", ".csv", ".parquet", ".duckdb", ".db"):
        raise DataError(f"{name}: a schema, a codebook or data ends in .sql, .csv, .parquet, .duckdb or .db")
    if from_data and (suffix == ".sql" or is_codebook(path)):
        raise DataError(f"{name}: it holds no data; leave out --from-data")
    left_out: dict[str, str] = {}
    if suffix == ".sql":
        drafted, left_out = read_schema(str(path), read_text(path), table)
    elif suffix == ".csv" and is_codebook(path):
        drafted = read_codebook(path)
    else:
        drafted, left_out = _from_file(str(path), table, from_data=from_data)
    if not drafted:
        missing = one_line("; ".join(f"{column}: {reason}" for column, reason in left_out.items()))
        raise DataError(f"{name}: no attribute can be drafted; declare yourself: {missing}")
    return Draft(Domain(drafted, name=path.stem), left_out)


def _from_file(path: str, table: str | None, *, from_data: bool) -> tuple[dict[str, Attribute], dict[str, str]]:
    connection = Connection()
    try:
        source = _Source.of(connection, path, table, from_data=from_data)
        if source.definition is not None and not from_data:
            return read_schema(path, source.definition, dialect="duckdb")
        return sort_out(source.table.columns, source.from_values if from_data else source.from_type)
    except DataError:
        raise
    except Exception:
        # What DuckDB says of a failure can quote a row.
        raise DataError(f"{one_line(path)}: DuckDB could not read it") from None
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Source:
    """A table of a file; ``definition`` is its CREATE TABLE, if it has one."""

    connection: Connection
    table: ir.Table
    as_text: bool = False
    definition: str | None = None

    @classmethod
    def of(cls, connection: Connection, path: str, table: str | None, *, from_data: bool) -> _Source:
        if path.lower().endswith(".csv"):
            return cls(connection, _text_table(connection, path, with_rows=from_data), as_text=True)
        if path.lower().endswith(".parquet"):
            return cls(connection, open_parquet(connection, path))
        connection.attach(path)
        tables = dict(connection.run(_DEFINITIONS))
        if table is None and len(tables) == 1:
            table = next(iter(tables))
        if table is None or table not in tables:
            known = one_line(", ".join(tables)) or "none"
            raise DataError(f"{one_line(path)}: name one of its tables with --table; there are: {known}")
        source = connection.table(table, schema="main")
        return cls(connection, source, definition=tables[table])

    def from_type(self, name: str) -> Attribute | str:
        """The attribute that the type of the column bounds, or what is missing."""
        if self.as_text:
            return "a CSV file declares no types; give values, or low and high"
        kind = self.table.schema()[name]
        if isinstance(kind, dt.Boolean):
            return Categorical([False, True], nullable=True)
        if _is_whole(kind):
            return "integers; give low and high, or values"
        if isinstance(kind, (dt.Floating, dt.Decimal)):
            return "numbers; give low, high and bins"
        return "give values" if isinstance(kind, (dt.String, dt.Date)) else _NO_ATTRIBUTE

    def from_values(self, name: str) -> Attribute | str:
        """The attribute with the values that are in the column, or what is missing."""
        kind = self.table.schema()[name]
        nullable = self._one(name, "COALESCE(BOOL_OR(v IS NULL), FALSE)")
        whole = _is_whole(kind)
        number = "v"
        if self.as_text:
            whole = self._one(name, f"COALESCE(BOOL_AND(REGEXP_FULL_MATCH(v, '{_INTEGER}')), FALSE)")
            number = "TRY_CAST(v AS HUGEINT)"
        if isinstance(kind, (dt.Floating, dt.Decimal)) and not whole:
            least, largest = (self._one(name, f"{end}(v) FILTER (ISFINITE(v::DOUBLE))") for end in ("MIN", "MAX"))
            return _bins(least, largest, nullable)
        if not whole and not isinstance(kind, (dt.Boolean, dt.String, dt.Date)):
            return _NO_ATTRIBUTE
        sql = f"SELECT DISTINCT v FROM ({self._column(name)}) WHERE v IS NOT NULL LIMIT {MAX_NAMED_VALUES + 1}"
        values = [value for (value,) in self.connection.run(sql)]
        if not values:
            return "the column holds no value; give values, or low and high"
        if whole:
            low, high = int(self._one(name, f"MIN({number})")), int(self._one(name, f"MAX({number})"))
            # Few numbers far apart are codes.
            if len(values) > MAX_NAMED_VALUES or high - low < 2 * len(values):
                return Integer(low, high, nullable)
            return Categorical(sorted(int(value) for value in values), nullable)
        if len(values) > MAX_NAMED_VALUES:
            return f"more than {MAX_NAMED_VALUES} different values; give values"
        if isinstance(kind, dt.Boolean):
            return Categorical([False, True], nullable)
        return Categorical(sorted(str(value) for value in values), nullable)

    def _one(self, name: str, aggregate: str) -> Any:
        return self.connection.run(f"SELECT {aggregate} FROM ({self._column(name)})")[0][0]

    def _column(self, name: str) -> str:
        return str(self.connection.backend.compile(self.table.select(v=self.table[name])))


def _text_table(connection: Connection, path: str, *, with_rows: bool) -> ir.Table:
    """A table of a CSV file's columns, all of them text, and of its rows if they are wanted."""
    with CsvFile(path) as file:
        quoted = [quoted_name(name) for name in file.names]
        if with_rows:
            selected = ", ".join(f"f{number} AS {name}" for number, name in enumerate(quoted))
            connection.load_csv(file, file.names, f"CREATE TABLE csv_file AS SELECT {selected} FROM csv_rows")
        else:
            connection.run(f"CREATE TABLE csv_file ({', '.join(f'{name} VARCHAR' for name in quoted)})")
    return connection.table("csv_file")


def _is_whole(kind: dt.DataType) -> bool:
    return isinstance(kind, dt.Integer) or (isinstance(kind, dt.Decimal) and kind.scale == 0)


def _bins(least: float | None, largest: float | None, nullable: bool) -> Attribute | str:
    """About a hundred bins with whole edges that hold all numbers."""
    if least is None or largest is None:
        return "the column holds no finite number; give low, high and bins"
    low, span = math.floor(least), math.floor(largest) + 1 - math.floor(least)
    width = -(-span // MAX_NAMED_VALUES)
    bins = -(-span // width)
    return Binned(low, low + width * bins, bins, nullable)

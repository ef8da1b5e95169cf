"""Drafts of domain files, from what is public: a schema, a codebook or the types of a table's columns.

A domain must be public knowledge, so a draft is made of declarations only.  The rows of a table are looked at only if
the custodian says that they are public too, and then only in columns that no declaration bounds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from parcomp.data.drafting.codebook import is_codebook, read_codebook
from parcomp.data.drafting.definitions import duckdb_definition, postgres_definition
from parcomp.data.drafting.draft import Draft, Line, checked, complete, integers, moments, names, numbers, unread
from parcomp.data.drafting.observed import observed_column
from parcomp.data.drafting.schema_text import read_schema
from parcomp.data.encoding.columns import is_text
from parcomp.data.place import Reading, is_postgres, is_spark
from parcomp.data.sources import Source, open_source
from parcomp.data.sources.source import telling_nothing
from parcomp.errors import DataError, DomainError, one_line
from parcomp.model import Categorical, Dated, Integer, Stepped, read_text

__all__ = ["Draft", "suggest_domain"]

_NO_TYPES = "a CSV file declares no types; give values, or low and high"


def suggest_domain(
    source: str | Path,
    *,
    table: str | None = None,
    reading: Reading | None = None,
    from_data: bool = False,
    progress: Callable[[int, float | None], None] | None = None,
) -> Draft:
    """Draft a domain from a schema (``.sql``), a codebook (``.csv``), or a table, by the address of its source.

    ``reading`` is how a CSV file is read.  Of a table only the columns and their declarations are read.  With
    ``from_data`` its rows are too: their distinct values, or the least and the largest, become part of the domain and
    are thereby public.  ``progress`` is told how many rows were read, and which share of the source that is, if that is
    known.
    """
    address = str(source)
    is_schema = "://" not in address and address.lower().endswith(".sql")
    is_listed = address.lower().endswith(".csv") and is_codebook(Path(address))
    if is_schema or is_listed:
        if from_data:
            raise DataError(f"{one_line(address)}: it holds no data; leave out --from-data")
        path = Path(address)
        if is_schema:
            return _draft(*read_schema(address, read_text(path), table))
        return _draft(path.stem, {name: complete(one) for name, one in read_codebook(path).items()})
    reading = reading or Reading()
    name, table, lines = _declared(address, table, reading)
    if not from_data:
        return _draft(name, lines)
    with open_source(address, table, reading) as opened:
        seen, nulls = _seen(opened, lines, progress)
    return _draft(name, {**lines, **seen}, nulls)


def _draft(name: str, lines: dict[str, Line], nulls: tuple[str, ...] = ()) -> Draft:
    return Draft(name or "data", {column: checked(column, line) for column, line in lines.items()}, nulls)


def _check_delimiter(address: str, columns: Iterable[str]) -> None:
    [first, *others] = columns
    mark = next((mark for mark in (";", "|", "\t") if mark in first), None)
    if mark is not None and not others:
        shown_mark = mark.encode("unicode_escape").decode()
        raise DataError(f"{one_line(address)}: its fields seem to be separated by {shown_mark}; give --delimiter")


def _declared(address: str, table: str | None, reading: Reading) -> tuple[str, str | None, dict[str, Line]]:
    """The name of a table, where it is in its source, and what is declared of its columns."""
    if is_postgres(address):
        if not table:
            raise DataError("a PostgreSQL database holds many tables; name one with --table")
        _, lines = read_schema(f"the table {table}", postgres_definition(address, table))
        return table.rpartition(".")[2], table, lines
    if "://" not in address and address.lower().endswith((".duckdb", ".db")) and os.path.isfile(address):
        table, text = duckdb_definition(address, table)
        named, lines = read_schema(address, text, dialect="duckdb")
        return named, table, lines
    with open_source(address, table, reading) as source:
        _check_delimiter(address, source.types)
        no_types = address.lower().endswith((".csv", ".csv.gz"))
        lines = {name: names(_NO_TYPES) if no_types else _typed(kind) for name, kind in source.types.items()}
    name = table if table and is_spark(address) and not address.endswith(".parquet") else _stem(address)
    return name, table, lines


def _stem(address: str) -> str:
    name = Path(address).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def _typed(kind: pa.DataType) -> Line:
    """What the type of a column bounds."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(kind):
        return complete(Categorical([False, True], nullable=True))
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0):
        return integers()
    if pa.types.is_decimal(kind):
        return numbers(f"0.{'0' * (kind.scale - 1)}1")
    if pa.types.is_floating(kind):
        return numbers()
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return moments(hours=not pa.types.is_date(kind))
    return names() if is_text(kind) else unread(str(kind))


def _seen(
    source: Source, lines: dict[str, Line], progress: Callable[[int, float | None], None] | None
) -> tuple[dict[str, Line], tuple[str, ...]]:
    """What the rows hold in the columns that no declaration bounds, and the texts that seem to stand for null."""
    columns = {}
    for name, line in lines.items():
        if line.attribute is None and line.fields and name in source.types:
            step = line.fields.get("step")
            columns[name] = observed_column(source.types[name], step if isinstance(step, str) else None)
    if not columns:
        return {}, ()
    rows = 0
    # What fails on the way may quote a value.
    with telling_nothing("the table"):
        for batch in source.batches(list(columns)):
            for array, column in zip(batch.columns, columns.values(), strict=True):
                column.add(array)
            rows += batch.num_rows
            if progress is not None:
                progress(rows, source.share)
    nulls = frozenset(token for column in columns.values() for token in column.tokens)
    return {name: _joined(lines[name], column.line(nulls)) for name, column in columns.items()}, tuple(sorted(nulls))


def _joined(declared: Line, seen: Line | None) -> Line:
    """What was seen, but for an end that is declared, which is public; without anything to see, what is declared."""
    if seen is None:
        return declared
    ends: dict[str, Any] = {
        end: declared.fields[end] for end in ("low", "high") if declared.fields.get(end) is not None
    }
    if not ends or not isinstance(seen.attribute, (Integer, Stepped, Dated)):
        return seen
    try:
        return complete(replace(seen.attribute, **ends), "the rest is from the data")
    except DomainError:
        # An end that is no multiple of the step.
        return seen

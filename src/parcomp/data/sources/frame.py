"""Sources in memory: tables of pandas, polars, pyarrow and Ibis.

Only the columns that are asked for are looked at, so what others hold is of no account.  The index of a frame of pandas
is none of its columns.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parcomp.data.sources.source import BATCH_ROWS, Source, check_names, telling_nothing
from parcomp.errors import DataError, ParcompError, one_line, shown

__all__ = ["FrameSource"]

_Read: TypeAlias = Callable[[list[str]], Iterator[pa.RecordBatch]]

_SCALARS = frozenset(
    {np.bool_, np.str_, np.float32, np.float64}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)
"""The scalars of NumPy that a column of objects may hold."""

_UNREAD = pa.null()
"""What stands for the type of a column that is not asked for."""


class FrameSource(Source):
    """A data frame, of which the columns named in ``wanted`` are read, in whatever case; all if it is None.

    In one of pandas NaN is how a missing value is stored, and so null.
    """

    def __init__(self, frame: Any, wanted: Collection[str] | None = None) -> None:
        folded = None if wanted is None else {name.casefold() for name in wanted}

        def is_wanted(name: str) -> bool:
            return folded is None or name.casefold() in folded

        names, schema, self._read = _opened(frame, is_wanted)
        check_names("the data frame", names)
        _check_index(frame, names, wanted or ())
        types = dict(zip(schema.names, schema.types, strict=True))
        self.types = {name: types.get(name, _UNREAD) for name in names}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, once."""
        names = [f"x{number}" for number in range(len(columns))]
        with telling_nothing("the data frame"):
            for batch in self._read(list(dict.fromkeys(columns))):
                yield pa.RecordBatch.from_arrays([batch.column(name) for name in columns], names)

    def close(self) -> None:
        """Nothing to do: the frame is its owner's."""


def _opened(frame: Any, is_wanted: Callable[[str], bool]) -> tuple[list[str], pa.Schema, _Read]:
    """The names of all columns, the schema of those that are wanted, and what reads some of these."""
    if isinstance(frame, pa.RecordBatchReader):
        frame = frame.read_all()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame.column_names, frame.schema, _from_arrow(frame)
    if _is_one(frame, "pandas", "DataFrame"):
        return _opened_pandas(frame, is_wanted)
    if _is_one(frame, "polars", "DataFrame"):
        chosen = frame.select([name for name in frame.columns if is_wanted(name)])
        with _one_type_each():
            table = chosen.to_arrow()
        return list(frame.columns), table.schema, _from_arrow(table)
    if _is_one(frame, "polars", "LazyFrame"):
        return _opened_lazy(frame, is_wanted)
    if _is_one(frame, "ibis.expr.types", "Table"):
        return _opened_ibis(frame, is_wanted)
    raise DataError(f"a table is one of pandas, polars, pyarrow or Ibis, not {_kind(frame)}")


def _opened_pandas(frame: Any, is_wanted: Callable[[str], bool]) -> tuple[list[str], pa.Schema, _Read]:
    names = list(map(str, frame.columns))
    check_names("the data frame", names)
    chosen = frame.loc[:, [is_wanted(name) for name in names]]
    with _one_type_each():
        for place, dtype in enumerate(chosen.dtypes):
            if dtype.kind == "O" and dtype.name == "object":
                _check_objects(chosen.iloc[:, place])
        table = _as_stored(pa.Table.from_pandas(chosen, preserve_index=False))
        if any(pa.types.is_nested(kind) for kind in table.schema.types):
            # The name of such a type has parts that were found in the values.
            raise TypeError
    return names, table.schema, _from_arrow(table)


def _check_objects(column: Any) -> None:
    """Raise where the type that Arrow finds for a column of objects, by the first of them, would change the others.

    Beside a date a time loses its hours, and beside a time with a zone one without is read as UTC.  So a column has
    dates, or times with a zone, or times without, and nothing else beside them.  Of NumPy's scalars those are taken
    that Arrow reads by value in any company, and floats of 32 bits among their like: beside others they become the
    doubles equal to them, whose shortest decimals are other numbers.
    """
    present = column[column.notna()]
    kinds = set(map(type, present))
    if any(issubclass(kind, np.generic) and kind not in _SCALARS for kind in kinds):
        raise TypeError
    if np.float32 in kinds and len(kinds) > 1:
        raise TypeError
    times = {kind for kind in kinds if issubclass(kind, (datetime.date, datetime.time))}
    if not times:
        return
    zoned = {getattr(one, "tzinfo", None) is not None for one in present}
    stamps = all(issubclass(kind, datetime.datetime) for kind in kinds)
    if len(zoned) > 1 or not (stamps or len(kinds) == 1):
        raise TypeError


def _opened_lazy(frame: Any, is_wanted: Callable[[str], bool]) -> tuple[list[str], pa.Schema, _Read]:
    with _one_type_each():
        names = frame.collect_schema().names()
        chosen = frame.select([name for name in names if is_wanted(name)])
        schema = chosen.head(0).collect().to_arrow().schema

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from chosen.select(columns).collect().to_arrow().to_batches(BATCH_ROWS)

    return list(names), schema, read


def _opened_ibis(frame: Any, is_wanted: Callable[[str], bool]) -> tuple[list[str], pa.Schema, _Read]:
    names = list(frame.columns)
    with _one_type_each():
        schema = frame.select([name for name in names if is_wanted(name)] or names[:1]).schema().to_pyarrow()

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        # As a whole: in pieces, Ibis 12 calls what DuckDB 2 has no more.
        yield from frame.select(columns).to_pyarrow().to_batches(BATCH_ROWS)

    return names, schema, read


def _from_arrow(table: pa.Table) -> _Read:
    return lambda columns: iter(table.select(columns).to_batches(BATCH_ROWS))


def _is_one(frame: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a library, which is loaded if it is."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(frame, kind)


def _kind(frame: Any) -> str:
    """What messages call something that is no table; never what it holds."""
    plain = isinstance(frame, (str, int, float, type(None)))
    return shown(frame) if plain else f"a {one_line(type(frame).__qualname__)}"


@contextmanager
def _one_type_each() -> Iterator[None]:
    try:
        yield
    except ParcompError:
        raise
    except Exception:
        # What a library says may quote a value.
        raise DataError(
            "the data frame has a column with values of several types, or of one that is not read; convert each column "
            "to one type"
        ) from None


def _check_index(frame: Any, names: Sequence[str], wanted: Collection[str]) -> None:
    """Say so where a column that is missing is the index of a frame of pandas."""
    if not _is_one(frame, "pandas", "DataFrame"):
        return
    known = {name.casefold() for name in names}
    index = {str(name).casefold() for name in frame.index.names if name is not None}
    for name in wanted:
        if name.casefold() not in known and name.casefold() in index:
            raise DataError(
                f"{one_line(name)}: it is in the index of the data frame, which is not read; make it a column with "
                "reset_index()"
            )


def _as_stored(table: pa.Table) -> pa.Table:
    """What a table of pandas holds: NaN is null there, and categories of which there are none have no type."""
    for place, column in enumerate(table.columns):
        name, kind = table.column_names[place], column.type
        if pa.types.is_floating(kind):
            present = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
            table = table.set_column(place, name, present)
        elif pa.types.is_dictionary(kind) and not any(len(chunk.dictionary) for chunk in column.chunks):
            table = table.set_column(place, name, pa.nulls(len(column)))
    return table

"""Which column of a table holds which attribute, decided by names and types alone.

Nothing here looks at a row, so neither the outcome nor an error depends on the data.  An attribute whose column has
another type than its values is an error: a cast in the engine's own way could make two values of the domain one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from parcomp.errors import DataError, shown
from parcomp.model import Attribute, Binned, Categorical, Domain, Integer

__all__ = ["Column", "Kind", "columns_of_text_file", "match_columns", "read_type", "select_columns"]

Kind: TypeAlias = Literal["integer", "wide integer", "decimal", "float", "string", "date", "boolean"]

_NEEDED: dict[str, tuple[Kind, ...]] = {
    "integers": ("integer", "wide integer"),
    "numbers in bins": ("integer", "wide integer", "decimal", "float"),
    "strings": ("string", "date"),
    "booleans": ("boolean",),
}
"""The kinds of columns that hold each kind of values."""


@dataclass(frozen=True, slots=True)
class Column:
    """The column ``name`` of a table.

    An "integer" fits into 64 bits with a sign, a "wide integer" may not.  ``scale`` is the number of decimal places,
    None for a float or where the type leaves it open.  ``as_text`` says that the values are stored as text and still
    to be read, as in a CSV file.
    """

    name: str
    kind: Kind
    scale: int | None = None
    as_text: bool = False


def match_columns(domain: Domain, types: Mapping[str, dt.DataType]) -> list[Column]:
    """The column of each attribute, in the order of the domain.

    A column has the attribute's name, exactly or, where only one does, in other case.
    """
    columns = []
    for attribute_name, attribute in domain.attributes.items():
        name = _column_name(attribute_name, types)
        wanted = _wanted(attribute_name, attribute)
        kind, scale = _kind(types[name])
        if kind is None or kind not in _NEEDED[wanted]:
            raise DataError(
                f"{attribute_name}: the column is of type {_type_name(types[name])}, and the domain declares {wanted}, "
                f"which need a column of kind {' or '.join(_NEEDED[wanted])}; cast it in a view, or declare otherwise"
            )
        columns.append(Column(name, kind, scale))
    return columns


def select_columns(source: ir.Table, columns: Sequence[Column]) -> ir.Table:
    """The columns of the attributes alone, called ``x0``, ``x1``, …."""
    return source.select(**{f"x{index}": source[column.name] for index, column in enumerate(columns)})


def read_type(reader: Callable[[str], dt.DataType], text: str) -> dt.DataType:
    """The type that an engine writes as ``text``, by Ibis's reader for it; unknown where Ibis cannot read it.

    A column of such a type holds no attribute, and is in nobody's way unless one is declared for it.
    """
    try:
        return reader(text)
    except Exception:
        return dt.Unknown(raw_type=text)


def columns_of_text_file(domain: Domain, names: list[str]) -> list[Column]:
    """The column of each attribute where all columns are text: the domain says what they hold."""
    as_text: dict[str, Kind] = {
        "integers": "wide integer",
        "numbers in bins": "float",
        "strings": "string",
        "booleans": "boolean",
    }
    types = dict.fromkeys(names, None)
    return [
        Column(_column_name(name, types), as_text[_wanted(name, attribute)], as_text=True)
        for name, attribute in domain.attributes.items()
    ]


def _column_name(attribute: str, columns: Mapping[str, object]) -> str:
    if attribute in columns:
        return attribute
    similar = [name for name in columns if name.casefold() == attribute.casefold()]
    if len(similar) == 1:
        return similar[0]
    problem = "several columns differ from it in case only" if similar else "no column has this name"
    raise DataError(f"{attribute}: {problem}; the columns are {', '.join(columns)}")


def _wanted(name: str, attribute: Attribute) -> str:
    """What the attribute declares: a key of ``_NEEDED``."""
    if isinstance(attribute, Integer):
        return "integers"
    if isinstance(attribute, Binned):
        return "numbers in bins"
    assert isinstance(attribute, Categorical)
    types = {type(value) for value in attribute.values}
    if len(types) > 1:
        raise DataError(f"{name}: the domain declares values of several types, and a column has one; declare one type")
    return {str: "strings", int: "integers", bool: "booleans"}[types.pop()]


def _kind(dtype: dt.DataType) -> tuple[Kind | None, int | None]:
    """The kind and the decimal places of a column's type; no kind for types that hold no attribute."""
    if isinstance(dtype, dt.Boolean):
        return "boolean", None
    if isinstance(dtype, dt.Integer):
        return ("wide integer" if isinstance(dtype, dt.UInt64) else "integer"), 0
    if isinstance(dtype, dt.Decimal):
        return ("wide integer" if dtype.scale == 0 else "decimal"), dtype.scale
    if isinstance(dtype, dt.Floating):
        return "float", None
    if isinstance(dtype, dt.JSON):
        return None, None
    if isinstance(dtype, dt.String):
        return "string", None
    if isinstance(dtype, dt.Date):
        return "date", None
    # Ibis has no name for DuckDB's unsigned 128-bit integers.
    if isinstance(dtype, dt.Unknown) and str(dtype.raw_type).upper() in ("UINT128", "UHUGEINT"):
        return "wide integer", 0
    return None, None


def _type_name(dtype: dt.DataType) -> str:
    return shown(str(dtype.raw_type if isinstance(dtype, dt.Unknown) else dtype.copy(nullable=True))).strip("'")

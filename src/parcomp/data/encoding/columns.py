"""Which column of a source holds which attribute, decided by names and types alone.

Nothing here looks at a row.  A column of text serves every attribute, since text is read without ever failing; what is
not a value of the attribute is outside the domain, and ``parcomp check`` says how much of it there is.  So does a
column of the type that holds nothing but null.  A column of a type that cannot hold the attribute's values is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from parcomp.errors import DataError, one_line
from parcomp.model import Attribute, Binned, Categorical, Dated, Domain, Integer, Stepped

__all__ = ["is_text", "match_columns", "person_column", "value_kind"]


_MARKS = re.compile(r"[;|\t]")
"""What separates fields in files that do not separate them by commas."""


def match_columns(domain: Domain, types: Mapping[str, pa.DataType]) -> list[str]:
    """The column of each attribute, in the order of the domain: of its name, or of the only one but for case."""
    columns = []
    for name, attribute in domain.attributes.items():
        column = column_named(name, types)
        needed = _NEEDED[value_kind(name, attribute)]
        if not any(_FITS[kind](_plain(types[column])) for kind in ("text", "nulls", *needed)):
            raise DataError(
                f"{one_line(name)}: the column is of type {one_line(str(types[column]))}, and the domain declares "
                f"{value_kind(name, attribute)}, which are read from {', '.join(needed)} or text; cast it in a view, "
                "or declare otherwise"
            )
        columns.append(column)
    return columns


def column_named(name: str, columns: Mapping[str, object]) -> str:
    """The column of this name, exactly or, where only one is, in other case."""
    if name in columns:
        return name
    similar = [column for column in columns if column.casefold() == name.casefold()]
    if len(similar) == 1:
        return similar[0]
    problem = "several columns differ from it in case only" if similar else "no column has this name"
    hint = "; declare the delimiter under [source]" if len(columns) == 1 and any(map(_MARKS.search, columns)) else ""
    listed = [column for column in columns if column]
    if not hint and any(column != column.strip() for column in listed):
        listed, hint = [repr(column) for column in listed], "; blanks are part of a name"
    elif len(listed) == 1 and listed[0].startswith("sep="):
        hint = "; take this line away, which Excel writes, and declare the delimiter under [source]"
    raise DataError(f"{one_line(name)}: {problem}; the columns are {one_line(', '.join(listed))}{hint}")


def person_column(name: str, types: Mapping[str, pa.DataType]) -> str:
    """The column that says whose row it is, of a type whose values are told apart as their engine does."""
    column = column_named(name, types)
    if not any(fits(_plain(types[column])) for fits in _FITS.values()):
        raise DataError(
            f"{one_line(name)}: the column of persons is of type {one_line(str(types[column]))}; persons are told by "
            f"{', '.join(_FITS)}; cast it in a view"
        )
    return column


def value_kind(name: str, attribute: Attribute) -> str:
    """What the attribute declares: strings, integers, booleans, numbers or dates."""
    if isinstance(attribute, Integer):
        return "integers"
    if isinstance(attribute, (Binned, Stepped)):
        return "numbers"
    if isinstance(attribute, Dated):
        return "dates"
    assert isinstance(attribute, Categorical)
    types = {type(value) for value in attribute.values}
    if len(types) > 1:
        raise DataError(
            f"{one_line(name)}: the domain declares values of several types, and a column has one; declare one type"
        )
    return {str: "strings", int: "integers", bool: "booleans"}[types.pop()]


def is_text(kind: pa.DataType) -> bool:
    """Whether a column's values are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


_NUMBERS = ("integers", "decimals", "floats")
_NEEDED = {
    "strings": ("dates",),
    "integers": _NUMBERS,
    "numbers": _NUMBERS,
    "booleans": ("booleans", *_NUMBERS),
    "dates": ("dates", "time stamps"),
}
_FITS = {
    "text": is_text,
    "nulls": pa.types.is_null,
    "integers": pa.types.is_integer,
    "decimals": pa.types.is_decimal,
    "floats": pa.types.is_floating,
    "booleans": pa.types.is_boolean,
    "dates": pa.types.is_date,
    "time stamps": pa.types.is_timestamp,
}

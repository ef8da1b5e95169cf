"""The types of columns as databases name them, as far as attributes are read from them."""

from __future__ import annotations

import re

import pyarrow as pa

__all__ = ["UNREAD", "sql_type"]

UNREAD = pa.binary()
"""Stands for a type from which no attribute is read."""

_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), pa.int64()),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "UINT128", "NUMERIC", "DECIMAL"), pa.decimal128(38)),
    **dict.fromkeys(("FLOAT", "REAL", "DOUBLE", "DOUBLE PRECISION"), pa.float64()),
    **dict.fromkeys(
        ("VARCHAR", "TEXT", "CHARACTER VARYING", "CHARACTER", "BPCHAR", "UUID", "NAME", "ENUM"), pa.string()
    ),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), pa.timestamp("us")
    ),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}


def sql_type(written: str) -> pa.DataType:
    """The type that a database writes like this; what holds in brackets only bounds it.

    >>> sql_type("DECIMAL(12,2)"), sql_type("timestamp(3) with time zone"), sql_type("INTEGER[]") == UNREAD
    (Decimal128Type(decimal128(38, 0)), TimestampType(timestamp[us, tz=UTC]), True)
    """
    name = " ".join(re.sub(r"\([^()]*\)", " ", written).upper().split())
    return _TYPES.get("ENUM" if written.upper().startswith("ENUM(") else name, UNREAD)

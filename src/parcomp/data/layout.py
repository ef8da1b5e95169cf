"""The coded table: the one thing that reading a source and counting it share.

For each attribute, in the order of the domain, a column ``c0``, ``c1``, … holds the code of a row's value, or the size
of the attribute where the value is *outside*, which is no value of the domain.  ``n`` says how many rows of the source
a record stands for.  Records are distinct.

While a table is being made, its rows are *staged* one by one: without ``n``, and where rows belong to persons, with
``p``, a keyed hash of the person, and ``h``, a keyed hash that ranks the person's rows.  Hashes are 16 bytes and
compare as bytes on every engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from parcomp.errors import DataError
from parcomp.model import Attribute, Domain

__all__ = [
    "FORMAT",
    "KEY",
    "MULTIPLICITY",
    "PERSON",
    "RANK",
    "Given",
    "Imprint",
    "check_sums",
    "checked",
    "code_bits",
    "code_type",
    "column",
    "columns",
    "digest",
    "given_sql",
    "outside",
    "sorted_sql",
    "staging_schema",
]

FORMAT = 1
"""The version of the layout; a table of another one is encoded anew."""

MULTIPLICITY = "n"
PERSON = "p"
RANK = "h"

KEY = pa.binary(16)
"""The type of ``p`` and ``h``."""

_LARGEST_SUM = 2**62
"""No sum of codes over all rows exceeds this, so that 64 bits hold every sum on the way to it."""

_DIGEST_MARK = b"parcomp codes 1\n"


def column(index: int) -> str:
    """The name of an attribute's column, by its position in the domain."""
    return f"c{index}"


def columns(domain: Domain) -> list[str]:
    """The names of all columns of codes."""
    return [column(index) for index in range(len(domain.attributes))]


def outside(attribute: Attribute) -> int:
    """The code of whatever is no value of the attribute."""
    return attribute.size


def code_bits(attribute: Attribute) -> int:
    """The fewest bits, of 8, 16, 32 and 64, of a signed integer that holds every code and ``outside``."""
    return next(bits for bits in (8, 16, 32, 64) if outside(attribute) < 2 ** (bits - 1))


def code_type(attribute: Attribute) -> pa.DataType:
    """The narrowest signed type of integers for codes of an attribute."""
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[code_bits(attribute)]


def staging_schema(domain: Domain, *, persons: bool) -> pa.Schema:
    """The columns of staged rows."""
    coded = [
        pa.field(column(index), code_type(attribute), nullable=False)
        for index, attribute in enumerate(domain.attributes.values())
    ]
    keys = [pa.field(name, KEY, nullable=False) for name in (PERSON, RANK)] if persons else []
    return pa.schema([*coded, *keys])


@dataclass(frozen=True)
class Given:
    """What staged rows hold: how many they are, and in how many each attribute is outside, in the order of the domain.

    It is counted where rows are encoded and again where they are staged: a source that gives others when it is read a
    second time is told by it.
    """

    rows: int
    outside: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "outside", tuple(self.outside))

    def __add__(self, other: Given) -> Given:
        added = [one + more for one, more in zip(self.outside, other.outside, strict=True)]
        return Given(self.rows + other.rows, added)


def given_sql(domain: Domain, staging: str) -> str:
    """How many rows are staged, and in how many each attribute is outside."""
    outsides = (
        f"COALESCE(SUM(CASE WHEN {column(index)} = {outside(attribute)} THEN 1 ELSE 0 END), 0)"
        for index, attribute in enumerate(domain.attributes.values())
    )
    return f"SELECT COUNT(*), {', '.join(outsides)} FROM {staging}"


def checked(batch: pa.RecordBatch, domain: Domain, *, persons: bool) -> pa.RecordBatch:
    """A batch as it may be staged: the columns in order, each with its type, no nulls, and codes that there are.

    Counting trusts codes to be in range, so this is the gate between the two halves.
    """
    schema = staging_schema(domain, persons=persons)
    try:
        found = pa.RecordBatch.from_arrays(
            [batch.column(name).cast(schema.field(name).type) for name in schema.names], schema=schema
        )
    except (pa.ArrowException, KeyError):
        raise DataError(f"staged rows have the columns {', '.join(schema.names)}, in the types of the layout") from None
    for name, values in zip(schema.names, found.columns, strict=True):
        if values.null_count:
            raise DataError(f"column {name} of the staged rows holds nulls")
    for index, attribute in enumerate(domain.attributes.values()):
        ends = pc.min_max(found.column(index)).as_py()
        if len(found) and not 0 <= ends["min"] <= ends["max"] <= outside(attribute):
            raise DataError(f"column {column(index)} of the staged rows holds codes that its attribute does not have")
    return found


def check_sums(domain: Domain, rows: int) -> None:
    """Raise :class:`~parcomp.errors.DataError` if a sum of codes over so many rows might exceed 64 bits."""
    if rows * max(outside(attribute) for attribute in domain.attributes.values()) > _LARGEST_SUM:
        raise DataError(
            f"{rows:,} rows are too many to be summed exactly with attributes of this size; declare fewer values"
        )


@dataclass(frozen=True, slots=True)
class Imprint:
    """What a coded table says of itself.

    ``domain`` is the canonical text of the domain, ``reading`` how the source was read.  With a ``person`` ("" if there
    is none), ``rows_per_person`` is what the table was bounded to.  ``rows`` are those of the source, ``kept`` those
    that bounding left, ``stored`` the records of the coded table, and ``digest`` is that of its content.
    """

    dataset: str
    version: str
    domain: str
    source: str
    reading: str = ""
    person: str = ""
    rows_per_person: int = 1
    rows: int = 0
    kept: int = 0
    stored: int = 0
    digest: str = ""
    format: int = FORMAT

    @property
    def text(self) -> str:
        """The imprint as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Imprint:
        """The imprint of its JSON."""
        try:
            document = json.loads(text)
            kinds = {field.name: int if field.type == "int" else str for field in fields(cls)}
            well_formed = document.keys() == kinds.keys() and all(
                type(document[name]) is kind for name, kind in kinds.items()
            )
        except (ValueError, AttributeError):
            well_formed = False
        if not well_formed or document["format"] != FORMAT:
            raise DataError("the coded table is of another version of parcomp; run `parcomp load` to encode it anew")
        return cls(**document)


def digest(domain: Domain, chunks: Iterable[Sequence[npt.NDArray[Any]]]) -> str:
    """The digest of a coded table, whose records come as columns ``c0``, ``c1``, …, ``n``, sorted by the codes.

    SHA-256 of a mark, the number of columns and the records one after the other, each number in 8 bytes, the lowest
    first.  Records are distinct and sorted, so it depends on neither the order of rows nor the engine.
    """
    found = sha256(_DIGEST_MARK + b"%d\n" % len(domain.attributes))
    for chunk in chunks:
        found.update(np.stack([np.asarray(values, "<i8") for values in chunk], axis=1).tobytes())
    return found.hexdigest()


def sorted_sql(coded: Sequence[str], records: str) -> str:
    """The records in the order in which they are digested."""
    codes = ", ".join(coded)
    return f"SELECT {codes}, {MULTIPLICITY} FROM {records} ORDER BY {codes}"

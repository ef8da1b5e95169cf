"""Which table a dataset is, how it is read, and where its codes are: what settings say of it, and nothing that is read.

Nothing here loads an engine.
"""

from __future__ import annotations

import codecs
import json
from dataclasses import asdict, dataclass
from typing import ClassVar
from zoneinfo import ZoneInfo

from parcomp.errors import DataError, one_line
from parcomp.model import Domain

__all__ = ["Reading", "TablePlace", "is_frame", "is_postgres", "is_spark"]

_COMPRESSIONS = ("none", "gzip")

_NO_FILES = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined", "charmap"})
"""What Python calls encodings of text, and no file is written in: source code, names of hosts, or nothing at all."""

_NO_ZONES = frozenset({"posixrules", "localtime", "Factory"})
"""Files beside the zones that stand for one or none of them, and for which one differs from machine to machine."""

_OTHER_CLOCKS = ("posix/", "right/")
"""The zones once more, and with leap seconds counted, by which a day would begin later than on any clock."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is read: the texts that stand for null, the form of a CSV file, and the zone of its clocks.

    Without ``compression`` a CSV file that ends in .gz is unpacked.
    """

    nulls: tuple[str, ...] = ()
    delimiter: str = ","
    encoding: str = "utf-8"
    compression: str = ""
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        for name in ("delimiter", "encoding", "compression", "timezone"):
            if not isinstance(getattr(self, name), str):
                raise DataError(f"{name} must be a string")
        if isinstance(self.nulls, str) or not all(isinstance(token, str) for token in self.nulls):
            raise DataError('nulls must be a list of strings, such as ["NA", ""]')
        object.__setattr__(self, "nulls", tuple(self.nulls))
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            raise DataError(
                'delimiter must be a single ASCII character other than a quote and a newline; a tab is written "\\t"'
            )
        try:
            codecs.getincrementaldecoder(self.encoding)
            found = codecs.lookup(self.encoding)
            if not found._is_text_encoding or found.name.replace("-", "_") in _NO_FILES:
                raise LookupError
        except (LookupError, ValueError):
            raise DataError(
                f"{one_line(self.encoding)!r} is not an encoding; write one such as utf-8 or cp1252"
            ) from None
        if self.compression not in ("", *_COMPRESSIONS):
            raise DataError(f"compression must be one of {', '.join(_COMPRESSIONS)}")
        _check_time_zone(self.timezone)

    @property
    def text(self) -> str:
        """How the source is read, in JSON: what a coded table was made with."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The table of a dataset: where it is, how it is read, whose rows it holds, and where its codes go.

    ``domain_text`` is the canonical text of the domain.  ``bound_source`` names the source as the ledger does, wherever
    files or servers move.  ``codes`` is the path of the coded table of a file or of Spark; in PostgreSQL it is beside
    the table.  ``person_field`` is where ``person`` is written: file, line and field.  ``complete`` are the attributes
    of which every row has a declared value, or the table is not taken.
    """

    FRAME: ClassVar[str] = "frame://"
    """The source of a table that is a data frame, which is handed over and not looked up."""

    dataset: str
    version: str
    domain: Domain
    domain_text: str
    source: str
    table: str
    reading: Reading
    person: str
    rows_per_person: int
    codes: str | None
    bound_source: str
    person_field: str = ""
    complete: tuple[str, ...] = ()


def is_frame(source: str) -> bool:
    """Whether the table is a data frame."""
    return source == TablePlace.FRAME


def is_postgres(source: str) -> bool:
    """Whether the table is in PostgreSQL."""
    return source.startswith(("postgresql://", "postgres://"))


def is_spark(source: str) -> bool:
    """Whether the table is Spark's."""
    return source.startswith("spark://")


def _check_time_zone(name: str) -> None:
    try:
        if name in _NO_ZONES or name.startswith(_OTHER_CLOCKS):
            raise ValueError
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise DataError(f"{one_line(name)!r} is not a time zone; write one such as Europe/Vienna or UTC") from None

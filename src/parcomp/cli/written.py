"""The statements of a file as they are written there: what is sent to a server, and where its errors are in the file.

A server says which statement is at fault, and where in it.  Here that becomes a line and a column of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parcomp.cli.places import placed
from parcomp.cli.words import statement_in_words
from parcomp.errors import FileError, RefusedError, SqlError

if TYPE_CHECKING:
    from parcomp.model import Domain

__all__ = ["WrittenBatch"]


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The statements of a file, where each begins in its text, and each in words."""

    file: Path
    text: str
    starts: tuple[int, ...]
    statements: tuple[str, ...]
    titles: tuple[str, ...]

    @classmethod
    def read(cls, file: Path, domain: Domain, tables: Collection[str]) -> WrittenBatch:
        """Read a file; whether its statements can be answered is for the server to say."""
        from parcomp.model import read_text
        from parcomp.sql.tokens import split_statements

        text = read_text(file)
        try:
            found = split_statements(text, [*domain.names, *domain.levels])
        except SqlError as error:
            raise placed(file, error, 1, text) from None
        if not found:
            raise FileError(file, "holds no statement")
        starts = tuple(one.tokens[0].start for one in found)
        statements = tuple(text[start : one.tokens[-1].end + 1] for start, one in zip(starts, found, strict=True))
        return cls(file, text, starts, statements, tuple(_in_words(domain, one, tables) for one in statements))

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Errors with the file and the line of what is at fault."""
        try:
            yield
        except (RefusedError, SqlError) as error:
            start = self.starts[(error.position or 1) - 1]
            before = self.text[:start]
            line = before.count("\n") + 1
            if isinstance(error, SqlError):
                # Lines and columns of the statement are those of the file but for where it begins.
                shift = len(before.rpartition("\n")[2]) if error.line == 1 else 0
                error = SqlError(error.message, line=line + error.line - 1, column=error.column + shift)
                raise placed(self.file, error, 1, self.text) from None
            raise placed(self.file, error, line) from None


def _in_words(domain: Domain, sql: str, tables: Collection[str]) -> str:
    """A statement in words; its SQL if it names a table that only the server knows, or cannot be answered."""
    from parcomp.sql import parse_statement

    try:
        return statement_in_words(parse_statement(domain, sql, tables).text, domain)
    except SqlError:
        return " ".join(sql.split())

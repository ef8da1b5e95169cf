"""Where in a file of SQL an error is, and what was probably meant there."""

from __future__ import annotations

import re
from pathlib import Path

from parcomp.errors import FileError, ParcompError, RefusedError, SqlError

__all__ = ["placed"]

_TAKES_A_SELECT = re.compile(r"(\(|\b(union|intersect|except|all|as))\s*$", re.IGNORECASE)
"""What a SELECT may follow in SQL at large, so that it begins no statement of its own."""


def placed(path: Path | str, error: ParcompError, line: int, text: str = "") -> ParcompError:
    """The error with its file and line; ``line`` is where its statement, or ``text``, begins.

    ``text`` is what an error of SQL counts its lines in.
    """
    if isinstance(error, RefusedError):
        return error.within(f"{path}:{line}")
    if not isinstance(error, SqlError):
        return FileError(path, str(error), line=line)
    message = f"column {error.column}: {error.message}"
    if _begins_another(text, error):
        message += "; if another statement begins here, end the one before it with ;"
    return FileError(path, message, line=line + error.line - 1)


def _begins_another(text: str, error: SqlError) -> bool:
    """Whether the place of an error is a SELECT that follows a statement without a semicolon between them."""
    lines = text.splitlines(keepends=True)
    if error.line > len(lines):
        return False
    before = "".join(lines[: error.line - 1]) + lines[error.line - 1][: error.column - 1]
    here = lines[error.line - 1][error.column - 1 :]
    if not re.match(r"select\b", here, re.IGNORECASE) or _TAKES_A_SELECT.search(before):
        return False
    return bool(before.rpartition(";")[2].strip())

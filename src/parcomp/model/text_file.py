"""Reading text files so that every error names file, line and field."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from parcomp.errors import FileError

__all__ = ["is_unicode", "parse_json", "read_decimal", "read_text"]

_ORDINARY_LENGTH = 640
"""Python reads integers of this many digits whatever its settings; it refuses some thousands of digits by default."""

_TOO_DEEP = 100
"""No file that is well formed nests its objects and lists deeper than this."""

_STRUCTURE = re.compile(r'"(?P<string>(?:[^"\\]|\\.)*)"(?P<colon>\s*:)?|[\[\]{}]', re.DOTALL)


def read_text(path: str | Path) -> str:
    """The file's text, which must be UTF-8."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror or error})") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(path, "bytes that are not UTF-8", line=line) from None


def is_unicode(text: str) -> bool:
    """Whether the text can be written again: escapes in a file can spell half of a surrogate pair, which cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def read_decimal(text: str) -> Decimal:
    """An exact decimal; NaN where the exponent is beyond what Decimal holds, so that the field's check refuses it."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


def parse_json(path: str | Path, text: str, *, first_line: int = 1) -> Any:
    """The JSON document ``text``, which starts at line ``first_line`` of the file.

    Numbers with a fraction come as exact decimals, and so do NaN, infinities and integers of thousands of digits: no
    field takes them, and the check of the field names it.  A duplicate key is an error.
    """
    # Python's own reading of integers is the quicker one, and a short text holds no long integer.
    parse_int = int if len(text) <= _ORDINARY_LENGTH else _integer
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_float=read_decimal, parse_int=parse_int, parse_constant=Decimal
        )
    except _DuplicateKeyError:
        key, line = _duplicate_key(text)
        raise FileError(path, "duplicate key", line=first_line + line, field=key) from None
    except json.JSONDecodeError as error:
        message = f"not valid JSON at column {error.colno} ({error.msg})"
        raise FileError(path, message, line=first_line + error.lineno - 1) from None
    except RecursionError:
        raise FileError(path, "nested too deeply", line=first_line + _deep_line(text)) from None


class _DuplicateKeyError(Exception):
    """An object has a key twice."""


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise _DuplicateKeyError
    return found


def _integer(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def _duplicate_key(text: str) -> tuple[str, int]:
    """The first key that its object has already, and how many lines come before it."""
    keys: list[set[str]] = []
    for token in _STRUCTURE.finditer(text):
        if token[0] in "[{":
            keys.append(set())
        elif token[0] in "]}":
            keys.pop()
        elif token["colon"]:
            key = json.loads(f'"{token["string"]}"')
            if key in keys[-1]:
                return key, text.count("\n", 0, token.start())
            keys[-1].add(key)
    raise AssertionError("no key occurs twice")


def _deep_line(text: str) -> int:
    """How many lines come before the place where the nesting gets too deep."""
    depth = 0
    for token in _STRUCTURE.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > _TOO_DEEP:
            return text.count("\n", 0, token.start())
    return 0

"""Codebooks: lists of what each attribute can be, as statistics offices publish them beside their data.

A CSV file with a line for each value, ``attribute,value`` and perhaps ``label``, or for each attribute,
``attribute,low,high`` and perhaps ``bins``, ``step`` or ``unit``, of which a line has one at most.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from parcomp.errors import DomainError, FileError
from parcomp.model import Attribute, Binned, Categorical, Dated, Integer, Stepped, read_decimal, read_text

__all__ = ["is_codebook", "read_codebook"]

_VALUES = frozenset({"attribute", "value"})
_RANGE = frozenset({"attribute", "low", "high"})
_KINDS = ("bins", "step", "unit")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}.*", re.ASCII)


def is_codebook(path: Path) -> bool:
    """Whether the first line names the columns of a codebook."""
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            columns = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error):
        return False
    return _VALUES <= {*columns} <= _VALUES | {"label"} or _RANGE <= {*columns} <= _RANGE | {"label", *_KINDS}


def read_codebook(path: Path) -> dict[str, Attribute]:
    """The attributes of a codebook, in the order in which they first occur."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    by_value = "value" in (reader.fieldnames or ())
    values: dict[str, list[str]] = {}
    attributes: dict[str, Attribute] = {}
    try:
        for entry in reader:
            # Too many fields come under the key None, and for those that are missing there is None.
            if None in entry or None in entry.values() or not entry["attribute"]:
                raise FileError(path, "not as many fields as the first line names", line=reader.line_num)
            if by_value:
                values.setdefault(entry["attribute"], []).append(entry["value"])
                continue
            if entry["attribute"] in attributes:
                raise FileError(path, "the attribute occurs twice", line=reader.line_num, field=entry["attribute"])
            try:
                attributes[entry["attribute"]] = _range(entry)
            except DomainError as error:
                raise FileError(path, str(error), line=reader.line_num, field=entry["attribute"]) from None
        attributes |= {name: Categorical(_typed(listed)) for name, listed in values.items()}
    except csv.Error as error:
        raise FileError(path, f"not CSV ({error})", line=reader.line_num) from None
    except DomainError as error:
        raise FileError(path, str(error)) from None
    if not attributes:
        raise FileError(path, "no attribute is listed")
    return attributes


def _typed(texts: list[str]) -> list[str | int | bool]:
    """Integers or booleans if all are written as such; 01 is a code and makes all of them strings."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,36}", text, re.ASCII) for text in texts):
        return [int(text) for text in texts]
    if all(text.lower() in ("true", "false") for text in texts):
        return [text.lower() == "true" for text in texts]
    return list(texts)


def _range(entry: dict[str, str]) -> Attribute:
    given = [kind for kind in _KINDS if entry.get(kind)]
    if len(given) > 1:
        raise DomainError("an attribute has one of bins, step and unit")
    # The attributes themselves refuse what is not of their types.
    low, high = entry["low"], entry["high"]
    if given == ["unit"] or (not given and _DATE.fullmatch(low) and _DATE.fullmatch(high)):
        unit: Any = entry.get("unit") or "day"
        return Dated(low, high, unit)
    if given == ["step"]:
        return Stepped(_number(low), _number(high), _number(entry["step"]))
    if given == ["bins"]:
        return Binned(_number(low), _number(high), _number(entry["bins"]))
    return Integer(_number(low), _number(high))


def _number(text: str) -> Any:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,300}", text, re.ASCII) else read_decimal(text)

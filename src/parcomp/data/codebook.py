"""Codebooks: lists of what each attribute can be, as statistics offices publish them beside their data.

A CSV file with a line for each value, ``attribute,value`` and perhaps ``label``, or for each attribute,
``attribute,low,high`` and perhaps ``bins``.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from parcomp.errors import DomainError, FileError
from parcomp.model import Attribute, Binned, Categorical, Integer, read_decimal, read_text

__all__ = ["is_codebook", "read_codebook"]

_VALUES = ({"attribute", "value"}, {"attribute", "value", "label"})
_RANGES = ({"attribute", "low", "high"}, {"attribute", "low", "high", "bins"})


def is_codebook(path: Path) -> bool:
    """Whether the first line names the columns of a codebook."""
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return set(next(csv.reader(file), [])) in (*_VALUES, *_RANGES)
    except (OSError, csv.Error):
        return False


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


def _typed(texts: list[str]) -> list[str | int]:
    """Integers if all are written as integers are; 01 is a code and makes all of them strings."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,36}", text, re.ASCII) for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def _range(entry: dict[str, str]) -> Attribute:
    low, high = (_number(entry[key]) for key in ("low", "high"))
    # The attributes themselves refuse what is not of their types.
    return Binned(low, high, _number(entry["bins"])) if entry.get("bins") else Integer(low, high)


def _number(text: str) -> Any:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,300}", text, re.ASCII) else read_decimal(text)

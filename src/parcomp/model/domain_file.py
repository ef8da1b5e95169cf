"""Domain files: JSON, TOML or YAML of one shape.

``{"name": "census", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 119}}}``
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from parcomp.errors import DomainError, FileError
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.keyed_file import KeyedFile

__all__ = ["load_domain", "save_domain"]

_Domain = TypeVar("_Domain")

_SUFFIXES = (".json", ".toml", ".yaml", ".yml")


def load_domain(path: str | Path, make: Callable[[dict[str, Attribute], str], _Domain]) -> _Domain:
    """Read a domain file, whose form follows from the suffix; ``make`` makes a domain of attributes and a name."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise FileError(path, f"a domain file ends in one of {', '.join(_SUFFIXES)}")
    file = KeyedFile.read(path)
    fields = file.mapping(file.document, [])
    file.check_keys(fields, {"name", "attributes"}, [])
    if "attributes" not in fields:
        raise file.error("missing; a domain has attributes", ["attributes"])
    name = fields.get("name", file.path.stem)
    if not isinstance(name, str) or not name:
        raise file.error("must be a non-empty string", ["name"])
    written = file.mapping(fields["attributes"], ["attributes"])
    if not written:
        raise file.error("must not be empty", ["attributes"])
    attributes = {key: _attribute(file, value, ["attributes", key]) for key, value in written.items()}
    try:
        return make(attributes, name)
    except DomainError as error:
        raise file.error(str(error), []) from None


def save_domain(described: dict[str, object], path: str | Path) -> None:
    """Write a domain file in JSON."""
    if Path(path).suffix.lower() != ".json":
        raise FileError(path, "a domain is written as .json")
    Path(path).write_text(json.dumps(described, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _attribute(file: KeyedFile, written: object, place: Sequence[str]) -> Attribute:
    if not place[-1]:
        raise file.error("an attribute's name must not be empty", place)
    fields = dict(file.mapping(written, place))
    file.check_keys(fields, {"values", "low", "high", "bins", "nullable"}, place)
    try:
        nullable = fields.pop("nullable", False)
        if "values" in fields:
            if len(fields) > 1:
                raise file.error("values stands without low, high and bins", place)
            return Categorical(fields["values"], nullable)
        for key in ("low", "high"):
            if key not in fields:
                raise file.error(f"missing {key}; an attribute has either values or low and high", place)
        return Binned(nullable=nullable, **fields) if "bins" in fields else Integer(nullable=nullable, **fields)
    except DomainError as error:
        raise file.error(str(error), place if error.field is None else [*place, error.field]) from None

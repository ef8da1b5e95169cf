"""Domain files: JSON, TOML or YAML of one shape.

``{"name": "census", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 119}}}``

Which keys an attribute has says of which kind it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from parcomp.errors import DomainError, FileError
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Stepped
from parcomp.model.keyed_file import KeyedFile

__all__ = ["load_domain", "read_domain", "save_domain"]

_Domain = TypeVar("_Domain")

_KEYS_OF: dict[type[Attribute], frozenset[str]] = {
    Categorical: frozenset({"values", "nullable", "levels"}),
    Integer: frozenset({"low", "high", "nullable", "clip"}),
    Binned: frozenset({"low", "high", "bins", "nullable", "clip"}),
    Stepped: frozenset({"low", "high", "step", "nullable", "clip"}),
    Dated: frozenset({"low", "high", "unit", "nullable"}),
}
_KEYS = set(frozenset().union(*_KEYS_OF.values()))
_WHERE = {
    "bins": "an attribute has one of bins, step and unit",
    "step": "an attribute has one of bins, step and unit",
    "unit": "an attribute has one of bins, step and unit",
    "clip": "only numbers between low and high are clipped",
    "levels": "only values have levels",
}
"""Why a key that is known has no place in an attribute of another kind."""

_SUFFIXES = (".json", ".toml", ".yaml", ".yml")


def load_domain(path: str | Path, make: Callable[[dict[str, Attribute], str], _Domain]) -> _Domain:
    """Read a domain file, whose form follows from the suffix; ``make`` makes a domain of attributes and a name."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise FileError(path, f"a domain file ends in one of {', '.join(_SUFFIXES)}")
    return read_domain(KeyedFile.read(path), make)


def read_domain(file: KeyedFile, make: Callable[[dict[str, Attribute], str], _Domain]) -> _Domain:
    """The domain that a parsed document describes."""
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
        raise file.error(str(error), [] if error.field is None else [error.field]) from None


def save_domain(described: dict[str, object], path: str | Path) -> None:
    """Write a domain file in JSON."""
    if Path(path).suffix.lower() != ".json":
        raise FileError(path, "a domain is written as .json")
    Path(path).write_text(json.dumps(described, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _attribute(file: KeyedFile, written: object, place: Sequence[str]) -> Attribute:
    if not place[-1]:
        raise file.error("an attribute's name must not be empty", place)
    fields = dict(file.mapping(written, place))
    file.check_keys(fields, _KEYS, place)
    kind = _kind(fields)
    for key in ("values",) if kind is Categorical else ("low", "high"):
        if key not in fields:
            raise file.error(f"missing {key}; an attribute has either values or low and high", place)
    for key in fields:
        if key not in _KEYS_OF[kind]:
            if kind is Categorical and key in {"low", "high", "bins", "step", "unit"}:
                raise file.error("values stands without low, high, bins, step and unit", place)
            raise file.error(f"cannot stand here; {_WHERE[key]}", [*place, key])
    try:
        return kind(**fields)
    except DomainError as error:
        raise file.error(str(error), place if error.field is None else [*place, error.field]) from None


def _kind(fields: Mapping[str, object]) -> type[Attribute]:
    """The kind of attribute that has these fields."""
    if "values" in fields:
        return Categorical
    for key, kind in (("bins", Binned), ("step", Stepped), ("unit", Dated)):
        if key in fields:
            return kind
    return Dated if all(isinstance(fields.get(key), (str, date)) for key in ("low", "high")) else Integer

"""Domain files: JSON, TOML or YAML of one shape.

``{"name": "census", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 119}}}``
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from parcomp.errors import DomainError, FileError, shown
from parcomp.model.attribute import Attribute, Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.text_file import parse_json, read_decimal, read_text

__all__ = ["load_domain", "save_domain"]

_SUFFIXES = (".json", ".toml", ".yaml", ".yml")

_KEY_PATTERNS = {
    ".json": r'"{name}"\s*:',
    ".yaml": r"""(?:^|[{{,\s])["']?{name}["']?\s*:""",
    # A key before its value or as part of a dotted one, the end of a dotted header, or a header of its own.
    ".toml": r"""(?<![\w-])["']?{name}["']?\s*[.=]|(?<=\.)["']?{name}["']?\s*\]|^\s*\[\s*["']?{name}["']?\s*\]""",
}
"""How the key ``name`` looks in each form, to tell it from a value of that name."""


def load_domain(path: str | Path) -> Domain:
    """Read a domain file; its form follows from the suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise FileError(path, f"a domain file ends in one of {', '.join(_SUFFIXES)}")
    text = read_text(path)
    if suffix == ".json":
        document = parse_json(path, text)
    elif suffix == ".toml":
        document = _parse_toml(path, text)
    else:
        document = _parse_yaml(path, text)
    return _Reader(path, text, _KEY_PATTERNS.get(suffix, _KEY_PATTERNS[".yaml"])).domain(document)


def save_domain(domain: Domain, path: str | Path) -> None:
    """Write a domain file in JSON."""
    if Path(path).suffix.lower() != ".json":
        raise FileError(path, "a domain is written as .json")
    attributes = {name: attribute.describe() for name, attribute in domain.attributes.items()}
    document = {"name": domain.name, "attributes": attributes}
    Path(path).write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


class _Reader:
    """Checks a parsed document; keeps the text to tell the line of a field."""

    def __init__(self, path: str | Path, text: str, key_pattern: str) -> None:
        self.path = path
        self.text = text
        self.key_pattern = key_pattern

    def domain(self, document: object) -> Domain:
        fields = self._mapping(document, [])
        self._check_keys(fields, {"name", "attributes"}, [])
        if "attributes" not in fields:
            raise self._error("missing; a domain has attributes", ["attributes"])
        name = fields.get("name", Path(self.path).stem)
        if not isinstance(name, str) or not name:
            raise self._error("must be a non-empty string", ["name"])
        written = self._mapping(fields["attributes"], ["attributes"])
        if not written:
            raise self._error("must not be empty", ["attributes"])
        attributes = {key: self._attribute(value, ["attributes", key]) for key, value in written.items()}
        try:
            return Domain(attributes, name)
        except DomainError as error:
            raise self._error(str(error), []) from None

    def _attribute(self, written: object, place: Sequence[str]) -> Attribute:
        if not place[-1]:
            raise self._error("an attribute's name must not be empty", place)
        fields = dict(self._mapping(written, place))
        self._check_keys(fields, {"values", "low", "high", "bins", "nullable"}, place)
        try:
            nullable = fields.pop("nullable", False)
            if "values" in fields:
                if len(fields) > 1:
                    raise self._error("values stands without low, high and bins", place)
                return Categorical(fields["values"], nullable)
            for key in ("low", "high"):
                if key not in fields:
                    raise self._error(f"missing {key}; an attribute has either values or low and high", place)
            return Binned(nullable=nullable, **fields) if "bins" in fields else Integer(nullable=nullable, **fields)
        except DomainError as error:
            raise self._error(str(error), place if error.field is None else [*place, error.field]) from None

    def _mapping(self, written: object, place: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(written, Mapping):
            raise self._error("must be an object of names and values", place)
        for key in written:
            if not isinstance(key, str):
                raise self._error(f"names must be strings, not {shown(key)}", place)
        return written

    def _check_keys(self, fields: Mapping[str, Any], known: set[str], place: Sequence[str]) -> None:
        for key in fields:
            if key not in known:
                raise self._error(f"unknown key; known here: {', '.join(sorted(known))}", [*place, key])

    def _error(self, message: str, place: Sequence[str]) -> FileError:
        return FileError(self.path, message, line=self._line(place), field=".".join(place) or None)

    def _line(self, place: Sequence[str]) -> int:
        # The keys of the path occur one after another in the text, whatever the format.
        position = 0
        for name in place:
            pattern = self.key_pattern.format(name=re.escape(name))
            found = re.compile(pattern, re.MULTILINE).search(self.text, position)
            if found is None:
                break
            position = found.end()
        return self.text.count("\n", 0, position) + 1


def _parse_toml(path: str | Path, text: str) -> object:
    try:
        return tomllib.loads(text, parse_float=read_decimal)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        message = str(error).split(" (at ")[0]
        line = int(found[1]) if found else text.count("\n") + 1
        raise FileError(path, f"not valid TOML ({message})", line=line) from None
    except RecursionError:
        raise FileError(path, "nested too deeply", line=1) from None
    except ValueError as error:
        # Python refuses to read an integer of thousands of digits, and so does the date 2020-13-01.
        found = re.search(r"\d{640}", text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        raise FileError(path, f"not valid TOML ({str(error).split(';')[0]})", line=line) from None


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader, except that a key may not occur twice and every error has a place."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:
            # A scalar such as 2020-13-01 or !!bool maybe: PyYAML lets through whatever Python raises for it.
            problem = f"{shown(getattr(node, 'value', ''))} cannot be read"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = getattr(key_node, "value", None)
            if isinstance(key, str):
                if key in seen:
                    raise yaml.MarkedYAMLError(problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark)
                seen.add(key)
        return super().construct_mapping(node, deep)


def _parse_yaml(path: str | Path, text: str) -> object:
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FileError(path, f"not valid YAML ({error.problem})", line=mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise FileError(path, f"not valid YAML ({error.reason})", line=line) from None
    except RecursionError:
        raise FileError(path, "nested too deeply", line=1) from None

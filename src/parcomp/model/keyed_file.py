"""Files of nested names and values, in JSON, TOML or YAML: parsed, and with the line of every field at hand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from parcomp.errors import FileError, shown
from parcomp.model.text_file import parse_json, read_decimal, read_text

__all__ = ["KeyedFile"]

_KEY_PATTERNS = {
    ".json": r'"{name}"\s*:',
    ".yaml": r"""(?:^|[{{,\s])["']?{name}["']?\s*:""",
    # A key before its value or as part of a dotted one, the end of a dotted header, or a header of its own.
    ".toml": r"""(?<![\w-])["']?{name}["']?\s*[.=]|(?<=\.)["']?{name}["']?\s*\]|^\s*\[\s*["']?{name}["']?\s*\]""",
}
"""How the key ``name`` looks in each form, to tell it from a value of that name."""


@dataclass(frozen=True, slots=True)
class KeyedFile:
    """A parsed document; the text is kept to tell the line of a field."""

    path: Path
    text: str
    document: object

    @classmethod
    def read(cls, path: str | Path) -> KeyedFile:
        """Read a file; its form follows from the suffix, YAML for any that is not known."""
        text = read_text(path)
        match Path(path).suffix.lower():
            case ".json":
                document = parse_json(path, text)
            case ".toml":
                document = _parse_toml(path, text)
            case _:
                document = _parse_yaml(path, text)
        return cls(Path(path), text, document)

    def mapping(self, written: object, place: Sequence[str]) -> Mapping[str, Any]:
        """The object of names and values at a place, if it is one."""
        if not isinstance(written, Mapping):
            raise self.error("must be an object of names and values", place)
        for key in written:
            if not isinstance(key, str):
                raise self.error(f"names must be strings, not {shown(key)}", place)
        return written

    def check_keys(self, fields: Mapping[str, Any], known: set[str], place: Sequence[str]) -> None:
        """Refuse a key that is not known."""
        for key in fields:
            if key not in known:
                raise self.error(f"unknown key; known here: {', '.join(sorted(known))}", [*place, key])

    def error(self, message: str, place: Sequence[str]) -> FileError:
        """An error at a place, which is the list of keys that leads there."""
        return FileError(self.path, message, line=self._line(place), field=".".join(place) or None)

    def _line(self, place: Sequence[str]) -> int:
        # The keys of the path occur one after another in the text, whatever the format.
        pattern = _KEY_PATTERNS.get(self.path.suffix.lower(), _KEY_PATTERNS[".yaml"])
        position = 0
        for name in place:
            found = re.compile(pattern.format(name=re.escape(name)), re.MULTILINE).search(self.text, position)
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

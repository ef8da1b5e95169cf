"""Files of nested names and values, in JSON, TOML or YAML: parsed, and with the line of every field at hand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
                from parcomp.model.yaml_text import parse_yaml  # noqa: PLC0415  few files are YAML, and it loads slowly

                document = parse_yaml(path, text)
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

"""YAML without its surprises: no key twice, and every error with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from parcomp.errors import FileError, shown

__all__ = ["parse_yaml"]


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


def parse_yaml(path: str | Path, text: str) -> object:
    """What a text in YAML says."""
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

"""What went wrong, as a line on standard error: in words for people, and as JSON for programs that asked for JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from typer.exceptions import TyperException

from parcomp.errors import FileError, ParcompError, RefusedError, SqlError, UnderivableError, one_line

__all__ = ["Problem", "wants_json"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a command did not do what it was told: a word for programs, a message, and what else is known of it."""

    type: str
    message: str
    exit_code: int = 2
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ParcompError | TyperException | OSError) -> Problem:
        """The problem that an error stands for."""
        if isinstance(error, TyperException):
            # The words of who checks a choice, which say nothing to who made it.
            return cls("usage", _in_a_line(error.format_message()).replace(": Value error, ", ": "))
        if isinstance(error, OSError):
            name = one_line(str(error.filename or "a file"))
            return cls("file", _in_a_line(f"{name}: {error.strerror or error}"), 2, {"file": name})
        facts: dict[str, Any] = {}
        if isinstance(error, FileError):
            facts = {"file": error.path, "line": error.line, "field": error.field}
        elif isinstance(error, SqlError):
            facts = {"line": error.line, "column": error.column}
        elif isinstance(error, RefusedError):
            facts = {"cost": error.cost, "remaining": error.remaining, "limit": error.limit, "left": error.left}
        refused = isinstance(error, (RefusedError, UnderivableError))
        return cls(_type(error), _in_a_line(str(error)), 3 if refused else 2, facts)

    def line(self, *, as_json: bool) -> str:
        """What is printed on standard error."""
        if not as_json:
            return f"parcomp: {self.message}"
        # Errors of programs are kept in logs of any encoding.
        return json.dumps({"error": {"type": self.type, "message": self.message, **self.facts}})


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command is told to print JSON, read or not: what is wrong may be its other arguments."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _type(error: ParcompError) -> str:
    """The name of an error's class in small letters: ``MissingLedgerError`` is ``missing-ledger``."""
    words = re.findall("[A-Z][a-z]*", type(error).__name__.removesuffix("Error")) or ["error"]
    return "-".join(words).lower()


def _in_a_line(message: str) -> str:
    return " ".join(message.split())

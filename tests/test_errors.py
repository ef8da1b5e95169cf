"""Messages stay one short line, whatever they show."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parcomp import errors
from parcomp.errors import FileError, ParcompError, one_line, shown


def test_every_error_is_a_parcomp_error_and_a_value_error() -> None:
    classes = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert len(classes) > 5
    assert all(issubclass(kind, ParcompError) for kind in classes)
    # A refusal is an answer to a request that is well formed, and a server may fail, or be slow, whatever it is asked.
    refusals = {errors.RefusedError, errors.UnderivableError}
    plain = {ParcompError, errors.ServiceError, errors.DeadlineError, *refusals}
    assert all(issubclass(kind, ValueError) for kind in classes if kind not in plain)


def test_a_file_error_names_file_line_and_field() -> None:
    error = FileError("d.json", "too large", line=3, field="attributes.age")
    assert str(error) == "d.json:3: attributes.age: too large"
    assert str(FileError("d.json", "cannot be read")) == "d.json: cannot be read"


def test_names_cannot_break_a_line_or_drive_a_terminal() -> None:
    error = FileError("d\n.json", "unknown\x1b[31m", line=1, field="a\r\nb\u2028\ud800é")
    assert str(error) == "d\\n.json:1: a\\r\\nb\\u2028\\ud800é: unknown\\x1b[31m"
    assert one_line("plain text, größer") == "plain text, größer"


LONG = [10**5000, -(10**5000), "x" * 10**6, Decimal(10**5000), Decimal("1e999999"), [[1] * 1000], {"a": 1}, {1}, None]


@pytest.mark.parametrize("value", LONG, ids=lambda value: type(value).__name__)
def test_what_is_shown_is_short(value: Any) -> None:
    assert 0 < len(shown(value)) <= 60


def test_what_is_shown_is_a_kind_for_lists() -> None:
    """Written out, a few lists within each other can take all memory."""
    value: list[Any] = [0]
    for _ in range(12):
        value = [value, value]
    assert shown(value) == shown(tuple(value)) == "a list"
    assert shown({"a": value}) == "an object"

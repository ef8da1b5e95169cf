"""Text in expressions: functions of strings, and LIKE."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from parcomp.errors import PredicateError

__all__ = ["TEXT_OPERATIONS", "like"]


def _left(text: str, length: Fraction) -> str:
    return text[: int(length)]


def _right(text: str, length: Fraction) -> str:
    """The last characters; of a negative number all but so many of the first."""
    return text[-int(length) :] if length else ""


def _substring(text: str, start: Fraction, length: Fraction | None = None) -> str:
    """From a place counted from 1; what lies before it counts as length."""
    first = int(start) - 1
    stop = len(text) if length is None else first + max(int(length), 0)
    return text[max(first, 0) : max(stop, 0)]


def _joined(*texts: str) -> str:
    return "".join(texts)


def _position(part: str, text: str) -> Fraction:
    """Where a part begins, counted from 1; 0 if it does not occur."""
    return Fraction(text.find(part) + 1)


TEXT_OPERATIONS: dict[str, Callable[..., Any]] = {
    "upper": str.upper,
    "lower": str.lower,
    "length": lambda text: Fraction(len(text)),
    "left": _left,
    "right": _right,
    "substring": _substring,
    "trim": lambda text: text.strip(" "),
    "||": _joined,
    "position": _position,
}
"""Functions of texts that are not null."""


def like(pattern: str, escape: str | None, *, ignore_case: bool) -> Callable[[str], bool]:
    """Whether a text matches a pattern, in which % stands for any text and _ for any character.

    ``escape`` goes before a character that stands for itself: a backslash unless another is named, none if it is empty.

    >>> like("C0_%", None, ignore_case=False)("C01.9"), like("100!%", "!", ignore_case=False)("1000")
    (True, False)
    """
    wanted = _pattern(pattern.lower() if ignore_case else pattern, "\\" if escape is None else escape)
    return lambda text: _matches(wanted, text.lower() if ignore_case else text)


def _pattern(written: str, mark: str) -> list[str | None]:
    """The characters of a pattern: any text is None, and any one character is empty."""
    if len(mark) > 1:
        raise PredicateError("ESCAPE takes one character")
    pieces: list[str | None] = []
    characters = iter(written)
    for character in characters:
        if mark and character == mark:
            following = next(characters, None)
            if following is None:
                raise PredicateError("the pattern ends with its escape character, which stands before another one")
            pieces.append(following)
        elif character == "%":
            pieces.append(None)
        else:
            pieces.append("" if character == "_" else character)
    return pieces


def _matches(pattern: list[str | None], text: str) -> bool:
    """In time of the product of both lengths: only the last % that was met is ever tried again."""
    at = place = 0
    after, resumed = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] is None:
            after, resumed = at + 1, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("", text[place]):
            at, place = at + 1, place + 1
        elif after >= 0:
            resumed += 1
            at, place = after, resumed
        else:
            return False
    return all(piece is None for piece in pattern[at:])

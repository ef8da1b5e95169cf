"""Tables and bars in HTML for notebooks: plain elements with styles of their own, and small SVG drawings.

There is no script and nothing that is loaded, so it shows in an untrusted notebook, in mail and on paper.  Every text
is escaped here, and only here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from parcomp.errors import one_line

__all__ = ["Markup", "bar", "block", "emphasized", "error_bar", "part_bar", "table", "text"]

_WIDTH = 180
_HEIGHT = 14
_BAR = "#4c78a8"
_GROUND = "rgba(128,128,128,0.2)"
_MUTED = "opacity:0.7"
_CELL = "padding:2px 10px 2px 0;border:none;background:none"


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(words: object) -> Markup:
    """Words as they are, whatever characters they hold."""
    return words if isinstance(words, Markup) else Markup(escape(one_line(str(words)), quote=True))


def emphasized(words: object, *, warning: bool = False) -> Markup:
    """Words in bold, or as a warning."""
    color = ";color:#b35900" if warning else ""
    return Markup(f'<span style="font-weight:bold{color}">{text(words)}</span>')


def block(*parts: object) -> Markup:
    """Parts under one another; those that are empty are left out."""
    lines = "".join(f"<div>{text(part)}</div>" for part in parts if str(part))
    return Markup(f'<div style="font-family:sans-serif;font-size:13px;line-height:1.5">{lines}</div>')


def table(headings: Sequence[object], rows: Iterable[Sequence[object]], right: Sequence[bool]) -> Markup:
    """A table without lines; ``right`` says which columns are aligned to the right."""
    styles = [f"{_CELL};text-align:{'right' if is_right else 'left'};white-space:nowrap" for is_right in right]
    head = _row("th", headings, [f"{style};{_MUTED}" for style in styles]) if any(map(str, headings)) else ""
    body = "".join(_row("td", row, styles) for row in rows)
    return Markup(f'<table style="border-collapse:collapse;margin:4px 0;font-size:13px">{head}{body}</table>')


def _row(element: str, cells: Sequence[object], styles: Sequence[str]) -> str:
    pairs = zip(cells, styles, strict=True)
    return "<tr>" + "".join(f'<{element} style="{style}">{text(cell)}</{element}>' for cell, style in pairs) + "</tr>"


def bar(value: float, longest: float) -> Markup:
    """A bar in proportion to the longest one; what is beyond it ends in an arrow."""
    drawn = error_bar(value, None, None, (0.0, longest))
    return Markup(f"{drawn}▶") if value > 1.005 * longest else drawn


def error_bar(value: float | None, low: float | None, high: float | None, span: tuple[float, float]) -> Markup:
    """A bar from zero to a value, with a line from ``low`` to ``high`` over it; ``span`` is what the width stands for.

    Where there is no value there is no bar.
    """
    left, right = span
    scale = _WIDTH / (right - left) if right > left else 0.0

    def place(number: float) -> float:
        return round(min(max((number - left) * scale, 0.0), _WIDTH), 1)

    parts = []
    if left < 0 < right:
        parts.append(_line(place(0), place(0), 0, _HEIGHT, "opacity:0.4"))
    if value is not None:
        begin, end = sorted((place(0), place(value)))
        parts.append(_rectangle(begin, end, _BAR))
    if low is not None and high is not None:
        middle = _HEIGHT / 2
        parts.append(_line(place(low), place(high), middle, middle))
        parts += [_line(place(end), place(end), middle - 3, middle + 3) for end in (low, high)]
    return _drawing(parts)


def part_bar(spent: float, whole: float) -> Markup:
    """How much of a whole is spent."""
    share = min(max(spent / whole, 0.0), 1.0) if whole else 0.0
    return _drawing([_rectangle(0, _WIDTH, _GROUND), _rectangle(0, round(share * _WIDTH, 1), _BAR)])


def _drawing(parts: Sequence[str]) -> Markup:
    size = f'width="{_WIDTH + 2}" height="{_HEIGHT}" viewBox="-1 0 {_WIDTH + 2} {_HEIGHT}"'
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="vertical-align:middle">{"".join(parts)}</svg>'
    )


def _rectangle(begin: float, end: float, color: str) -> str:
    return f'<rect x="{begin}" y="2" width="{round(end - begin, 1)}" height="{_HEIGHT - 4}" fill="{color}"/>'


def _line(left: float, right: float, top: float, bottom: float, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<line x1="{left}" x2="{right}" y1="{top}" y2="{bottom}" stroke="currentColor" stroke-width="1.2"{styled}/>'

"""Answers as pictures: bars with their 95 % intervals, heat maps, points.

What is drawn is what was released, so a picture discloses nothing more.  That an answer was rehearsed is in its title.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.errors import ArgumentError, shown
from parcomp.picture import drawing
from parcomp.tabular import error_text, label_text, number_text

if TYPE_CHECKING:
    from parcomp.figures.figured import AnswerColumn, Figure, Figured

__all__ = ["BAR", "plain_frame", "plot_answer", "plot_bars", "thinned", "title_of"]

BAR = "#4c78a8"
_DARK = "#1b1f24"
_TICKS = 20
"""How many labels an axis bears."""

_WRITTEN_CELLS = 120
"""Up to so many cells of a heat map carry their number."""

_LEAST_SIZE = 5
_ACROSS = 560
"""The least size of letters that can be read, and how many letters of size 1 stand across a heat map."""

_CLEAR = 12
"""Labels of up to so many characters stand side by side."""


def plot_answer(answer: Figured, path: str | Path | None, column: str | None, axes: Any) -> Any:
    """Draw one column of figures of an answer."""
    chosen = _chosen(answer, column)
    labels = answer.labels
    as_map = len(labels) == 2 and len(answer) > 0
    size = (8.0, 5.2) if as_map else (8.0, 4.2) if answer.grouped else (7.0, 1.9)
    with drawing(path, axes, figsize=size) as drawn:
        if as_map:
            _heat_map(drawn, labels[0], labels[1], chosen)
        elif answer.grouped:
            names = [" · ".join(map(label_text, row)) for row in zip(*(one.values for one in labels), strict=True)]
            plot_bars(
                drawn, names or [str(place) for place in range(1, len(answer) + 1)], chosen.name, chosen.figures or ()
            )
            drawn.set_xlabel(", ".join(one.name for one in labels))
        else:
            _point(drawn, chosen)
        drawn.set_title(title_of(chosen.name, answer.caution))
    return drawn


def plot_batch(answers: Sequence[Figured], path: str | Path | None, axes: Any) -> Any:
    """Draw the first figure of every answer without groups as bars, one for each statement."""
    single = [(place, answer.measured[0]) for place, answer in enumerate(answers, start=1) if not answer.grouped]
    if not single:
        raise ArgumentError("a batch of answers with GROUP BY is drawn one by one: batch[0].plot()")
    figures = [figure for _, column in single for figure in column.known]
    with drawing(path, axes, figsize=(8.0, 4.2)) as drawn:
        plot_bars(drawn, [str(place) for place, _ in single], "value", figures)
        drawn.set_xlabel("statement")
        drawn.set_title(title_of("batch", max(answer.caution for answer in answers)))
    return drawn


def _chosen(answer: Figured, name: str | None) -> AnswerColumn:
    if not answer.measured:
        raise ArgumentError("there are groups and no figures to draw; ask for COUNT(*) beside them")
    if name is None:
        return answer.measured[0]
    for column in answer.measured:
        if column.name == name:
            return column
    known = ", ".join(column.name for column in answer.measured)
    raise ArgumentError(f"no column of figures is named {shown(name)}; there are {known}")


def plot_bars(axes: Any, names: Sequence[str], item: str, figures: Sequence[Figure]) -> None:
    """Draw figures as bars with their intervals."""
    places = list(range(len(figures)))
    # Gaps narrower than a pixel would show here and there.
    axes.bar(places, [_number(figure.value) for figure in figures], color=BAR, width=0.8 if len(places) < 120 else 1)
    known = [
        (place, figure.value, figure.low, figure.high)
        for place, figure in zip(places, figures, strict=True)
        if figure.value is not None and figure.low is not None and figure.high is not None
    ]
    if known:
        where, values, lows, highs = zip(*known, strict=True)
        below = [max(value - low, 0) for value, low in zip(values, lows, strict=True)]
        above = [max(high - value, 0) for value, high in zip(values, highs, strict=True)]
        width = 2 if len(known) <= 4 * _TICKS else 0
        axes.errorbar(where, values, [below, above], color=_DARK, capsize=width, linewidth=1, linestyle="none")
    ticks = _ticks(names)
    steep = any(len(names[place]) > max(_CLEAR - len(ticks) // 2, 3) for place in ticks)
    axes.set_xticks(
        ticks, [_short(names[place]) for place in ticks], rotation=45 if steep else 0, ha="right" if steep else "center"
    )
    axes.set_ylabel(f"{item}, with its 95 % interval")
    axes.axhline(0, color=_DARK, linewidth=0.8)
    plain_frame(axes)


def _heat_map(axes: Any, down: AnswerColumn, across: AnswerColumn, column: AnswerColumn) -> None:
    """Cells by two keys, colored by value; the expected error is in each cell, and in the legend."""
    figures = column.figures or ()
    rows, columns = (list(dict.fromkeys(one.values)) for one in (down, across))
    row_of, column_of = ({label: place for place, label in enumerate(labels)} for labels in (rows, columns))
    cells = [[math.nan] * len(columns) for _ in rows]
    for first, second, figure in zip(down.values, across.values, figures, strict=True):
        cells[row_of[first]][column_of[second]] = _number(figure.value)
    image = axes.imshow(cells, aspect="auto", cmap="viridis")
    middle = sum(image.get_clim()) / 2
    size = _fitting(len(columns), [_cell(figure) for figure in figures])
    if len(rows) * len(columns) <= _WRITTEN_CELLS and size >= _LEAST_SIZE:
        for first, second, figure in zip(down.values, across.values, figures, strict=True):
            if figure.value is not None:
                color = "white" if figure.value < middle else _DARK
                axes.text(
                    column_of[second],
                    row_of[first],
                    _cell(figure),
                    ha="center",
                    va="center",
                    color=color,
                    fontsize=size,
                )
    bar = axes.figure.colorbar(image, ax=axes)
    bar.set_label(f"{column.name}{_errors(figures)}")
    for labels, set_ticks in ((columns, axes.set_xticks), (rows, axes.set_yticks)):
        names = [label_text(label) for label in labels]
        ticks = _ticks(names)
        set_ticks(ticks, [_short(names[place]) for place in ticks])
    axes.set(xlabel=across.name, ylabel=down.name)


def _point(axes: Any, column: AnswerColumn) -> None:
    [figure] = column.figures or ()
    if figure.value is None:
        axes.text(0.5, 0.5, "no value", ha="center", va="center", transform=axes.transAxes)
    else:
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [0, 0], color=_DARK, linewidth=2, marker="|", markersize=12)
        axes.plot([figure.value], [0], color=BAR, marker="o", markersize=10)
        axes.annotate(
            _cell(figure).replace("\n", "  "), (figure.value, 0), (0, 10), textcoords="offset points", ha="center"
        )
        axes.set_ylim(-1, 1.6)
    axes.set_yticks([])
    axes.set_xlabel(f"{column.name}, with its 95 % interval")
    plain_frame(axes, "left")


def _cell(figure: Figure) -> str:
    """A number and below it its expected error, which is what ± means everywhere, or else its interval."""
    text = number_text(figure.value)
    if figure.value is None:
        return text
    if figure.error is not None:
        return f"{text}\n{error_text(figure.error)}"
    if figure.low is None or figure.high is None:
        return text
    return f"{text}\n{number_text(figure.low)} to {number_text(figure.high)}"


def _errors(figures: Sequence[Figure]) -> str:
    errors = [figure.error for figure in figures if figure.value is not None and figure.error is not None]
    if not errors:
        return ""
    least, most = error_text(min(errors)), error_text(max(errors))
    return f" (expected error {most if least == most else f'{least} to {most}'})"


def _number(value: int | float | None) -> float:
    return math.nan if value is None else float(value)


def _fitting(columns: int, texts: Sequence[str]) -> float:
    """The size at which texts stand side by side in so many columns, 8 at most."""
    longest = max((len(line) for text in texts for line in text.splitlines()), default=1)
    return min(8.0, _ACROSS / (columns * longest))


def _ticks(names: Sequence[str]) -> list[int]:
    """The places that bear a label; null is last, and would seem to be the next number where it bore none."""
    ticks = thinned(list(range(len(names))))
    last = len(names) - 1
    return [*ticks, last] if ticks and names[last] == label_text(None) and ticks[-1] != last else ticks


def thinned(places: list[int]) -> list[int]:
    """As many places as an axis bears, at equal and round distances."""
    steps = (factor * 10**power for power in range(10) for factor in (1, 2, 5))
    return places[:: next(step for step in steps if len(places) <= step * _TICKS)]


def _short(label: str) -> str:
    return label if len(label) <= 24 else f"{label[:23]}…"


def title_of(title: str, caution: str) -> str:
    """A title, with what everyone must know."""
    return f"{title}\n{caution}" if caution else title


def plain_frame(axes: Any, *more: str) -> None:
    """Leave out the lines above and to the right, and more of them."""
    axes.spines[["top", "right", *more]].set_visible(False)

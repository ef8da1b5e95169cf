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

__all__ = [
    "BAR",
    "ESTIMATE",
    "plain_frame",
    "plot_answer",
    "plot_bars",
    "plot_batch",
    "plot_figures",
    "thinned",
    "title_of",
]

BAR = "#4c78a8"
_DARK = "#1b1f24"
_TICKS = 20
"""How many labels an axis bears."""

_WRITTEN_CELLS = 120
"""Up to so many cells of a heat map carry their number."""

_LEAST_SIZE = 5
_ACROSS = 560
"""The least size of letters that can be read, and how many letters of size 1 stand across a heat map."""

_ACROSS_MAP = 64
"""About how many characters of labels stand side by side below a heat map."""

_CLEAR = 12
"""Labels of up to so many characters stand side by side."""

ESTIMATE = "#c2410c"
"""The color of estimates, which are not what was released."""

_MOST_GROUPS = 200
"""An answer with more groups would hide the others of its batch."""

_FEW = 3
_SPREAD = 50
"""From so many numbers on, of which the largest is so many times the smallest, the scale is no longer linear."""


def plot_answer(answer: Figured, path: str | Path | None, column: str | None, axes: Any) -> Any:
    """Draw one column of figures of an answer, with the estimates beside them if there are any."""
    chosen = _chosen(answer, column)
    labels = answer.labels
    as_map = len(labels) == 2 and len(answer) > 0
    size = (8.0, 5.2) if as_map else (8.0, 4.2) if answer.grouped else (7.0, 2.1 if chosen.estimates else 1.9)
    with drawing(path, axes, figsize=size) as drawn:
        more = ""
        if as_map:
            more = _heat_map(drawn, labels[0], labels[1], chosen)
        elif answer.grouped:
            names = [" · ".join(map(label_text, row)) for row in zip(*(one.values for one in labels), strict=True)]
            names = names or [str(place) for place in range(1, len(answer) + 1)]
            plot_bars(drawn, names, chosen.name, chosen.figures or (), chosen.estimates)
            drawn.set_xlabel(", ".join(one.name for one in labels))
        else:
            _point(drawn, chosen)
        _entitle(drawn, title_of(chosen.name, answer.caution, more))
    return drawn


def plot_batch(answers: Sequence[Figured], path: str | Path | None, axes: Any) -> Any:
    """Draw the first figure of every answer as bars, one for each group; what is left out is said in the title."""
    names: list[str] = []
    figures: list[Figure] = []
    estimates: list[Figure | None] = []
    left_out = []
    for place, answer in enumerate(answers, start=1):
        if not answer.measured or len(answer) > _MOST_GROUPS:
            left_out.append(place)
            continue
        column = answer.measured[0]
        rows = zip(*(one.values for one in answer.labels), strict=True)
        names += (
            [f"{place} {' · '.join(map(label_text, row))}" for row in rows]
            if answer.labels
            else [str(place)] * len(answer)
        )
        figures += column.known
        estimates += column.estimates or [None] * len(answer)
    if not figures:
        raise ArgumentError("there is nothing that a picture could hold; draw answers one by one: batch[0].plot()")
    said = ""
    if left_out:
        listed = ", ".join(map(str, left_out[:_TICKS])) + (", …" if len(left_out) > _TICKS else "")
        said = f"left out, as they have no figures or too many groups: {listed}"
    title = title_of("batch", max(answer.caution for answer in answers), said)
    drawn = plot_figures(names, figures, estimates, "value", title, path, axes)
    drawn.set_xlabel("statement, and its group" if any(answer.grouped for answer in answers) else "statement")
    return drawn


def plot_figures(
    names: Sequence[str],
    figures: Sequence[Figure],
    estimates: Sequence[Figure | None],
    item: str,
    title: str,
    path: str | Path | None,
    axes: Any,
) -> Any:
    """Draw figures as bars with estimates beside them."""
    with drawing(path, axes, figsize=(8.0, 4.2)) as drawn:
        plot_bars(drawn, names, item, figures, estimates)
        _entitle(drawn, title)
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


def plot_bars(
    axes: Any,
    names: Sequence[str],
    item: str,
    figures: Sequence[Figure],
    estimates: Sequence[Figure | None] | None = None,
) -> None:
    """Draw figures as bars with their intervals, and estimates as hollow marks beside them."""
    places = list(range(len(figures)))
    # Gaps narrower than a pixel would show here and there.
    axes.bar(places, [_number(figure.value) for figure in figures], color=BAR, width=0.8 if len(places) < 120 else 1)
    beside = [
        (place, figure)
        for place, figure in enumerate(estimates or ())
        if figure is not None and figure.value is not None
    ]
    # Where few bars leave room, intervals stand side by side.
    aside = 0.18 if beside and len(places) <= 4 * _TICKS else 0.0
    _intervals(axes, [place - aside for place in places], figures, _DARK, len(places))
    if beside:
        where = [place + aside for place, _ in beside]
        _intervals(axes, where, [figure for _, figure in beside], ESTIMATE, len(places))
        size = 6 if len(places) <= _TICKS else 4 if aside else 2.5
        axes.plot(where, [_number(figure.value) for _, figure in beside], label="estimate, about 95 %", **_hollow(size))
        _legend(axes, _answered(bar=True))
    _label_across(axes, names, _CLEAR - len(_ticks(names)) // 2)
    axes.set_ylabel(f"{item}, with its 95 % interval")
    axes.axhline(0, color=_DARK, linewidth=0.8)
    _scale(axes, [*figures, *(figure for _, figure in beside)])
    plain_frame(axes)


def _intervals(axes: Any, places: Sequence[float], figures: Sequence[Figure], color: str, many: int) -> None:
    known = [
        (place, figure.value, figure.low, figure.high)
        for place, figure in zip(places, figures, strict=True)
        if figure.value is not None and figure.low is not None and figure.high is not None
    ]
    if not known:
        return
    where, values, lows, highs = zip(*known, strict=True)
    below = [max(value - low, 0) for value, low in zip(values, lows, strict=True)]
    above = [max(high - value, 0) for value, high in zip(values, highs, strict=True)]
    width = 2 if many <= 4 * _TICKS else 0
    axes.errorbar(where, values, [below, above], color=color, capsize=width, linewidth=1, linestyle="none")


def _answered(*, bar: bool) -> Any:
    """The sign of an answer in a legend."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  an optional dependency
    from matplotlib.patches import Patch  # noqa: PLC0415

    label = "answer, 95 %"
    return (
        Patch(color=BAR, label=label) if bar else Line2D([], [], color=BAR, marker="o", linestyle="none", label=label)
    )


def _legend(axes: Any, answered: Any) -> None:
    """A legend above what is drawn, of the answers and of the marks that were drawn last."""
    handles = [answered, axes.get_lines()[-1]]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=8)


def _hollow(size: float) -> dict[str, Any]:
    """The look of an estimate's mark."""
    return {
        "marker": "o",
        "markersize": size,
        "markerfacecolor": "white",
        "markeredgecolor": ESTIMATE,
        "linestyle": "none",
        "color": ESTIMATE,
        "zorder": 4,
    }


def _scale(axes: Any, figures: Sequence[Figure]) -> None:
    """Make small numbers and their intervals visible beside large ones: linear about 0, and by powers of ten beyond."""
    known = [figure for figure in figures if figure.value is not None]
    widths = [0.0 if one.low is None or one.high is None else (one.high - one.low) / 2 for one in known]
    # What is smaller than its interval is noise, which no scale should blow up.
    sizes = sorted(max(abs(one.value or 0), width) for one, width in zip(known, widths, strict=True))
    if len(sizes) < _FEW or not sizes[-1] > _SPREAD * sizes[0]:
        return
    from matplotlib.ticker import NullLocator  # noqa: PLC0415  an optional dependency

    least = max(sizes[0], sizes[-1] * 1e-9)
    linear = 10.0 ** math.floor(math.log10(least))
    axes.set_yscale("symlog", linthresh=linear, linscale=0.5)
    axes.yaxis.set_major_formatter(_apart())
    axes.yaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    axes.set_ylim(1.5 * low if low < 0 else low, 1.5 * high if high > 0 else high)


def _heat_map(axes: Any, down: AnswerColumn, across: AnswerColumn, column: AnswerColumn) -> str:
    """Cells by two keys, colored by value; the expected error is in the legend, and in each cell where they differ.

    What is to be said of estimates is returned.
    """
    figures = column.figures or ()
    rows, columns = (list(dict.fromkeys(one.values)) for one in (down, across))
    row_of, column_of = ({label: place for place, label in enumerate(labels)} for labels in (rows, columns))
    cells = [[math.nan] * len(columns) for _ in rows]
    for first, second, figure in zip(down.values, across.values, figures, strict=True):
        cells[row_of[first]][column_of[second]] = _number(figure.value)
    image = axes.imshow(cells, aspect="auto", cmap="viridis")
    middle = sum(image.get_clim()) / 2
    alike = len(_error_texts(figures)) == 1 and all(one.error is not None for one in figures if one.value is not None)
    texts = list(column.texts(len(figures))[0])
    if not alike:
        texts = [_cell(figure, text) for figure, text in zip(figures, texts, strict=True)]
    if column.estimates is not None:
        texts = [f"{text}\n≈ {told}" for text, told in zip(texts, column.estimated_texts(len(texts))[0], strict=True)]
    size = _fitting(len(columns), texts)
    written = len(rows) * len(columns) <= _WRITTEN_CELLS and size >= _LEAST_SIZE
    if written:
        for first, second, figure, text in zip(down.values, across.values, figures, texts, strict=True):
            if figure.value is not None:
                color = "white" if figure.value < middle else _DARK
                axes.text(
                    column_of[second],
                    row_of[first],
                    text,
                    ha="center",
                    va="center",
                    color=color,
                    fontsize=size,
                )
    bar = axes.figure.colorbar(image, ax=axes, format=_apart())
    bar.set_label(f"{column.name}{_errors(figures)}")
    names = [label_text(label) for label in columns]
    _label_across(axes, names, _ACROSS_MAP // max(1, len(_ticks(names))))
    names = [label_text(label) for label in rows]
    ticks = _ticks(names)
    axes.set_yticks(ticks, [_short(names[place]) for place in ticks])
    axes.set(xlabel=across.name, ylabel=down.name)
    if column.estimates is None:
        return ""
    return "≈ is the estimate" if written else "without the estimates, which to_pandas() has"


def _point(axes: Any, column: AnswerColumn) -> None:
    [figure] = column.figures or ()
    if figure.value is None:
        axes.text(0.5, 0.5, "no value", ha="center", va="center", transform=axes.transAxes)
    else:
        if figure.low is not None and figure.high is not None:
            axes.plot([figure.low, figure.high], [0, 0], color=_DARK, linewidth=2, marker="|", markersize=12)
        axes.plot([figure.value], [0], color=BAR, marker="o", markersize=10)
        [value], _ = column.texts(1)
        axes.annotate(
            _cell(figure, value).replace("\n", "  "),
            (figure.value, 0),
            (0, 10),
            textcoords="offset points",
            ha="center",
        )
        axes.set_ylim(-1, 1.6)
        if column.estimates is not None and column.estimates[0].value is not None:
            [told] = column.estimates
            if told.low is not None and told.high is not None:
                axes.plot([told.low, told.high], [-0.5, -0.5], color=ESTIMATE, linewidth=1.5, marker="|", markersize=9)
            axes.plot([told.value], [-0.5], label="estimate, about 95 %", **_hollow(9))
            _legend(axes, _answered(bar=False))
    axes.set_yticks([])
    axes.set_xlabel(f"{column.name}, with its 95 % interval")
    plain_frame(axes, "left")


def _cell(figure: Figure, text: str) -> str:
    """A number and below it its expected error, which is what ± means everywhere, or else its interval."""
    if figure.value is None:
        return text
    if figure.error is not None:
        return f"{text}\n{error_text(figure.error)}"
    if figure.low is None or figure.high is None:
        return text
    return f"{text}\n{number_text(figure.low)} to {number_text(figure.high)}"


def _errors(figures: Sequence[Figure]) -> str:
    told = _error_texts(figures)
    return f" (expected error {' to '.join(told)})" if told else ""


def _error_texts(figures: Sequence[Figure]) -> list[str]:
    """The least and the largest expected error as they are told, or the one that all of them have."""
    errors = [figure.error for figure in figures if figure.value is not None and figure.error is not None]
    return list(dict.fromkeys(error_text(error) for error in (min(errors), max(errors)))) if errors else []


def _apart() -> Any:
    """How an axis tells numbers, with their thousands set apart."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415  an optional dependency

    return FuncFormatter(lambda number, _: number_text(round(number, 9)))


def _label_across(axes: Any, names: Sequence[str], most: int) -> None:
    """Labels below, which stand at a slant where one of them has more than so many characters, three at least."""
    ticks = _ticks(names)
    steep = any(len(names[place]) > max(most, 3) for place in ticks)
    axes.set_xticks(
        ticks, [_short(names[place]) for place in ticks], rotation=45 if steep else 0, ha="right" if steep else "center"
    )


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


def _entitle(axes: Any, title: str) -> None:
    """A title, beside a legend if there is one above."""
    axes.set_title(title, loc="left" if axes.get_legend() else "center")


def title_of(title: str, caution: str, more: str = "") -> str:
    """A title, with what everyone must know."""
    return "\n".join(filter(None, (title, caution, more)))


def plain_frame(axes: Any, *more: str) -> None:
    """Leave out the lines above and to the right, and more of them."""
    axes.spines[["top", "right", *more]].set_visible(False)

"""Write the measured tables of ``docs/error.md`` and its pictures, from the figures in ``docs/measured``.

With directories of a benchmark's files it takes the figures from these first:

    python -m benchmarks error
    python -m tools.error_page out/bench
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parcomp.experiments.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure

__all__ = ["collect", "draw_intervals", "draw_methods", "read", "updated"]

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "error.md"
MEASURED = DOCS / "measured"

Line = dict[str, str]

_PLAIN = {
    "uniform": GREY,
    "planner": BLACK,
    "cut at 0": ORANGE,
    "planner + estimate": SKY,
    "strategy": BLUE,
    "strategy + estimate": GREEN,
}
"""The methods that are compared everywhere, and their colors."""

_TOTAL = ", number of rows known"
_OUTSIDE = {f"planner + estimate{_TOTAL}": PURPLE, f"planner + mbi{_TOTAL}": VERMILION}
_TABLES = {"census": "census", "flchain": "the study", "marginals": "marginals"}
_BAND = (0.935, 0.965)
"""Where 95 % intervals shall be: within 1.5 %."""


def read(name: str) -> list[Line]:
    """The lines of a file of figures."""
    with (MEASURED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def collect(directories: Sequence[Path]) -> None:
    """Take the figures from what benchmarks wrote; what none of the directories has stays as it is."""
    MEASURED.mkdir(exist_ok=True)
    for name, sources in {
        "error": ("census", "flchain", "marginals"),
        "error-outside": ("outside",),
        "error-intervals": ("intervals",),
    }.items():
        _keep(name, [line for source in sources for line in _lines(directories, f"error-{source}.csv")])


def updated(page: str) -> str:
    """The page with the tables of the present figures."""
    for name, text in {
        "methods": _methods_table(read("error")),
        "outside": _outside_table(read("error-outside")),
        "intervals": _intervals_table(read("error-intervals")),
    }.items():
        begin, end = f"<!-- {name}: written by tools/error_page.py -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"
    return page


def draw_methods(lines: Sequence[Line]) -> Any:
    """Bars of the error of each method, a panel for each workload and measure."""
    cases = list(dict.fromkeys((line["table"], int(line["queries"])) for line in lines))
    figure, axes = new_figure(2, len(cases), size=(2.5 * len(cases) + 1.2, 4.6), sharey=True, squeeze=False)
    for panels, measure in zip(axes, ("pure", "gdp"), strict=True):
        for panel, (table, queries) in zip(panels, cases, strict=True):
            named = {line["method"]: line for line in _at(lines, table, queries, measure)}
            names = [name for name in _PLAIN if name != "planner"][::-1]
            for place, name in enumerate(names):
                if name in named:
                    part, spread = float(named[name]["of_planner"]), float(named[name]["of_planner_se"])
                    panel.barh(place, part, xerr=spread, color=_PLAIN[name], ecolor=BLACK, error_kw={"linewidth": 1})
                    panel.annotate(
                        f"{part:.2f}",
                        (part + spread, place),
                        xytext=(4, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize=8,
                        bbox={"color": "white", "pad": 0.5},
                    )
            panel.axvline(1, color=BLACK, linewidth=1, zorder=0.9)
            panel.set_yticks(range(len(names)), names, fontsize=8.5)
            panel.set_xlim(0, 2.9)
            panel.tick_params(axis="x", labelsize=8)
            panel.set_title(f"{_TABLES[table]}, t = {queries:,}, {measure}", fontsize=9.5)
    figure.suptitle("Mean error at one budget, as a part of the planner's (the line at 1)", fontsize=11)
    return figure


def draw_intervals(lines: Sequence[Line]) -> Any:
    """How often intervals hold the count, and how wide they are, line by line."""
    figure, (left, right) = new_figure(1, 2, size=(9.5, 3.8), sharey=True, width_ratios=(3, 2))
    places = range(len(lines))[::-1]
    left.axvspan(*_BAND, color=GREEN, alpha=0.15, linewidth=0)
    left.axvline(0.95, color=GREEN, linewidth=0.8)
    for column, color, text in (
        ("estimate", BLUE, "estimate"),
        ("small", ORANGE, "estimate, counts below 10"),
        ("raw", GREY, "raw, guaranteed"),
    ):
        left.errorbar(
            [float(line[column]) for line in lines],
            places,
            xerr=[2 * float(line[f"{column}_se"]) for line in lines],
            fmt="o",
            markersize=4.5,
            color=color,
            label=text,
            linewidth=1,
        )
    left.set_yticks(places, [f"t = {int(line['queries']):,}, {line['measure']}: {line['noise']}" for line in lines])
    left.tick_params(labelsize=8.5)
    left.set_xlabel("intervals of 95 % that hold the true count (± 2 standard errors)", fontsize=9)
    left.legend(fontsize=8, loc="lower left")
    left.set_xlim(0.90, 1.0)
    right.barh(places, [float(line["width"]) for line in lines], color=BLUE)
    right.set_xlabel("their width, as a part of the raw ones'", fontsize=9)
    right.tick_params(labelsize=8.5)
    right.set_xlim(0, 1)
    return figure


def _methods_table(lines: Sequence[Line]) -> str:
    rows = ["| workload | measure | " + " | ".join(_PLAIN) + " |", "|---|---" + "|---" * len(_PLAIN) + "|"]
    for table, queries, measure in dict.fromkeys((line["table"], line["queries"], line["measure"]) for line in lines):
        named = {line["method"]: line for line in _at(lines, table, int(queries), measure)}
        cells = [_cell(name, named.get(name)) for name in _PLAIN]
        rows.append(f"| {_TABLES[table]}, {int(queries):,} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _outside_table(lines: Sequence[Line]) -> str:
    names = [*_PLAIN, *_OUTSIDE]
    cases = list(dict.fromkeys((line["table"], int(line["queries"])) for line in lines))
    rows = [
        "| method | " + " | ".join(f"{_TABLES[table]}, {queries:,}" for table, queries in cases) + " |",
        "|---" + "|---" * len(cases) + "|",
    ]
    for name in names:
        cells = []
        for table, queries in cases:
            named = {line["method"]: line for line in _at(lines, table, queries, "gdp")}
            cells.append(_cell(name, named.get(name)))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(name: str, line: Line | None) -> str:
    if line is None:
        return "–"
    if name == "planner":
        return f"1 (error {float(line['error']):.3g})"
    mean, root = (f"{float(line[c]):.3f} ± {float(line[f'{c}_se']):.3f}" for c in ("of_planner", "rms_of_planner"))
    return f"{mean}, {root}"


def _intervals_table(lines: Sequence[Line]) -> str:
    rows = [
        "| queries | measure | noise | estimate | counts below 10 | raw | width, of the raw ones' |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        held = [f"{line[column]} ± {line[f'{column}_se']}" for column in ("estimate", "small", "raw")]
        before = f"| {int(line['queries']):,} | {line['measure']} | {line['noise']} | "
        rows.append(f"{before}{' | '.join(held)} | {float(line['width']):.2f} |")
    return "\n".join(rows)


def _at(lines: Sequence[Line], table: str, queries: int, measure: str) -> list[Line]:
    wanted = (table, queries, measure)
    return [line for line in lines if (line["table"], int(line["queries"]), line["measure"]) == wanted]


def _lines(directories: Sequence[Path], name: str) -> list[Line]:
    found: list[Line] = []
    for directory in directories:
        path = directory / name
        if not path.exists():
            continue
        with path.open(encoding="utf-8", newline="") as file:
            found += csv.DictReader(file)
    return found


def _keep(name: str, lines: Sequence[Line]) -> None:
    if lines:
        with (MEASURED / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


def main(arguments: Sequence[str]) -> int:
    """Take figures from the directories that are named, and write the page and its pictures."""
    if arguments:
        collect([Path(one) for one in arguments])
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, figure in {
        "error": draw_methods(read("error")),
        "error-intervals": draw_intervals(read("error-intervals")),
    }.items():
        figure.savefig(MEASURED / f"{name}.png", dpi=110)
    print("docs/error.md and the pictures in docs/measured")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

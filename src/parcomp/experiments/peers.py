"""``peers``: how many queries other tools answer at one budget, and with what error; time and memory beside it.

Two questions are put to each tool.  *One by one*: each ask costs ε = 0.05 of a budget of ε = 1, in the order in which
they come, and what does not fit is refused.  *All known*: the number of asks is known beforehand, the budget is divided
among them, and all are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import parcomp as pc
from parcomp.experiments import peer_baselines
from parcomp.experiments.clock import processor_seconds
from parcomp.experiments.drawing import BLUE, GREY, ORANGE, new_figure
from parcomp.experiments.experiment import Experiment, Record, Row, Tables
from parcomp.experiments.peer_environments import PeerError, ask_tool, environment
from parcomp.experiments.peer_work import Work, work_named
from parcomp.experiments.whole_census import peak_memory

__all__ = ["PEERS", "Compared"]

ONE_BY_ONE, ALL_KNOWN = "one by one", "all known"
_EPSILON, _EACH = 1.0, 0.05
_ROWS, _SEED = 50_000, 0
_ASKS = {"census": 1_000, "hospital": 513}
_CLOCK_LIMIT = 2_400.0

_OWN: dict[tuple[str, str], Callable[[Work, float, float], peer_baselines.Answers]] = {
    ("sequential", ONE_BY_ONE): peer_baselines.sequential,
    ("sequential", ALL_KNOWN): peer_baselines.sequential,
    ("enumeration", ONE_BY_ONE): peer_baselines.enumeration,
    ("parcomp", ONE_BY_ONE): peer_baselines.parcomp_online,
    ("parcomp", ALL_KNOWN): peer_baselines.parcomp_planned,
}
_TOOLS = {
    "parcomp": "Parcomp",
    "enumeration": "a budget for each element (as in Cohere)",
    "sequential": "sequential composition",
    "opendp": "OpenDP, compositor",
    "smartnoise": "SmartNoise SQL",
    "diffprivlib": "diffprivlib, accountant",
    "tumult": "Tumult Analytics",
    "tumult-partitioned": "Tumult Analytics, partitions declared",
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A tool at a work, asked in one of two ways: so many asks are put to it, each at a cost, of a table with rows."""

    tool: str
    work: str
    way: str
    asks: int
    each: float
    rows: int


def _instances(quick: bool) -> list[Compared]:
    if quick:
        few = {"census": 120, "hospital": 120}
        return [
            Compared(tool, work, way, few[work], 0.2 if way == ONE_BY_ONE else _EPSILON / few[work], 5_000)
            for tool, way in _OWN
            for work in few
        ]

    def one(tool: str, work: str, way: str, asks: int = 0) -> Compared:
        each = _EACH if way == ONE_BY_ONE else _EPSILON / _ASKS[work]
        return Compared(tool, work, way, asks or _ASKS[work], each, _ROWS)

    found = [one(tool, work, way) for tool, way in _OWN for work in _ASKS]
    for work in _ASKS:
        found += [one(tool, work, ONE_BY_ONE) for tool in ("opendp", "smartnoise", "diffprivlib", "tumult")]
        found += [one(tool, work, ALL_KNOWN) for tool in ("smartnoise", "diffprivlib")]
        # These take a second or more for each query: the first ones of all.
        found += [one("opendp", work, ALL_KNOWN, 20), one("tumult", work, ALL_KNOWN, 10)]
    # All of the census session, of which most is refused; of the dashboards a quarter of a year, of which nothing is.
    return [
        *found,
        one("tumult-partitioned", "census", ONE_BY_ONE),
        one("tumult-partitioned", "hospital", ONE_BY_ONE, 42),
    ]


def _measure(instance: Compared) -> Iterator[Row]:
    work = work_named(instance.work, instance.asks, instance.rows, _SEED)
    try:
        answers, version, seconds, memory = _told(instance, work)
    except PeerError as error:
        yield {"status": str(error)}
        return
    answered = [number for number, answer in enumerate(answers) if answer is not None]
    truth = work.truth()
    off, missing = [], 0
    for number in answered:
        for true, told in zip(truth[number], answers[number] or (), strict=True):
            if told is None:
                missing += 1
            else:
                off.append(abs(told - true))
    yield {
        "status": "completed",
        "version": version,
        "answered": len(answered),
        "numbers": len(off),
        "left_out": missing,
        "error": round(sum(off) / len(off), 3) if off else "nothing answered",
        "seconds": round(seconds, 3),
        "memory_mib": round(memory / 2**20, 1),
    }


def _told(instance: Compared, work: Work) -> tuple[peer_baselines.Answers, str, float, int]:
    """The answers of a tool, its version, the processor seconds it took, and its memory."""
    ask = _OWN.get((instance.tool, instance.way))
    if ask is not None:
        found = ask(work, _EPSILON, instance.each)
        # Of the whole process, as for the tools: the start, and reading the table.
        return found, pc.__version__, processor_seconds(), peak_memory()
    tool, _, partitioned = instance.tool.partition("-")
    python = environment(tool)
    with TemporaryDirectory() as place:
        table = Path(place).resolve() / f"{instance.work}.csv"
        work.write(table)
        asked = {**work.plain(), "table": str(table), "epsilon": _EPSILON, "each": instance.each}
        told = ask_tool(python, tool, {**asked, "partition": work.partition if partitioned else ""}, _CLOCK_LIMIT)
    return told.told["answers"], told.told["version"], told.seconds, told.memory


def _tables(records: Sequence[Record]) -> Tables:
    found = []
    for record in records:
        one: Compared = record.instance
        told = (record.rows or [{"status": record.ended}])[0]
        what: Row = {"tool": one.tool, "work": one.work, "way": one.way, "each": one.each, "asked": one.asks}
        columns = ("version", "answered", "numbers", "left_out", "error", "seconds", "memory_mib")
        found.append({**what, "status": told["status"], **{name: told.get(name, "not run") for name in columns}})
    order = list(_TOOLS)
    return {"peers": sorted(found, key=lambda row: (str(row["work"]), str(row["way"]), order.index(str(row["tool"]))))}


def _draw(tables: Tables) -> Any:
    works = list(dict.fromkeys(str(row["work"]) for row in tables["peers"]))
    figure, axes = new_figure(len(works), 2, size=(12.5, 3.5 * len(works)), squeeze=False)
    for line, work in zip(axes, works, strict=True):
        for one, way, column, text in (
            (line[0], ONE_BY_ONE, "answered", "asks answered"),
            (line[1], ALL_KNOWN, "error", "mean error of an answer, all asks answered"),
        ):
            rows = [row for row in tables["peers"] if (row["work"], row["way"]) == (work, way)][::-1]
            bars = one.barh(
                [_TOOLS[str(row["tool"])] for row in rows],
                [float(row[column]) if row["status"] == "completed" else 1.0 for row in rows],
                color=[_color(str(row["tool"])) for row in rows],
            )
            most = max(int(row["asked"]) for row in rows)
            one.bar_label(bars, [_label(row, column, most) for row in rows], fontsize=8, padding=3)
            one.set_xscale("log")
            one.set_xlim(1, 30_000)
            one.tick_params(axis="y", labelsize=8)
            one.set_xlabel(text, fontsize=9)
            each = f"each at ε = {rows[0]['each']:g}" if way == ONE_BY_ONE else "ε = 1 divided among them"
            one.set_title(f"{work}: {most:,} asks, {way}, {each}", fontsize=9.5)
    figure.suptitle(f"Other tools on the same work, at a budget of ε = {_EPSILON:g}", fontsize=12)
    return figure


def _color(tool: str) -> str:
    return BLUE if tool == "parcomp" else ORANGE if tool in {"sequential", "enumeration"} else GREY


def _label(row: Row, column: str, most: int) -> str:
    if row["status"] != "completed":
        # What comes after the colon is in the table.
        return str(row["status"]).partition(":")[0]
    value = f"{float(row[column]):,.4g}" if column == "error" else f"{int(row[column]):,}"
    return value if row["asked"] == most else f"{value} (of the first {row['asked']:,} asks)"


PEERS = Experiment(
    "peers",
    "queries answered at one budget and their error: other tools, sequential composition, enumeration, Parcomp",
    Compared,
    _instances,
    _measure,
    lambda _instance: 1_200.0,
    _tables,
    _draw,
    fresh=True,
)

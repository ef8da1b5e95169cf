"""What every benchmark shares: timing, running with a time limit, goals, and tables.

A benchmark is a generator of :class:`Row`; it is entered under a name by :func:`benchmark`.  What is compared runs in
one go on one machine.  Numba compiles a kernel when it is first called (or loads it from its cache): a warm-up run on
another instance takes that first, and is not counted.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import psutil

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Goal",
    "Ratio",
    "Row",
    "Settings",
    "Timing",
    "benchmark",
    "limited",
    "machine_facts",
    "render",
    "repeated",
    "report",
    "save",
    "timed",
]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that something took; where it is not ``finished``, its time limit ended it, and it would take longer.

    ``seconds`` are those of the clock on the wall, ``cpu`` those that a processor worked on it.
    """

    seconds: float
    finished: bool = True
    cpu: float | None = None

    def __str__(self) -> str:
        return ("" if self.finished else "> ") + _seconds_text(self.seconds)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer the slower of two took; a lower bound if it did not finish.

    Processor time is compared where it is known.  On a busy machine a run of many seconds is interrupted by others
    while one of a few milliseconds is not, so that the clock on the wall would favor the faster one.
    """

    value: float
    at_least: bool = False

    @classmethod
    def between(cls, slower: Timing, faster: Timing) -> Ratio:
        """The ratio of two timings, of which the faster must have finished."""
        if slower.cpu is not None and faster.cpu is not None:
            return cls(slower.cpu / max(faster.cpu, 1e-9), not slower.finished)
        return cls(slower.seconds / max(faster.seconds, 1e-9), not slower.finished)

    def __str__(self) -> str:
        return ("≥ " if self.at_least else "") + (f"{self.value:,.0f}x" if self.value >= 10 else f"{self.value:.2g}x")


@dataclass(frozen=True, slots=True)
class Goal:
    """A stated goal, and whether it was reached; None where the run could not tell."""

    text: str
    met: bool | None

    @classmethod
    def at_least(cls, ratio: Ratio, wanted: float) -> Goal:
        """A speed-up; a baseline that was cut off below it leaves the question open."""
        met = True if ratio.value >= wanted else None if ratio.at_least else False
        return cls(f"≥ {wanted:,.0f}x", met)

    @classmethod
    def at_most(cls, value: float, wanted: float, unit: str = "") -> Goal:
        """Something that shall not exceed a bound."""
        return cls(f"≤ {wanted:g}{unit}", value <= wanted)

    def __str__(self) -> str:
        return f"{self.text} {'ok' if self.met else 'open' if self.met is None else 'short'}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is made: small sizes or full ones, and where its files go."""

    quick: bool = False
    out: Path = Path("out/bench")

    def at_full_size(self, goal: Goal) -> Goal | None:
        """A goal that is stated for the full size or time limit, and so says nothing about a quick run."""
        return None if self.quick else goal


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a benchmark's table: the instance, its figures by column, and perhaps a goal."""

    case: str
    figures: dict[str, Any] = field(default_factory=dict)
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named generator of rows."""

    name: str
    topic: str
    summary: str
    rows: Callable[[Settings], Iterator[Row]]


BENCHMARKS: dict[str, Benchmark] = {}
"""All benchmarks by name, in the order in which they run."""


def benchmark(
    name: str, *, topic: str = ""
) -> Callable[[Callable[[Settings], Iterator[Row]]], Callable[[Settings], Iterator[Row]]]:
    """Enter a generator of rows under ``name``; its docstring begins with the summary.

    The topic is its module unless it says otherwise.
    """

    def enter(rows: Callable[[Settings], Iterator[Row]]) -> Callable[[Settings], Iterator[Row]]:
        summary = (rows.__doc__ or "").strip().splitlines()[0]
        BENCHMARKS[name] = Benchmark(name, topic or rows.__module__.rpartition(".")[2], summary, rows)
        return rows

    return enter


def timed(run: Callable[..., Result], *arguments: Any) -> tuple[Result, Timing]:
    """The result of one run, and how long it took."""
    began, cpu_before = time.perf_counter(), time.process_time()
    result = run(*arguments)
    return result, Timing(time.perf_counter() - began, cpu=time.process_time() - cpu_before)


def repeated(run: Callable[..., Result], *arguments: Any, times: int = 5) -> tuple[Result, Timing]:
    """The result, and the median of several runs; for what is too short to be timed once on a busy machine."""
    result, first = timed(run, *arguments)
    timings = [first, *(timed(run, *arguments)[1] for _ in range(times - 1))]
    cpu = median(timing.cpu for timing in timings if timing.cpu is not None)
    return result, Timing(median(timing.seconds for timing in timings), cpu=cpu)


def limited(run: Callable[..., Result], arguments: Sequence[object], time_limit: float) -> tuple[Result | None, Timing]:
    """Run something that cannot be told to stop, in a process of its own that is ended at the time limit.

    ``run`` must be a function of a module.  Starting the process and handing over the arguments is not counted.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, run, tuple(arguments)))
    process.start()
    sender.close()
    try:
        cpu_before = receiver.recv()
        if not receiver.poll(time_limit):
            used = psutil.Process(process.pid).cpu_times()
            return None, Timing(time_limit, finished=False, cpu=used.user + used.system - cpu_before)
        result, timing = receiver.recv()
    finally:
        process.kill()
        process.join()
        receiver.close()
    return result, timing


def _answer(sender: Connection, run: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    sender.send(time.process_time())
    sender.send(timed(run, *arguments))


def machine_facts() -> dict[str, str]:
    """What a reader must know to compare figures."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f} at the start",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in ("parcomp", "numpy", "numba", "networkx", "igraph")},
    }


def render(rows: Sequence[Row]) -> str:
    """The rows as an aligned table; numbers to the right, text to the left."""
    columns = list(dict.fromkeys(column for row in rows for column in row.figures))
    goals = any(row.goal for row in rows)
    header = ["", *columns, *(["goal"] if goals else [])]
    numeric = [False, *(not any(isinstance(row.figures.get(c), str) for row in rows) for c in columns), False]
    lines = [header]
    for row in rows:
        cells = [row.case, *(_cell(row.figures.get(column)) for column in columns)]
        lines.append([*cells, *([str(row.goal or "")] if goals else [])])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numeric, strict=False)
        ).rstrip()
        for line in lines
    )


def save(path: Path, entry: Benchmark, rows: Sequence[Row], facts: dict[str, str], settings: Settings) -> None:
    """Write a benchmark's rows as JSON; timings and ratios keep whether they were cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "benchmark": entry.name,
        "summary": entry.summary,
        "quick": settings.quick,
        "machine": facts,
        "rows": [asdict(row) for row in rows],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def report(message: str) -> None:
    """Say on stderr how far a run has come."""
    print(message, file=sys.stderr, flush=True)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _seconds_text(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds:.0f} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

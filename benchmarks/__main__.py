"""Measure Parcomp against the paper's method and other tools."""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (  # noqa: F401  each enters its benchmarks
    certificates,
    counting,
    custodian,
    encoding,
    error,
    error_peers,
    graph,
    growth,
    live,
    overlap,
    planning,
    service,
    sharing,
    toulbar2,
)
from benchmarks.harness import BENCHMARKS, Benchmark, Goal, Row, Settings, machine_facts, render, report, save

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named, or all: 0, or 1 if one of them failed, or 2 if a name is unknown."""
    arguments = _arguments(argv)
    if arguments.list:
        _print_list()
        return 0
    chosen = _choose(arguments.names)
    if chosen is None:
        return 2
    settings = Settings(arguments.quick, arguments.out)
    facts = machine_facts()
    print("\n".join(f"{name:>10}  {fact}" for name, fact in facts.items()))
    print("\nA warm-up run, which compiles or loads kernels, comes first and is not counted.")
    print("Times are those of the clock on the wall; ratios compare processor time.", flush=True)
    goals: list[Goal] = []
    failed: list[str] = []
    for entry in chosen:
        rows: list[Row] = []
        try:
            _run(entry, settings, rows)
        except Exception:  # the others are worth having, and so are the rows so far
            report(traceback.format_exc())
            failed.append(entry.name)
        print(f"\n{entry.name}: {entry.summary}\n\n{render(rows)}", flush=True)
        save(settings.out / f"{entry.name}.json", entry, rows, facts, settings)
        goals += [row.goal for row in rows if row.goal]
    met = sum(goal.met is True for goal in goals)
    print(f"\n{f'{met} of {len(goals)} goals reached; ' if goals else ''}figures in {settings.out}/")
    if failed:
        print(f"failed, see above: {', '.join(failed)}")
    return 1 if failed else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark or a topic; all if none is given")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and shorter limits: minutes, not hours")
    parser.add_argument("--list", action="store_true", help="list the benchmarks by topic")
    parser.add_argument("--out", type=Path, default=Settings().out, help="directory for JSON files and plots")
    return parser.parse_args(argv)


def _print_list() -> None:
    for topic in dict.fromkeys(entry.topic for entry in BENCHMARKS.values()):
        print(topic)
        for entry in BENCHMARKS.values():
            if entry.topic == topic:
                print(f"  {entry.name:20} {entry.summary}")


def _choose(names: Sequence[str]) -> list[Benchmark] | None:
    entries = list(BENCHMARKS.values())
    unknown = [name for name in names if all(name not in (entry.name, entry.topic) for entry in entries)]
    if unknown:
        report(f"unknown benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
        return None
    return [entry for entry in entries if not names or entry.name in names or entry.topic in names]


def _run(entry: Benchmark, settings: Settings, rows: list[Row]) -> None:
    began = time.perf_counter()
    for row in entry.rows(settings):
        rows.append(row)
        report(f"  {entry.name}: {row.case} ({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    raise SystemExit(main())

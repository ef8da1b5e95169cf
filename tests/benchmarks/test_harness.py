"""Figures as the benchmarks report them."""

from __future__ import annotations

import json
import time
from pathlib import Path

from benchmarks.harness import (
    BENCHMARKS,
    Benchmark,
    Goal,
    Ratio,
    Row,
    Settings,
    Timing,
    limited,
    render,
    repeated,
    save,
    timed,
)


def test_a_cut_off_baseline_gives_a_lower_bound() -> None:
    """A ratio to an unfinished run is marked, and proves a goal only from above."""
    ratio = Ratio.between(Timing(60.0, finished=False), Timing(0.5))
    assert str(ratio) == "≥ 120x"
    assert Goal.at_least(ratio, 100).met is True
    assert Goal.at_least(ratio, 1_000).met is None
    assert Goal.at_least(Ratio(120.0), 1_000).met is False


def test_ratios_compare_processor_time() -> None:
    """What others took from the slower run does not count, nor does sleep."""
    assert Ratio.between(Timing(30.0, cpu=10.0), Timing(1.0, cpu=1.0)).value == 10
    assert timed(time.sleep, 0.2)[1].cpu < 0.1
    assert repeated(sum, range(10), times=3)[0] == 45


def test_limited_ends_what_does_not_stop() -> None:
    """A function that runs on is cut off at the limit; one that returns is timed without its process starting."""
    result, timing = limited(time.sleep, [30], 0.2)
    assert result is None
    assert not timing.finished
    result, timing = limited(sum, [[1, 2, 3]], 30.0)
    assert result == 6
    assert timing.finished
    assert timing.seconds < 1


def test_tables_are_aligned() -> None:
    """Every column starts or ends where its header does, and a verdict stands beside each goal."""
    rows = [
        Row("a", {"n": 5, "time": Timing(0.25)}, Goal("≤ 1 s", True)),
        Row("long name", {"n": 12_345, "time": Timing(12.0)}, Goal("≤ 1 s", False)),
    ]
    assert render(rows).splitlines() == [
        "                n    time  goal",
        "a               5  250 ms  ≤ 1 s ok",
        "long name  12,345  12.0 s  ≤ 1 s short",
    ]


def test_saved_figures_keep_what_was_cut_off(tmp_path: Path) -> None:
    """JSON holds plain numbers, and whether a timing was cut off."""
    rows = [Row("a", {"time": Timing(2.0, finished=False)}, Goal("g", None))]
    entry = Benchmark("name", "topic", "What it is.", lambda settings: iter(rows))
    save(tmp_path / "sub" / "name.json", entry, rows, {"cores": "2"}, Settings())
    saved = json.loads((tmp_path / "sub" / "name.json").read_text(encoding="utf-8"))
    assert saved["rows"] == [
        {
            "case": "a",
            "figures": {"time": {"seconds": 2.0, "finished": False, "cpu": None}},
            "goal": {"text": "g", "met": None},
        }
    ]


def test_goals_for_full_sizes_are_left_out_of_quick_runs() -> None:
    """A quick run neither reaches nor misses a goal stated for another size."""
    goal = Goal("≥ 1,000x", False)
    assert Settings(quick=True).at_full_size(goal) is None
    assert Settings(quick=False).at_full_size(goal) is goal


def test_every_benchmark_has_a_name_and_a_summary() -> None:
    """The command line lists benchmarks of each topic, each under one name that is no topic."""
    import benchmarks.__main__  # noqa: F401, PLC0415  (enters all benchmarks)

    topics = {"counting", "custodian", "encoding", "error", "graph", "growth", "live", "overlap", "planning", "service"}
    assert {entry.topic for entry in BENCHMARKS.values()} == topics
    assert all(entry.summary.endswith(".") and entry.name not in topics for entry in BENCHMARKS.values())

"""Run an experiment to its end, from where an earlier run was cut off: instances, then tables, then pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from parcomp.errors import FileError, ParcompError
from parcomp.experiments.child import Task
from parcomp.experiments.drawing import save_figure
from parcomp.experiments.engines import Engine
from parcomp.experiments.experiment import Experiment, Record
from parcomp.experiments.journal import Journal
from parcomp.experiments.tables import read_table, write_table

__all__ = ["Tell", "draw_again", "run_experiment"]

Tell = Callable[[int, int], None]
"""Told how many of how many instances are measured."""


def run_experiment(
    experiment: Experiment, out: Path, engine: Engine, *, quick: bool = False, tell: Tell | None = None
) -> list[Path]:
    """Measure what the journal in ``out`` does not hold yet; write tables and pictures, and return their paths."""
    instances = experiment.instances(quick)
    with Journal(out / f"{experiment.journal_name}.journal.jsonl") as journal:
        missing = [one for one in instances if journal.get(experiment.key(one)) is None]
        done = len(instances) - len(missing)
        if tell is not None:
            tell(done, len(instances))
        place = str(out.resolve())
        tasks = [
            Task(experiment.name, experiment.key(one), experiment.limit(one), experiment.fresh, place)
            for one in missing
        ]
        for outcome in engine.outcomes(tasks):
            if outcome.failed:
                raise ParcompError(f"{experiment.name}: {outcome.task.key}: {outcome.failed}")
            entry = {"rows": outcome.rows, "ended": outcome.ended, "seconds": round(outcome.seconds, 3)}
            journal.enter(outcome.task.key, entry)
            done += 1
            if tell is not None:
                tell(done, len(instances))
        records = []
        for one in instances:
            kept = journal.get(experiment.key(one))
            assert kept is not None
            records.append(Record(one, kept["rows"], kept["ended"], kept["seconds"]))
    paths = [write_table(out / f"{name}.csv", rows) for name, rows in experiment.tables(records).items()]
    return [*paths, *_draw(experiment, paths)]


def draw_again(experiment: Experiment, out: Path) -> list[Path]:
    """Draw the tables in ``out``, which an earlier run wrote, and return the paths of the pictures; measure nothing."""
    first = out / f"{experiment.name}.csv"
    if not first.exists():
        raise FileError(first, "there is no such table to draw; run the experiment without --draw first")
    return _draw(experiment, [first, *out.glob(f"{experiment.name}-*.csv")])


def _draw(experiment: Experiment, paths: Sequence[Path]) -> list[Path]:
    # Drawn from the files, so that what is seen is what they hold.
    figure = experiment.draw({path.stem: read_table(path) for path in paths})
    return save_figure(figure, paths[0].with_name(experiment.name))

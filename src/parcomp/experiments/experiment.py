"""What an experiment is: a seeded list of small instances, a function from an instance to rows, tables, a drawing.

Rows are plain values, so that they go through a line of JSON and through a CSV file unchanged.  No cell is ever empty:
what could not be measured says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

__all__ = ["Cell", "Experiment", "Record", "Row", "Table", "Tables"]

Cell: TypeAlias = str | int | float
Row: TypeAlias = dict[str, Cell]
Table: TypeAlias = list[Row]
Tables: TypeAlias = dict[str, Table]
"""Tables by the name of their file, without its suffix."""


@dataclass(frozen=True, slots=True)
class Record:
    """What came of an instance, and its processor seconds.

    ``ended`` says why it ended before its time, and is empty if it did not.
    """

    instance: Any
    rows: Table
    ended: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or table of the paper, or one of ours.

    ``instances`` lists frozen dataclasses of numbers and words, of the type ``instance``, for the quick or the full
    form.  ``measure`` yields the rows of an instance one by one, in a process of its own that works in the output
    directory and is killed after ``limit`` processor seconds: what it has yielded by then counts, and ``tables`` is
    told that it was cut off.  ``draw`` makes a figure of tables as they are read from their files.  Experiments of one
    ``journal`` share what they have measured.  With ``fresh`` each instance has a process that did nothing before, as
    whoever measures memory needs.
    """

    name: str
    summary: str
    instance: type
    instances: Callable[[bool], Sequence[Any]]
    measure: Callable[[Any], Iterator[Row]]
    limit: Callable[[Any], float]
    tables: Callable[[Sequence[Record]], Tables]
    draw: Callable[[Tables], Any]
    journal: str = ""
    fresh: bool = False
    version: int = 2

    @property
    def journal_name(self) -> str:
        """The name of the journal's file, without its suffix."""
        return self.journal or self.name

    def key(self, instance: Any) -> dict[str, Any]:
        """What an instance is known by in the journal: its numbers, and the version of what is measured."""
        return {**asdict(instance), "version": self.version}

    def made(self, key: Mapping[str, Any]) -> Any:
        """The instance of a key."""
        return self.instance(**{name: value for name, value in key.items() if name != "version"})

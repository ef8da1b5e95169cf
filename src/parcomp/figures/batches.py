"""The answers of a batch, as a list and as one data frame, whoever hands them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

from parcomp.errors import ArgumentError
from parcomp.figures.figured import Figure, Figured, figure_columns, free_name
from parcomp.tabular import Columns, Tabular, counted

__all__ = ["FiguredBatch"]

One = TypeVar("One", bound=Figured)


@dataclass(frozen=True, slots=True, repr=False)
class FiguredBatch(Tabular, Sequence[One], Generic[One]):
    """Answers in the order of their statements, which are given as they were asked for."""

    answers: tuple[One, ...]
    statements: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.statements):
            raise ArgumentError("a batch has a statement for each answer")

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, place: int) -> One: ...

    @overload
    def __getitem__(self, place: slice) -> Self: ...

    def __getitem__(self, place: int | slice) -> One | Self:
        if isinstance(place, slice):
            return type(self)(self.answers[place], self.statements[place])
        return self.answers[place]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {counted(len(self), 'answer')}>"

    def __str__(self) -> str:
        pairs = zip(self.statements, self.answers, strict=True)
        return "\n\n".join(f"{statement}\n{answer}" for statement, answer in pairs)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw the answers without groups as bars, to a PNG file if a path is given; returns matplotlib's axes."""
        from parcomp.figures.plots import plot_batch  # noqa: PLC0415  matplotlib is an extra

        return plot_batch(self.answers, path, axes)

    def _columns(self) -> Columns:
        """A row for each figure: its statement, its labels as far as it has them, its item, and its numbers."""
        keys = list(dict.fromkeys(column.name for answer in self.answers for column in answer.labels))
        names: dict[str, list[Any]] = {}
        own = [free_name(name, dict.fromkeys(keys)) for name in ("statement", "item")]
        numbers = [free_name(name, dict.fromkeys(keys)) for name in ("value", "low", "high", "expected_error")]
        marked = [free_name("rehearsed", dict.fromkeys(keys))] if any(one.rehearsed for one in self.answers) else []
        for name in (own[0], *keys, own[1], *numbers, *marked):
            names[name] = []
        for statement, answer in zip(self.statements, self.answers, strict=True):
            labels = {column.name: column.values for column in answer.labels}
            for column in answer.measured or (None,):
                rows = len(answer)
                names[own[0]] += [statement] * rows
                names[own[1]] += [None if column is None else column.name] * rows
                for key in keys:
                    names[key] += labels.get(key, (None,) * rows)
                figures = (Figure(None, None, None, None),) * rows if column is None else column.figures or ()
                for name, values in zip(numbers, figure_columns(figures), strict=True):
                    names[name] += values
                for name in marked:
                    names[name] += [answer.rehearsed] * rows
        about = {
            "charges": [answer.charge for answer in self.answers],
            "costs": [answer.cost for answer in self.answers],
        }
        return Columns(names, frozenset(numbers), about)

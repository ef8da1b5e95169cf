"""The answers of a batch, as a list and as one data frame, whoever hands them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

from parcomp.errors import ArgumentError
from parcomp.figures.figured import Figure, Figured, figure_columns, free_name
from parcomp.figures.listing import batch_lines
from parcomp.tabular import Columns, Tabular, counted

__all__ = ["FiguredBatch"]

_ESTIMATES = ("estimate", "estimate_low", "estimate_high")

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
        return "\n".join(batch_lines(self.statements, self.answers))

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw the first figure of each answer, in each of its groups, as bars, to a PNG file if a path is given.

        Estimates are hollow marks beside them.  Returns matplotlib's axes.
        """
        from parcomp.figures.plots import plot_batch  # noqa: PLC0415  matplotlib is an extra

        return plot_batch(self.answers, path, axes)

    def _columns(self) -> Columns:
        """A row for each figure: its statement, its labels as far as it has them, its item, and its numbers."""
        keys = list(dict.fromkeys(column.name for answer in self.answers for column in answer.labels))
        names: dict[str, list[Any]] = {}
        own = [free_name(name, dict.fromkeys(keys)) for name in ("statement", "item")]
        numbers = [free_name(name, dict.fromkeys(keys)) for name in ("value", "low", "high", "expected_error")]
        estimates = [free_name(name, dict.fromkeys(keys)) for name in _ESTIMATES] if self._has_estimates else []
        marked = [free_name("rehearsed", dict.fromkeys(keys))] if any(one.rehearsed for one in self.answers) else []
        by = [free_name("grouped_by", dict.fromkeys(keys))] if self._is_ambiguous else []
        for name in (own[0], *by, *keys, own[1], *numbers, *estimates, *marked):
            names[name] = []
        for statement, answer in zip(self.statements, self.answers, strict=True):
            labels = {column.name: column.values for column in answer.labels}
            for column in answer.measured or (None,):
                rows = len(answer)
                names[own[0]] += [statement] * rows
                names[own[1]] += [None if column is None else column.name] * rows
                for name in by:
                    names[name] += [", ".join(labels)] * rows
                for key in keys:
                    names[key] += labels.get(key, (None,) * rows)
                nothing = (Figure(None, None, None, None),) * rows
                figures = nothing if column is None else column.figures or ()
                told = nothing if column is None else column.estimates or nothing
                for name, values in (
                    *zip(numbers, figure_columns(figures), strict=True),
                    *zip(estimates, figure_columns(told), strict=False),
                ):
                    names[name] += values
                for name in marked:
                    names[name] += [answer.rehearsed] * rows
        about = {
            "charges": [answer.charge for answer in self.answers],
            "costs": [answer.cost for answer in self.answers],
        }
        return Columns(names, frozenset((*numbers, *estimates)), about)

    @property
    def _has_estimates(self) -> bool:
        return any(column.estimates is not None for answer in self.answers for column in answer.measured)

    @property
    def _is_ambiguous(self) -> bool:
        """Whether a missing label may be a group of its own, null, or stand where a statement has no such key."""
        keyed = [{column.name for column in answer.labels} for answer in self.answers]
        nulls = any(None in column.values for answer in self.answers for column in answer.labels)
        return nulls and any(keys != keyed[0] for keys in keyed)

"""Released counts with what all of them say together, whoever hands them out.

Like an answer they are a data frame, a table of text, a table in a notebook and a picture.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from parcomp.errors import one_line
from parcomp.figures.figured import Figure
from parcomp.figures.words import count_in_words
from parcomp.markup import block, error_bar, table
from parcomp.tabular import Columns, Tabular, count_text, counted, decimals_beside, number_text, text_table

__all__ = ["EstimatedCount", "Estimates"]

_TEXT_ROWS = 40
_HTML_ROWS = 100
"""How many rows are listed before the rest is only counted."""

_MOST_DECIMALS = 2
"""A count is whole, so that no more of its estimate says anything."""

_ALL = "to_pandas() has all"


@dataclass(frozen=True, slots=True)
class EstimatedCount:
    """A released count with its estimate: ``raw`` is the answer, and its interval is guaranteed.

    ``where`` says what is counted, and ``id`` is the number of the charge, followed by the place of the count where the
    charge has several.  ``method`` is as in :class:`parcomp.estimation.Estimate`.
    """

    id: str
    value: float
    raw: int | float
    low: float
    high: float
    method: str
    raw_low: int | float
    raw_high: int | float
    charge: int
    where: Mapping[str, Any]

    def __str__(self) -> str:
        estimate, about, raw, held = self.texts()
        return f"{count_in_words(self.where)}: estimate {estimate}, {about}; answer {raw}, {held}"

    @property
    def estimate(self) -> Figure:
        """The estimate with its interval, which is measured."""
        return Figure(self.value, self.low, self.high, None, approximate=True)

    @property
    def answer(self) -> Figure:
        """The answer with its interval, which is guaranteed."""
        return Figure(self.raw, self.raw_low, self.raw_high, None)

    @property
    def decimals(self) -> int:
        """How many decimals its numbers need, so that they stand beside each other."""
        return min(
            decimals_beside([(self.raw, self.raw_low, self.raw_high), (self.value, self.low, self.high)]) or 0,
            _MOST_DECIMALS,
        )

    def texts(self, decimals: int | None = None) -> tuple[str, str, str, str]:
        """The estimate, its interval, the answer and its interval, with one number of decimals, as people read them."""
        some = self.decimals if decimals is None else decimals
        raw = 0 if isinstance(self.raw, int) else some
        return (
            count_text(self.value, some),
            f"{count_text(self.low, some)} to {count_text(self.high, some)}",
            number_text(self.raw, raw),
            f"{number_text(self.raw_low, raw)} to {number_text(self.raw_high, raw)}",
        )


@dataclass(frozen=True, slots=True, repr=False)
class Estimates(Tabular):
    """The counts of an analyst since the last load, in the order of their charges, each with its estimate.

    ``left_out`` is the number of earlier charges that were not taken, as there are too many counts.  ``facts`` is how
    many were given, ``doubts`` say what speaks against these, and ``notes`` what there was no time for.  They are a
    list of counts, a data frame (``to_pandas()``, ``to_polars()`` and ``to_arrow()``), a table (``str``) and a picture
    (``plot()``).
    """

    counts: tuple[EstimatedCount, ...]
    confidence: float
    left_out: int = 0
    facts: int = 0
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[EstimatedCount]:
        return iter(self.counts)

    def __getitem__(self, place: int) -> EstimatedCount:
        return self.counts[place]

    def __repr__(self) -> str:
        return f"<Estimates of {counted(len(self.counts), 'count')}>"

    def __str__(self) -> str:
        return "\n".join([*self.summary, *self.lines(self.counts[:_TEXT_ROWS]), *self._rest(_TEXT_ROWS)])

    @property
    def proven(self) -> bool:
        """Whether it is proven that the error, in units of the noise, is not above that of the answers.

        That is so if the facts are true.
        """
        return all(one.method != "searched projection" for one in self.counts)

    @property
    def summary(self) -> list[str]:
        """How the estimates were come by, what is known of their error, and what was left out, a line for each."""
        if not self.counts:
            return ["no counts since the last load"]
        methods = [one.method for one in self.counts]
        listed = ", ".join(f"{methods.count(name):,} by {name}" for name in dict.fromkeys(methods))
        proven = "not above that of the answers, in units of their noise, in root mean square: proven"
        proven += ", if the facts are true" if self.facts else ""
        error = proven if self.proven else "not proven: more rows may exist than were found"
        left = [f"left out: {counted(self.left_out, 'charge')}, as there are too many counts"] if self.left_out else []
        return [f"{counted(len(self), 'count')}: {listed}", f"error: {error}", *left, *self.notes]

    @property
    def headings(self) -> tuple[str, ...]:
        """Those of the table of counts."""
        percent = f"{100 * self.confidence:g} %"
        return ("number", "statement", "estimate", f"about {percent}", "raw", f"{percent}, guaranteed")

    def lines(
        self,
        counts: Sequence[EstimatedCount],
        words: Callable[[Mapping[str, Any]], str] = count_in_words,
        width: int | None = None,
    ) -> list[str]:
        """Some of the counts as lines of a table, which are no wider than ``width``, as far as numbers allow."""
        if not counts:
            return []
        decimals = max(one.decimals for one in counts)
        rows = [(one.id, one_line(words(one.where)), *one.texts(decimals)) for one in counts]
        return text_table(self.headings, rows, (False, False, True, True, True, True), 1, width).splitlines()

    def as_json(self) -> list[dict[str, Any]]:
        """What ``parcomp estimate -c … --json`` prints, an object for each count."""
        return [asdict(one) for one in self.counts]

    def document(self) -> dict[str, Any]:
        """What a service tells."""
        return {"confidence": self.confidence, "left_out": self.left_out, "estimates": self.as_json()}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Estimates:
        """The estimates that :meth:`document` has told."""
        names = [field.name for field in fields(EstimatedCount)]
        counts = tuple(EstimatedCount(**{name: one[name] for name in names}) for one in document["estimates"])
        return cls(counts, document["confidence"], document["left_out"])

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw the counts with their estimates beside them, to a PNG file if a path is given.

        Returns matplotlib's axes.
        """
        from parcomp.figures.plots import plot_figures  # noqa: PLC0415  matplotlib is an extra

        names = [one.id for one in self.counts]
        answers, estimates = [one.answer for one in self.counts], [one.estimate for one in self.counts]
        return plot_figures(names, answers, estimates, "count", "what all answers say together", path, axes)

    def _repr_html_(self) -> str:
        shown = self.counts[:_HTML_ROWS]
        rows, decimals = [], max((one.decimals for one in shown), default=0)
        for one in shown:
            ends = [0.0, one.raw_low, one.raw_high, one.low, one.high]
            drawn = error_bar(one.value, one.low, one.high, (min(ends), max(ends)))
            rows.append((one.id, count_in_words(one.where), *one.texts(decimals), drawn))
        listed = table((*self.headings, ""), rows, (False, False, True, True, True, True, False)) if rows else ""
        return block(*self.summary, listed, *self._rest(_HTML_ROWS))

    def _rest(self, most: int) -> list[str]:
        return [f"… {len(self) - most:,} more; {_ALL}"] if len(self) > most else []

    def _columns(self) -> Columns:
        names = [field.name for field in fields(EstimatedCount)]
        values = {name: [getattr(one, name) for one in self.counts] for name in names}
        values["where"] = [json.dumps(where, ensure_ascii=False) for where in values["where"]]
        about = {"confidence": self.confidence, "left_out": self.left_out}
        return Columns(values, frozenset(names) - {"id", "where", "method"}, about)

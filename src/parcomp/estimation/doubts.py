"""Whether facts are of this table, what noise does not explain where they are met, and what there was no time for.

Estimates keep to facts whatever the answers say, so a fact of another table, or of another day, moves everything that
hangs together with it.  The truth is one of the tables that have all true facts.  So where facts are true the nearest
possible answers are no further off than the noise, all of them together, and the answer to the query of a fact is off
by its own noise.  What goes far beyond that is told.  It follows from released answers and public counts alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from parcomp.estimation.rows import Floats
from parcomp.figures import count_in_words
from parcomp.model import Query
from parcomp.tabular import counted, rounded_text

__all__ = ["distance_in_noise", "doubts_of", "notes_on_time"]

_FAR = 6.0
"""So many standard deviations Laplace noise exceeds once in 5,000 answers, and Gaussian noise never."""

_TOGETHER = 5.0
"""How many times the size of the noise answers move together, root mean square, before it is told."""

_TOLD = 5
"""So many facts are named."""

_LONGER, _LEAST_LONGER = 5.0, 60.0
"""How many times the time, and how many seconds at least, are worth a try where it was up."""


def doubts_of(
    queries: Sequence[Query], answers: Floats, deviations: Floats, moved: float, facts: Mapping[Query, float]
) -> tuple[str, ...]:
    """What speaks against facts, in words; ``moved`` is how far answers move, root mean square, in sizes of noise."""
    if not facts:
        return ()
    worst: dict[Query, tuple[float, float]] = {}
    for query, answer, deviation in zip(queries, answers.tolist(), deviations.tolist(), strict=True):
        if deviation > 0 and query in facts and abs(facts[query] - answer) > _FAR * deviation:
            worst[query] = max(worst.get(query, (0.0, answer)), (abs(facts[query] - answer) / deviation, answer))
    off = sorted(worst.items(), key=lambda one: -one[1][0])
    said = [
        f"the fact {facts[query]:,.10g} for the {count_in_words(query.where())} is {rounded_text(times, 3)} standard "
        f"deviations of the noise away from the answer {answer:,.10g}: is it a fact of this table?"
        for query, (times, answer) in off[:_TOLD]
    ]
    if len(off) > _TOLD:
        said.append(f"{len(off) - _TOLD:,} more facts are as far from their answers")
    if math.isfinite(moved) and moved > _TOGETHER:
        said.append(
            f"to meet the facts, the answers move by {rounded_text(moved, 3)} times what their noise explains, root "
            "mean square: are these facts of this table? Compare them with the answers, and leave out those that are "
            "of another"
        )
    return tuple(said)


def notes_on_time(values: Floats, answers: Floats, time_limit: float, *, exact: bool) -> tuple[str, ...]:
    """What is to be said where the time was up; ``exact`` tells whether there are facts, or answers without noise."""
    kept = int((values == answers).sum())
    longer = max(_LONGER * time_limit, _LEAST_LONGER)
    said = [
        f"time was up: {kept:,} of {counted(len(values), 'count')} are as they were released; try a longer time limit "
        f"(--time-limit {longer:.4g})"
    ]
    if exact:
        said.append(
            "facts were not reached within the time for the other counts, which need not fit them; try a longer time "
            f"limit (--time-limit {longer:.4g})"
        )
    return tuple(said)


def distance_in_noise(distance: float, weights: Floats, deviations: Floats) -> float:
    """A weighted distance in sizes of the noise, of answers that have some."""
    size = math.sqrt(float(np.sum(weights * deviations**2)))
    return distance / size if size > 0 else 0.0

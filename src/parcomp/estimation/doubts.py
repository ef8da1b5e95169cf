"""Whether facts are of this table: what noise does not explain where they are met.

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
from parcomp.model import Query
from parcomp.tabular import rounded_text

__all__ = ["distance_in_noise", "doubts_of"]

_FAR = 6.0
"""So many standard deviations Laplace noise exceeds once in 5,000 answers, and Gaussian noise never."""

_TOGETHER = 5.0
"""How many times the size of the noise answers move together, root mean square, before it is told."""

_TOLD = 5
"""So many facts are named."""


def doubts_of(
    queries: Sequence[Query], answers: Floats, deviations: Floats, moved: float, facts: Mapping[Query, float]
) -> tuple[str, ...]:
    """What speaks against facts, in words; ``moved`` is how far answers move, root mean square, in sizes of noise."""
    if not facts:
        return ()
    off = [
        (abs(facts[query] - answer) / deviation, query, answer)
        for query, answer, deviation in zip(queries, answers.tolist(), deviations.tolist(), strict=True)
        if deviation > 0 and query in facts and abs(facts[query] - answer) > _FAR * deviation
    ]
    said = [
        f"the fact {facts[query]:,.10g} for {_in_words(query)} is {rounded_text(times, 3)} standard deviations of the "
        f"noise away from the answer {answer:,.10g}: is it a fact of this table?"
        for times, query, answer in sorted(off, key=lambda one: -one[0])[:_TOLD]
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


def distance_in_noise(distance: float, weights: Floats, deviations: Floats) -> float:
    """A weighted distance in sizes of the noise, of answers that have some."""
    size = math.sqrt(float(np.sum(weights * deviations**2)))
    return distance / size if size > 0 else 0.0


def _in_words(query: Query) -> str:
    written = ", ".join(f"{name}: {one}" for name, one in query.where().items())
    return written or "every row"

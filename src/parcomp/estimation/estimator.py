"""Estimates: the possible answers nearest to noisy ones, with intervals.

Noisy answers contradict each other: counts below 0, parts that exceed their whole.  The true answers are those of some
table, so the nearest answers that some table could have are no further from the truth, in root mean square over the
workload, whatever the noise was (``docs/proofs/projection.md``).  They follow from what was released already, so they
cost nothing.

*Intervals.*  The raw interval of an answer holds the true count with the stated probability at least.  That of an
estimate is narrower on average, and rests on the bootstrap: noise is drawn again about the estimates, each draw is
projected, and the root mean square of how far that leads is taken for the standard error.  It is measured, not
guaranteed (``docs/error.md``), and not cut down to the raw one where it is wider: the narrower of both for each answer
would hold too rarely, as what is too narrow by chance would stay.

*Strategies.*  Answers of a strategy have noise that goes together.  They are projected as others are, in the plain
norm, whose error is what counts: in the norm of the covariance, which asks for the likeliest answers, their error is a
tenth to a fifth larger on census samples, and it may exceed that of the raw answers.  Noise is drawn again for all of
them at once.

*Weights.*  Where some answers are far more accurate than others, the plain norm spoils them for the others' sake.  With
a weight for each answer the same holds of the weighted norm: :func:`estimate_weighted`, which
:mod:`parcomp.estimation.accuracy` is for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, identity, vstack
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from parcomp.errors import ArgumentError, shown
from parcomp.estimation.doubts import distance_in_noise, doubts_of, notes_on_time
from parcomp.estimation.noises import LARGEST, Noise, Separate, noise_of, noise_said_by, noise_under, scales_by_cost
from parcomp.estimation.probability import check_probability
from parcomp.estimation.problem import Problem, Progress
from parcomp.estimation.projection import Projection
from parcomp.estimation.rows import Floats
from parcomp.estimation.shown import estimate_html, estimate_text, plot_estimate
from parcomp.figures import EstimatedCount
from parcomp.model import Query, QueryId, Workload, entries_for
from parcomp.noise import JointNoise, joint_noise
from parcomp.planning import Plan
from parcomp.tabular import Columns, Tabular

__all__ = ["METHODS", "Estimate", "PerAnswer", "Progress", "estimate", "estimate_weighted"]

PerAnswer: TypeAlias = float | Sequence[float] | Mapping[QueryId, float] | Floats
"""One number for all queries, one for each in order, or one for each by id."""
METHODS: Final = ("projection", "searched projection", "partial projection", "cut at 0", "fact", "contradiction")
"""Where a value may come from."""

_CONFIDENCE: Final = 0.95
"""Of raw intervals, where no others are asked for."""

_PROJECTION_SHARE: Final = 0.7
"""The part of the time that the projection may take; the rest is for intervals."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Tabular):
    """What noisy answers say together.

    ``values[i]`` is the estimate of query ``i`` and ``intervals[i]`` its ends; ``raw`` and ``raw_intervals`` are the
    answer as it was and the interval that holds the true count with probability ``confidence`` at least.  ``methods``
    say where a value comes from:

    - *projection*: the nearest possible answers; proven: the root mean square error is not above that of ``raw``.
    - *searched projection*: the nearest over all rows that were found; that no other row matters is not proven.
    - *partial projection*: as near as was proven when the time was up, at least each answer below 0 taken for 0.  The
      root mean square error is not above that of ``raw``; intervals are as wide as the raw ones.
    - *cut at 0*: the answer itself, or 0; it is far less accurate than others that it would be taken together with.
    - *fact*: it was given as exact, or a fact states the same query; that is its value, also where the time was up.
    - *contradiction*: no row satisfies the query, so its count is 0.

    The exact projection moves the answers by at least ``lower`` and at most ``upper``, in Euclidean distance.  Where
    nothing said of which kind the noise is, it is ``noise_assumed``, and raw intervals hold if the assumption does.
    """

    workload: Workload
    noise: Noise
    confidence: float
    values: Floats
    intervals: Floats
    raw: Floats
    raw_intervals: Floats
    methods: tuple[str, ...]
    lower: float
    upper: float
    rounds: int
    rows: int
    seconds: float
    noise_assumed: bool = False
    sums: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """Of weighted sums of the counts that were asked for, the estimate and the ends of its interval."""
    facts: int = 0
    """How many facts were given: what is proven is proven if they are true."""
    moved: float = 0.0
    """How far the answers move, root mean square, as a part of what noise is, each weighed as in the distance."""
    doubts: tuple[str, ...] = ()
    """What speaks against the facts: that noise does not explain how far answers are from them."""
    notes: tuple[str, ...] = ()
    """Where the time was up: how many counts are as they were released, and that they do not meet the facts."""

    def __repr__(self) -> str:
        counts = {name: self.methods.count(name) for name in dict.fromkeys(self.methods)}
        listed = ", ".join(f"{count:,} by {name}" for name, count in counts.items())
        doubted = "; the facts are in doubt" if self.doubts else ""
        return f"<Estimate of {len(self.values):,} queries: {listed or 'none'}; moved by {self.upper:,.4g}{doubted}>"

    def __str__(self) -> str:
        return estimate_text(self)

    def _repr_html_(self) -> str:
        return estimate_html(self)

    def listed(self, position: int) -> EstimatedCount:
        """What is told of the query at a position."""
        numbers = (self.values, self.raw, *self.intervals.T, *self.raw_intervals.T)
        value, raw, low, high, raw_low, raw_high = (float(one[position]) for one in numbers)
        name, where = str(self.workload.id_of(position)), self.workload[position].where()
        return EstimatedCount(name, value, raw, low, high, self.methods[position], raw_low, raw_high, 0, where)

    def plot(self, path: str | Path | None = None, *, axes: Any = None) -> Any:
        """Draw the answers with the estimates beside them, to a PNG file if a path is given.

        Returns matplotlib's axes.
        """
        return plot_estimate(self, path, axes)

    @property
    def proven(self) -> bool:
        """Whether it is proven that the workload's root mean square error is not above that of the raw answers.

        That is so if the facts are true.
        """
        return "searched projection" not in self.methods

    def as_json(self) -> list[dict[str, Any]]:
        """What ``parcomp estimate --json`` prints, an object for each query."""
        columns = self._columns().values
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _columns(self) -> Columns:
        values = {
            "id": list(self.workload.ids),
            "value": self.values.tolist(),
            "raw": self.raw.tolist(),
            "low": self.intervals[:, 0].tolist(),
            "high": self.intervals[:, 1].tolist(),
            "method": list(self.methods),
            "raw_low": self.raw_intervals[:, 0].tolist(),
            "raw_high": self.raw_intervals[:, 1].tolist(),
        }
        about = {
            "confidence": self.confidence,
            "noise": self.noise,
            "noise_assumed": self.noise_assumed,
            "lower": self.lower,
            "upper": self.upper,
        }
        return Columns(values, frozenset(values) - {"id", "method"}, about)


def estimate(
    workload: Workload | Plan,
    answers: PerAnswer,
    scales: PerAnswer | None = None,
    *,
    noise: str | None = None,
    interval: float | None = 0.95,
    facts: Mapping[Query, float] | None = None,
    outside: bool = False,
    time_limit: float = 60.0,
    seed: int = 1,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate true counts from noisy answers: the nearest answers that some table could have.

    ``scales`` are those of the noise: σ where ``noise`` is ``"gaussian"``, b where it is ``"laplace"``, and 0 for an
    answer that is exact.  Without them they follow from what the queries cost; without ``noise`` it is Laplace where
    queries cost ε, Gaussian where they cost ρ or μ, and assumed to be Gaussian otherwise.  Of answers that were
    released by a plan, the plan in place of its workload says all of this: the answers of a strategy have noise that
    goes together.

    ``facts`` are public counts of other queries, such as the number of rows; where answers are much further from them
    than noise explains, the estimate has ``doubts``.  With ``outside`` the table may have values that the domain does
    not declare, which a predicate that lists every declared value leaves out.  Answers, facts and scales are at most
    10¹⁵ in size, and what is exact must not contradict itself.  ``interval`` is how often intervals shall hold the true
    count; with None they are as wide as the raw ones, which takes less time.  Equal arguments give equal estimates, if
    the time suffices.

    >>> import parcomp as pc
    >>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    >>> workload = pc.Workload(domain, [domain.query(), domain.query(sex="F"), domain.query(sex="M")])
    >>> found = estimate(workload, answers=[100, 70, 45], scales=10)
    >>> found.values.round(2)
    array([105.,  65.,  40.])
    >>> estimate(workload, [100, 70, 45], 10, facts={domain.query(): 100}).values.round(2)
    array([100. ,  62.5,  37.5])
    """
    raw = _per_query(workload.workload if isinstance(workload, Plan) else workload, answers, "an answer")
    assumed = noise is None and not isinstance(workload, Plan) and noise_said_by(workload) is None
    workload, kind, joint = _asked(workload, scales, noise)
    found = estimate_weighted(
        workload,
        raw,
        joint,
        kind=kind,
        interval=interval,
        facts=facts,
        outside=outside,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
    )
    said = doubts_of(list(workload), raw, joint.deviations, found.moved, {} if facts is None else facts)
    return replace(found, noise_assumed=assumed, doubts=said)


def estimate_weighted(
    workload: Workload,
    answers: Floats,
    noise: JointNoise,
    weights: Floats | None = None,
    *,
    kind: Noise,
    sums: csr_array | None = None,
    interval: float | None = 0.95,
    facts: Mapping[Query, float] | None = None,
    outside: bool = False,
    time_limit: float = 60.0,
    seed: int = 1,
    progress: Progress | None = None,
) -> Estimate:
    """The same of answers whose noise is known altogether, nearest in a norm with these weights, above 0 and at most 1.

    With weights, ``lower`` and ``upper`` are distances in that norm, and what is proven is proven of it.  ``sums`` has
    a row of weights for each further count that is a sum of the queries'; if the time is up, these have no estimates.
    """
    began = time.monotonic()
    confidence = check_probability(_CONFIDENCE if interval is None else interval)
    if not (isinstance(time_limit, (int, float)) and 0 < time_limit < math.inf):
        raise ArgumentError(f"a time limit must be a positive number of seconds, not {shown(time_limit)}")
    deviation = noise.deviations
    tell = progress if progress is not None else lambda _: None
    each = np.ones(len(workload)) if weights is None else weights
    problem = Problem(workload, answers, deviation, each, {} if facts is None else facts, outside)
    with threadpool_limits(1, "blas"):
        deadline = began + time_limit
        projection = problem.project(began + _PROJECTION_SHARE * time_limit, tell)
        method = _method(projection)
        noisy = problem.noisy
        raw_half = noise.half_widths_up(confidence)
        half, half_of_sums = np.zeros(len(workload)), None
        half[noisy] = raw_half[noisy]
        if len(noisy) and interval is not None and method != "partial projection":
            wanted = csr_array(identity(len(workload), format="csr")[noisy])
            wanted = wanted if sums is None else csr_array(vstack((wanted, sums)))
            errors, draws = problem.errors(projection, noise, wanted, deadline, seed, tell)
            # Student's quantile: a standard error from so many draws is itself uncertain.
            errors *= float(stdtrit(draws, (1 + confidence) / 2))
            half[noisy], half_of_sums = errors[: len(noisy)], errors[len(noisy) :]
    values = problem.values
    # A sum of counts is below 0 by rounding alone.
    found = np.maximum(projection.possible, 0.0) if method == "searched projection" else projection.values
    values[noisy] = found[: len(noisy)]
    summed = np.zeros((0, 3))
    if sums is not None and half_of_sums is not None:
        summed = _with_ends(np.maximum(sums @ values, 0.0), half_of_sums)
    late = notes_on_time(values, answers, time_limit, exact=bool(facts) or bool((deviation == 0).any()))
    methods = np.where(workload.contradictory(), "contradiction", "fact").astype(object)
    methods[noisy] = method
    return Estimate(
        workload=workload,
        noise=kind,
        confidence=float(confidence),
        values=values,
        intervals=_with_ends(values, half)[:, 1:],
        raw=answers,
        raw_intervals=np.column_stack((answers - raw_half, answers + raw_half)),
        methods=tuple(methods.tolist()),
        lower=projection.lower,
        upper=projection.upper,
        rounds=projection.rounds,
        rows=len(problem.pool),
        seconds=time.monotonic() - began,
        sums=summed,
        facts=0 if facts is None else len(facts),
        moved=distance_in_noise(_at_least(projection), each[noisy], deviation[noisy]),
        notes=() if projection.ended or method != "partial projection" else late,
    )


def _asked(asked: Workload | Plan, scales: PerAnswer | None, noise: str | None) -> tuple[Workload, Noise, JointNoise]:
    """The workload, the kind of the noise, and all that is known of it."""
    if isinstance(asked, Plan):
        if scales is not None or noise is not None:
            raise ArgumentError("a plan says what noise its answers have: give neither scales nor noise with it")
        if asked.strategy != "independent":
            return asked.workload, noise_under(asked.measure.name), joint_noise(asked)
        asked = asked.priced()
    kind = noise_of(asked, noise)
    if scales is None and noise_said_by(asked) not in (None, kind):
        raise ArgumentError(f"what the queries cost buys {noise_said_by(asked)} noise, not {kind}; give its scales")
    wide = scales_by_cost(asked) if scales is None else _per_query(asked, scales, "a scale")
    if (wide < 0).any():
        raise ArgumentError(f"a scale must not be below 0, as {float(wide.min()):g} is")
    return asked, kind, Separate(kind, wide)


def _with_ends(values: Floats, half: Floats) -> Floats:
    """Estimates with the ends of their intervals, which hold nothing below 0."""
    return np.column_stack((values, np.maximum(values - half, np.minimum(values, 0.0)), values + half))


def _at_least(projection: Projection) -> float:
    """How far answers move at least: where pricing has ended, as far as those of the pool, by all appearances."""
    return projection.upper if projection.ended else projection.lower


def _method(projection: Projection) -> str:
    if projection.proven:
        return "projection"
    return "searched projection" if projection.plausible else "partial projection"


def _per_query(workload: Workload, given: PerAnswer, what: str) -> npt.NDArray[np.float64]:
    """One number for each query, in order."""
    entries = entries_for(workload, given, what, complete=True)
    for entry in entries:
        number = isinstance(entry, (int, float, np.integer, np.floating)) and not isinstance(entry, bool)
        if not number or not -LARGEST <= entry <= LARGEST:
            raise ArgumentError(f"{what} must be a number between -1e15 and 1e15, not {shown(entry)}")
    return np.array(entries, np.float64)

"""What a workload discloses: its loss by maximum overlap, with the sequential loss beside it (paper §2.4).

In additive units a row that satisfies the queries S is protected up to Σ cost(S), so the loss against adding or
removing one row is the maximum overlap γ.  It is charged by its proven upper bound.

*Replacing a row* x by y changes the counts that cover exactly one of the two, each by one.  These cost at most Σ
cost(S_x) + Σ cost(S_y) ≤ 2γ, and never more than all queries together: min(2γ, total).  This rests on each mechanism
reading nothing but its count, which a replacement moves by at most one.

*With up to k rows per person* a count moves by n_q ≤ k.  Pure: Σ ε_q·n_q is a sum over the person's rows of their
overlaps, at most k·γ.  zCDP and GDP: a count that moves by n costs n² times as much (group privacy), and n_q² ≤ k·Σ_j
[row j satisfies q], so Σ cost_q·n_q² ≤ k·k·γ.  Both are attained by k copies of the heaviest row: no smaller factor
holds for any workload of counts, unless something is known of which rows a person can own together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from parcomp.costs import short_up
from parcomp.errors import ArgumentError
from parcomp.model import Workload
from parcomp.overlap import WorkloadOverlap
from parcomp.privacy.measures import MeasureName, Neighbours, check_rows_per_person, find_measure, workload_units

__all__ = ["PrivacyLoss", "guarantee_in_words", "neighbor_units", "privacy_loss"]

_ELSEWHERE: Final = {
    "rdp": "Rényi differential privacy has a loss for each order: use parcomp.privacy.renyi_loss",
    "approx": "approximate differential privacy adds up two numbers: use parcomp.privacy.approximate_loss",
}


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """The loss of a workload in the parameter of a measure (ε, ρ or μ).

    ``loss`` is proven and what is charged; the true loss is not below ``lower`` where ``exact`` is false.
    ``sequential`` is what all queries together would be charged without regard to overlap, and ``saved`` = 1 −
    loss/sequential.  ``units`` is the loss in additive units.
    """

    measure: MeasureName
    loss: int | float
    lower: int | float
    sequential: int | float
    saved: float
    exact: bool
    neighbours: Neighbours
    rows_per_person: int
    queries: int
    units: int
    seconds: float

    def __repr__(self) -> str:
        quality = "exact" if self.exact else f"at least {self.lower:,}"
        return f"<PrivacyLoss of {self.queries:,} queries: {self.guarantee}; {quality}, {self.saved:.1%} saved>"

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        return guarantee_in_words(self.measure, self.loss, self.neighbours, self.rows_per_person)

    def as_json(self) -> dict[str, Any]:
        """The answer as the command line's ``--json`` prints it."""
        return {
            "measure": self.measure,
            "loss": self.loss,
            "sequential": self.sequential,
            "saved": self.saved,
            "exact": self.exact,
            "neighbours": self.neighbours,
        }


def privacy_loss(
    workload: Workload,
    measure: MeasureName = "pure",
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    rows_per_person: int = 1,
    time_limit: float = 60.0,
    *,
    progress: Callable[[int | float, int | float], None] | None = None,
) -> PrivacyLoss:
    """The loss of answering a workload, by its maximum overlap.

    Costs stated as ``weight`` are taken to be in the measure's additive unit (μ² for Gaussian differential privacy);
    see :func:`~parcomp.privacy.measures.workload_units` for the others.  ``progress`` is told the bracket of γ, in
    additive units, now and then.

    >>> from parcomp.samples import paper_example
    >>> privacy_loss(paper_example(), "gdp").loss, privacy_loss(paper_example(), "pure", "replace-one").loss
    (1.7320508075688774, 6)
    """
    began = time.monotonic()
    if isinstance(measure, str) and measure in _ELSEWHERE:
        raise ArgumentError(_ELSEWHERE[measure])
    kind = find_measure(measure)
    relation = Neighbours(neighbours)
    rows = check_rows_per_person(rows_per_person)
    units = workload_units(workload, kind)

    def tell(lower: int, upper: int) -> None:
        if progress is not None:
            progress(kind.parameter_down(lower), kind.parameter_up(upper))

    overlap = WorkloadOverlap(workload)
    bracket = overlap.within_time(units, began + time_limit, None if progress is None else tell)
    satisfiable = overlap.total(units)
    everything = int(sum(units.tolist()))

    def charged(gamma: int) -> int:
        return kind.group(neighbor_units(gamma, satisfiable, relation), rows)

    upper, lower = charged(bracket.upper), charged(bracket.lower)
    loss, sequential = kind.parameter_up(upper), kind.parameter_up(kind.group(everything, rows))
    return PrivacyLoss(
        measure=kind.name,
        loss=loss,
        lower=loss if lower == upper else kind.parameter_down(lower),
        sequential=sequential,
        saved=1 - loss / sequential if sequential else 0.0,
        exact=lower == upper,
        neighbours=relation,
        rows_per_person=rows,
        queries=len(workload),
        units=upper,
        seconds=time.monotonic() - began,
    )


def guarantee_in_words(
    measure: MeasureName,
    loss: int | float,
    neighbours: Neighbours | str,
    rows_per_person: int,
    *,
    bounded: bool = False,
    implied: str = "",
) -> str:
    """A guarantee, with the neighbor relation that it is about.

    ``bounded`` says that no more rows of a person were taken; otherwise that nobody has more is an assumption.
    ``implied`` is another form of the loss, such as an ε at a δ.

    >>> guarantee_in_words("zcdp", 0.5, "replace-one", 1)
    'zCDP with ρ = 0.5 against replacing one row, assuming that nobody has more'
    >>> guarantee_in_words("pure", 1, "add-remove", 3)
    'pure DP with ε = 1 against adding or removing up to 3 rows of one person, assuming that nobody has more'
    """
    name = {"pure": "pure DP", "zcdp": "zCDP", "gdp": "Gaussian DP"}[measure]
    relation = "adding or removing" if Neighbours(neighbours) is Neighbours.ADD_REMOVE else "replacing"
    rows = "one row" if rows_per_person == 1 else f"up to {rows_per_person:,} rows of one person"
    rows += ", assuming that nobody has more"
    if bounded:
        taken = "row is" if rows_per_person == 1 else "rows are"
        rows = f"all rows of one person, of which at most {rows_per_person:,} {taken} taken"
    amount = f"{find_measure(measure).symbol} = {short_up(loss)}" + (f" ({implied})" if implied else "")
    return f"{name} with {amount} against {relation} {rows}"


def neighbor_units(gamma: int, total: int, neighbours: Neighbours | str) -> int:
    """What the maximum overlap γ means under a neighbor relation, in units; ``total`` is the sum of all costs."""
    return gamma if Neighbours(neighbours) is Neighbours.ADD_REMOVE else min(2 * gamma, total)

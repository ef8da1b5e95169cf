"""Two small workloads to try things on: the paper's example, and samples of a census workload."""

from __future__ import annotations

import numpy as np

from parcomp.model.attribute import Binned, Categorical
from parcomp.model.domain import Domain
from parcomp.model.notation import between
from parcomp.model.workload import Workload

__all__ = ["census_choices", "census_domain", "census_sample", "paper_example"]

_INCOME_RANGES = 5_000
_INCOME_WIDTH = 150
_MARITAL = ("never married", "married", "divorced", "widowed")
_RACES = tuple(f"race {number}" for number in range(1, 8))
_GENDERS = ("F", "M")


def census_domain() -> Domain:
    """The census-like domain of paper §7.2: 1.4 million rows."""
    return Domain(
        {
            "income": Binned(0, _INCOME_RANGES * _INCOME_WIDTH, bins=_INCOME_RANGES),
            "age": Binned(0, 100, bins=5),
            "marital": Categorical(_MARITAL),
            "race": Categorical(_RACES),
            "gender": Categorical(_GENDERS),
        },
        name="census",
    )


def census_choices() -> dict[str, list[object]]:
    """What a census query may ask of each attribute; None is "all elements"."""
    return {
        "income": [between(0, _INCOME_WIDTH * upper) for upper in range(1, _INCOME_RANGES + 1)],
        "age": [None, *range(0, 100, 20)],
        "marital": [None, *_MARITAL],
        "race": [None, *_RACES],
        "gender": [None, *_GENDERS],
    }


def census_sample(t: int, seed: int) -> Workload:
    """``t`` census queries drawn as in paper §7.2: i, a, m, r and g uniform and independent."""
    rng = np.random.default_rng(seed)
    domain, choices = census_domain(), census_choices()
    drawn = np.column_stack([rng.integers(0, len(choice), t) for choice in choices.values()]).tolist()
    queries = []
    for positions in drawn:
        written = {name: choice[i] for (name, choice), i in zip(choices.items(), positions, strict=True)}
        queries.append(domain.query({name: value for name, value in written.items() if value is not None}))
    return Workload(domain, queries)


def paper_example() -> Workload:
    """The six queries of the paper's appendix on hypergraphs: γ = ω = 3, seven overlapping pairs."""
    domain = Domain({"postcode": Categorical(["A", "B", "C"]), "native": Categorical(["Y", "N"])}, name="paper")
    return Workload(
        domain,
        [
            domain.query(postcode="A", native="Y"),
            domain.query(postcode=["A", "B"]),
            domain.query(postcode=["A", "C"], native="N"),
            domain.query(native="Y"),
            domain.query(postcode="C"),
            domain.query(postcode="B", native="N"),
        ],
        ids=[f"q{number}" for number in range(1, 7)],
    )

"""Things to try Parcomp on: the paper's example, samples of a census workload, and a synthetic census table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.model import Binned, Categorical, Domain, Workload, between

__all__ = [
    "census_choices",
    "census_codes",
    "census_domain",
    "census_sample",
    "census_table",
    "paper_example",
    "true_counts",
]

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


def census_table(rows: int, seed: int) -> dict[str, npt.NDArray[np.generic]]:
    """A synthetic table over :func:`census_domain`, column by column; it describes nobody.

    Ages are whole years with a median near 40; marital status follows age, and the median income rises from 18,000 in
    the twenties to 45,000 around fifty and is log-normal about it.  Race and gender are drawn independently, the races
    in shares that halve from one to the next.

    >>> census_table(50_000, seed=1)["age"][:3].tolist()
    [45, 45, 59]
    """
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.gamma(shape=4.0, scale=10.5, size=rows), 99).astype(np.int64)
    share = np.clip((age[:, None] - [18, 45, 60]) / [30.0, 60.0, 60.0], 0, 1) * [0.75, 0.5, 0.6]
    drawn = rng.random((rows, 3)) < share
    # Widowed stands above divorced, and divorced above married, where more than one was drawn.
    status = np.select([drawn[:, 2], drawn[:, 1], drawn[:, 0]], [3, 2, 1], default=0)
    median = 18_000 + 27_000 * np.exp(-(((age - 50) / 18.0) ** 2))
    income = np.where(age < 16, 0, median * rng.lognormal(0.0, 0.6, rows))
    halves = 0.5 ** np.arange(len(_RACES))
    return {
        "income": np.minimum(income, _INCOME_RANGES * _INCOME_WIDTH - 1).astype(np.int64),
        "age": age,
        "marital": np.array(_MARITAL)[status],
        "race": rng.choice(_RACES, rows, p=halves / halves.sum()),
        "gender": rng.choice(_GENDERS, rows),
    }


def census_codes(table: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[np.int64]]:
    """The columns of :func:`census_table` as codes of the domain's values."""
    codes = []
    for name, attribute in census_domain().attributes.items():
        if isinstance(attribute, Categorical):
            values, place = np.unique(table[name], return_inverse=True)
            known = {value: code for code, value in enumerate(attribute.values)}
            codes.append(np.array([known[value] for value in values.tolist()], np.int64)[place])
        elif isinstance(attribute, Binned):
            # Bins of whole numbers, the first of which begins at 0.
            codes.append(table[name].astype(np.int64) * attribute.size // (int(attribute.high) - int(attribute.low)))
    return codes


def true_counts(workload: Workload, codes: Sequence[npt.NDArray[np.int64]]) -> list[int]:
    """How many rows of a table satisfy each query; the table is given as codes, column by column.

    >>> women = census_domain().query(gender="F")
    >>> true_counts(Workload(census_domain(), [women]), census_codes(census_table(50_000, seed=1)))
    [25020]
    """
    counts = []
    for query in workload:
        inside = np.ones(len(codes[0]), np.bool_)
        for attribute, predicate in query.terms:
            inside &= predicate.flags()[codes[attribute]]
        counts.append(int(inside.sum()))
    return counts


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

"""Figures of many draws of noise for the same rows, and what the rows have in truth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from parcomp.custodian.release import Release
from parcomp.figures import Figure
from parcomp.model import Categorical, Condition, Domain, Grouping, Integer, Item, Statement, Stepped
from parcomp.noise import Mechanism
from parcomp.privacy.measures import MEASURES
from tests.custodian.test_division import SETTINGS
from tests.data.coded_rows import expected

__all__ = [
    "COSTS",
    "CURVED",
    "DOMAIN",
    "EXACT",
    "QUANTILES",
    "RATIOS",
    "Draws",
    "Row",
    "coverage",
    "drawn",
    "drawn_together",
    "rows_of",
    "truth",
    "values_of",
]

Row = tuple[int, int, int]

DOMAIN = Domain(
    {
        "group": Categorical(["a", "b", "c"]),
        "age": Integer(0, 119),
        "pay": Stepped("-2.5", "40", "0.5", nullable=True),
    }
)
COSTS = {"pure": 4 * 10**8, "zcdp": 8 * 10**7, "gdp": 16 * 10**7}
"""An ε of 0.4, a ρ of 0.08 and a μ of 0.4."""

QUANTILES = [Item("quantile", "age", Fraction(place)) for place in ("1/10", "1/2", "9/10")]
EXACT = [Item("count"), Item("sum", "age"), Item("sum", "pay"), Item("distinct", "age")]
RATIOS = [Item("average", "age"), Item("average", "pay")]
CURVED = [Item("variance", "age"), Item("deviation", "age"), Item("variance", "pay", sample=False)]


def rows_of(many: int, seed: int) -> list[Row]:
    """Codes of rows whose ages are far from even; some have no pay."""
    chance = np.random.default_rng(seed)
    ages = np.clip(np.rint(chance.gamma(3, 13, many)), 0, 119).astype(int)
    pays = np.clip(np.rint(chance.normal(50, 14, many)), 0, 87).astype(int)
    return [(int(g), int(a), int(p)) for g, a, p in zip(chance.integers(0, 3, many), ages, pays, strict=True)]


def truth(item: Item, values: Sequence[Any]) -> float:
    """What an item is of some values, of which it is told what they are."""
    match item.kind:
        case "count":
            return len(values)
        case "sum":
            return sum(values)
        case "average":
            return statistics.fmean(values)
        case "variance":
            return statistics.variance(values) if item.sample else statistics.pvariance(values)
        case "deviation":
            return statistics.stdev(values) if item.sample else statistics.pstdev(values)
        case "distinct":
            return len(set(values))
    assert item.at is not None
    return sorted(values)[max(math.ceil(item.at * len(values)), 1) - 1]


def values_of(item: Item, rows: Sequence[tuple[int, ...]]) -> list[Any]:
    if item.attribute is None:
        return list(rows)
    attribute = DOMAIN.attributes[item.attribute]
    codes = [row[DOMAIN.index(item.attribute)] for row in rows]
    return [attribute.value(code) for code in codes if code < attribute.null]


class Draws:
    """Noise of the same distribution as the exact samplers', drawn fast and from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)

    def __call__(self, mechanism: Mechanism, values: Sequence[int]) -> list[int]:
        many = len(values)
        if mechanism.kind == "discrete-laplace":
            # The difference of two geometric numbers.
            fails = 1 - math.exp(-1 / mechanism.scale)
            noise = self.chance.geometric(fails, many) - self.chance.geometric(fails, many)
        else:
            noise = np.rint(self.chance.normal(0, mechanism.scale, many)).astype(np.int64)
        return [int(value + more) for value, more in zip(values, noise, strict=True)]


def drawn(item: Item, measure: str, rows: Sequence[Row], draws: int) -> list[Figure]:
    """The figures of many draws for the same rows."""
    # Whole numbers of little noise leave no interval that holds them in 95 of 100 draws and not in more.
    units = COSTS[measure] // (16 if item in EXACT else 1)
    return drawn_together([item], measure, rows, draws, units)[item]


def drawn_together(
    items: Sequence[Item],
    measure: str,
    rows: Sequence[Row],
    draws: int,
    units: int,
    groups: tuple[Grouping, ...] = (),
) -> dict[Item, list[Figure]]:
    """The figures of one statement; with groups, those of the first draw in each group come first."""
    chosen = replace(SETTINGS, domain=DOMAIN, measure=MEASURES[measure])
    asked = Statement(Condition.of(DOMAIN.query()), tuple(items), groups)
    release = Release.plan(chosen, asked, units)
    figures = release.figures(release.noisy([numbers * draws for numbers in expected(rows, asked)]))
    return {item: figures[asked.item(item)] for item in items}


def coverage(figures: Sequence[Figure], true: float) -> float:
    return float(np.mean([one.low - 1e-9 <= true <= one.high + 1e-9 for one in figures]))

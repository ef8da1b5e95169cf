"""What all tools are asked: a census session, and the dashboards of a fictional hospital, each on a synthetic table.

Every value is a whole number from 0 on, so that no tool has to read labels.  An ask is a condition, a range of values
on each of some attributes, and either a single count or a table: the counts by one attribute more.  A row is in one
cell of a table, so each tool answers a table at the cost of one count.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp import Domain, Integer, Workload
from parcomp.samples import census_domain, census_sample, census_table

__all__ = ["Ask", "Work", "work_named"]

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ask:
    """The count of the rows within ranges, both ends included; with ``by``, one for each value of that attribute."""

    where: dict[str, Range]
    by: str = ""

    def sql(self, table: str) -> str:
        """The ask as a statement."""
        conditions = (
            f"{name} = {low}" if low == high else f"{name} BETWEEN {low} AND {high}"
            for name, (low, high) in self.where.items()
        )
        condition = " AND ".join(conditions)
        items = f"{self.by}, COUNT(*) AS n" if self.by else "COUNT(*) AS n"
        return (
            f"SELECT {items} FROM {table}"
            + (f" WHERE {condition}" if condition else "")
            + (f" GROUP BY {self.by}" if self.by else "")
        )


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A table and what is asked of it; ``partition`` is the attribute that suits best where one is to be declared."""

    name: str
    sizes: dict[str, int]
    columns: dict[str, npt.NDArray[np.int64]]
    asks: tuple[Ask, ...]
    partition: str

    @property
    def domain(self) -> Domain:
        """The domain, of whole numbers."""
        return Domain({name: Integer(0, size - 1) for name, size in self.sizes.items()}, name=self.name)

    @property
    def workload(self) -> Workload:
        """What the asks are charged for: a table covers the rows of its condition, once."""
        domain = self.domain
        return Workload(
            domain, (domain.query({k: list(range(a, b + 1)) for k, (a, b) in ask.where.items()}) for ask in self.asks)
        )

    def truth(self) -> list[list[int]]:
        """The exact numbers of each ask."""
        found = []
        for ask in self.asks:
            inside = np.ones(len(next(iter(self.columns.values()))), np.bool_)
            for name, (low, high) in ask.where.items():
                inside &= (self.columns[name] >= low) & (self.columns[name] <= high)
            if ask.by:
                found.append(np.bincount(self.columns[ask.by][inside], minlength=self.sizes[ask.by]).tolist())
            else:
                found.append([int(inside.sum())])
        return found

    def write(self, path: Path) -> None:
        """Write the table as CSV."""
        with path.open("w", encoding="ascii", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(zip(*(column.tolist() for column in self.columns.values()), strict=True))

    def plain(self) -> dict[str, Any]:
        """What is asked, as JSON has it."""
        return {
            "name": self.name,
            "sizes": self.sizes,
            "asks": [{"where": ask.where, "by": ask.by, "sql": ask.sql(self.name)} for ask in self.asks],
        }


def work_named(name: str, asks: int, rows: int, seed: int) -> Work:
    """The first so many asks of a work, on a table of so many rows."""
    work = {"census": _census_session, "hospital": _hospital_dashboards}[name](asks, rows, seed)
    assert all(ask.by not in ask.where for ask in work.asks)
    return work


def _census_session(asks: int, rows: int, seed: int) -> Work:
    """Single counts drawn as in paper §7.2: an income prefix, and of the other attributes a single value or all."""
    domain = census_domain()
    sizes = {name: attribute.size for name, attribute in domain.attributes.items()}
    table = census_table(rows, seed)
    columns = {"income": table["income"].astype(np.int64) // 150, "age": table["age"].astype(np.int64) // 20}
    for name in ("marital", "race", "gender"):
        code = {domain.attributes[name].value(number): number for number in range(sizes[name])}
        columns[name] = np.array([code[value] for value in table[name].tolist()], np.int64)
    names = list(sizes)
    found = []
    for query in census_sample(asks, seed):
        where = {}
        for position, predicate in query.terms:
            inside = np.flatnonzero(predicate.flags())
            where[names[position]] = (int(inside[0]), int(inside[-1]))
        found.append(Ask(where))
    return Work("census", sizes, columns, tuple(found), "race")


_HOSPITAL = {
    **{"period": 36, "ward": 14, "diagnosis": 40, "age": 18, "sex": 2, "entry": 4, "outcome": 5, "insurance": 4},
    **{"stay": 8, "region": 16, "severity": 4, "referral": 5},
}
_FILTERS = tuple(name for name in _HOSPITAL if name not in {"period", "ward", "diagnosis"})


def _hospital_dashboards(asks: int, rows: int, seed: int) -> Work:
    """Three years of dashboards: tables month by month, three drill-downs into each month, quarters and years.

    A drill-down goes from a ward to one of its diagnoses, and from there to one value of an attribute that stands out,
    with a table at each step.
    """
    draw = np.random.default_rng([seed, 14])
    columns = {name: draw.integers(0, size, rows) for name, size in _HOSPITAL.items()}
    # Wards have diagnoses of their own, and the old come more often.
    columns["diagnosis"] = (columns["ward"] * 3 + draw.geometric(0.25, rows)) % _HOSPITAL["diagnosis"]
    columns["age"] = np.minimum((draw.beta(2.2, 1.4, rows) * 18).astype(np.int64), 17)
    found: list[Ask] = []
    for month in range(_HOSPITAL["period"]):
        now: dict[str, Range] = {"period": (month, month)}
        found += [Ask(now, by) for by in ("ward", "diagnosis", "age", "outcome")]
        for _ in range(3):
            ward = int(draw.integers(_HOSPITAL["ward"]))
            diagnosis = (ward * 3 + int(draw.integers(1, 5))) % _HOSPITAL["diagnosis"]
            filtered, by = draw.choice(_FILTERS, 2, replace=False).tolist()
            value = int(draw.integers(_HOSPITAL[filtered]))
            subject = {**now, "ward": (ward, ward)}
            found.append(Ask(subject, "diagnosis"))
            subject = {**subject, "diagnosis": (diagnosis, diagnosis)}
            found.append(Ask(subject, filtered))
            found.append(Ask({**subject, filtered: (value, value)}, by))
        for months in (3, 12):
            if (month + 1) % months == 0:
                found += [
                    Ask({"period": (month + 1 - months, month)}, by) for by in ("insurance", "region", "severity")
                ]
    return Work("hospital", dict(_HOSPITAL), columns, tuple(found[:asks]), "period")

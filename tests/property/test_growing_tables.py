"""Random histories of a table with rows: real loads, real answers and restarts, against brute force over the rows.

Under each measure, both neighbor relations, one and several rows of a person, with the column of persons and without.
The table has a level, decimals and dates, and its domain grows.  What each charge has counted of whom is read from the
coded table at the time, row by row; what a person discloses over the whole history is added up at the end, and must
not be above what the ledger says, whatever rows and values came in between.
"""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from parcomp.custodian import Custodian, Settings, load_table
from parcomp.data import open_table
from parcomp.errors import RefusedError
from parcomp.ledger import audit_charges, open_ledger
from parcomp.privacy import Neighbours, neighbor_units
from parcomp.privacy.measures import MEASURES
from parcomp.sql import parse_statement
from tests.soak import shared_with_soak

NAMES = ("sex", "kappa", "day")
FIRST_DAY = date(2025, 1, 30)
OUTSIDE = "?"
MOST = 5
"""Of values that an attribute grows to."""

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Sizes:
    """How many values each attribute has; kappa has null too."""

    counts: tuple[int, int, int]

    def values(self, name: str) -> list[str]:
        many = range(self.counts[NAMES.index(name)])
        if name == "sex":
            return [f"v{number}" for number in many]
        if name == "kappa":
            return [*(f"{number / 2:.1f}" for number in many), ""]
        return [(FIRST_DAY + timedelta(days=number)).isoformat() for number in many]

    def kinds(self) -> dict[str, list[str]]:
        first, *others = self.values("sex")
        return {"first": [first], "others": others} if others else {"first": [first]}

    def declared(self) -> dict[str, Any]:
        kappa, days = self.values("kappa"), self.values("day")
        return {
            "name": "people",
            "attributes": {
                "sex": {"values": self.values("sex"), "levels": {"kind": self.kinds()}},
                "kappa": {"low": "0.0", "high": kappa[-2], "step": "0.5", "nullable": True},
                "day": {"low": days[0], "high": days[-1]},
            },
        }

    def codes(self, row: Row) -> tuple[int, ...]:
        known = [self.values(name) for name in NAMES]
        return tuple(all_.index(value) if value in all_ else len(all_) for all_, value in zip(known, row, strict=True))


@dataclass(frozen=True)
class Asked:
    """What a charge tests: the values that it accepted of those declared then, by attribute; and its groups."""

    sizes: Sizes
    box: dict[str, frozenset[str]]
    sql: str
    grouped: bool

    def accepts(self, row: Row) -> bool:
        return all(row[NAMES.index(name)] in accepted for name, accepted in self.box.items())


def question(chance: random.Random, sizes: Sizes) -> Asked:
    """A count or a sum over values, runs, levels or everything, with a group or without."""
    box: dict[str, frozenset[str]] = {}
    tests = []

    def test(name: str, accepted: Sequence[str], sql: str) -> None:
        box[name] = box.get(name, frozenset(accepted)) & frozenset(accepted)
        if sql:
            tests.append(sql)

    if chance.random() < 0.4:
        kind = chance.choice(list(sizes.kinds()))
        test("sex", sizes.kinds()[kind], f"kind = '{kind}'")
    elif chance.random() < 0.4:
        some = chance.sample(sizes.values("sex"), chance.randint(1, sizes.counts[0]))
        test("sex", some, f"sex IN ({', '.join(map(repr, some))})")
    numbers = sizes.values("kappa")[:-1]
    match chance.randrange(5):
        case 0:
            bound = chance.choice(["0.25", "0.5", "1.75"])
            test("kappa", [one for one in numbers if float(one) < float(bound)], f"kappa < {bound}")
        case 1:
            test("kappa", [""], "kappa IS NULL")
        case 2:
            test("kappa", numbers, "kappa IS NOT NULL")
    days = sizes.values("day")
    if chance.random() < 0.6:
        since = chance.choice(days)
        test("day", [day for day in days if day >= since], f"day >= '{since}'")
    group = chance.choice(["", "", "sex", "day", "kind"])
    if group:
        name = "sex" if group == "kind" else group
        test(name, sizes.values(name), "")
    what = "COUNT(*)"
    if chance.random() < 0.3:
        what = "SUM(kappa)"
        test("kappa", numbers, "")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    sql = f"SELECT {what} FROM people{where}" + (f" GROUP BY {group}" if group else "")
    return Asked(sizes, box, sql, bool(group))


class History:
    """A custodian of a file that grows, beside a list of what was counted of whom."""

    def __init__(self, directory: Path, chance: random.Random, case: tuple[str, Neighbours, int, bool]) -> None:
        measure, self.relation, self.most, self.has_persons = case
        self.measure = MEASURES[measure]  # type: ignore[index]
        self.directory, self.chance = directory, chance
        self.sizes = Sizes((1, 1, 2))
        self.rows: list[tuple[str, Row]] = []
        self.charges: list[tuple[Asked, int]] = []
        self.moved: Counter[tuple[bytes, int]] = Counter()
        """By how many rows each person is in what each charge has counted."""
        self.settings_path = directory / "custodian.toml"
        person = 'person = "who"\n' if self.has_persons else ""
        self.settings_path.write_text(
            f"""[dataset]
name = "people"
version = "1"
source = "people.csv"
domain = "domain.json"
[privacy]
measure = "{measure}"
budget = "3"
neighbours = "{self.relation}"
rows_per_person = {self.most}
{person}[ledger]
url = "sqlite:///ledger.db"
"""
        )
        self.write()
        self.custodian = Custodian.create(self.settings_path)

    @property
    def settings(self) -> Settings:
        return self.custodian.settings

    def write(self) -> None:
        """More rows, of old and of later persons, with values that are declared later too."""
        known = [[*Sizes((MOST,) * 3).values(name), OUTSIDE] for name in NAMES]
        for _ in range(self.chance.randint(2, 12)):
            who = f"p{self.chance.randrange(4)}"
            owned = sum(name == who for name, _ in self.rows)
            if self.has_persons or owned < self.most:
                # Without a column of persons, that nobody has more rows is what the custodian has promised.
                self.rows.append((who, tuple(map(self.chance.choice, known))))  # type: ignore[arg-type]
        with (self.directory / "people.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["who", *NAMES])
            table.writerows([who, *row] for who, row in self.rows)
        (self.directory / "domain.json").write_text(json.dumps(self.sizes.declared()))

    def load(self) -> None:
        if self.chance.random() < 0.7:
            grown = (min(many + self.chance.choice([0, 0, 1, 2]), MOST) for many in self.sizes.counts)
            self.sizes = Sizes(tuple(grown))  # type: ignore[arg-type]
        self.write()
        load_table(Settings.load(self.settings_path))
        self.restart()

    def restart(self) -> None:
        self.custodian.close()
        self.custodian = Custodian.open(self.settings_path)

    def ask(self) -> None:
        asked = question(self.chance, self.sizes)
        cost = {self.measure.parameter: self.chance.choice(["0.1", "0.3", "0.5"])}
        before = len(self.custodian.charges())
        try:
            answer = self.custodian.ask(asked.sql, **cost)  # type: ignore[arg-type]
        except RefusedError:
            return
        taken = self.taken()
        with closing(open_table(self.settings.place)) as table:
            [numbers] = table.measure([parse_statement(self.settings.domain, asked.sql)])
        counted = Counter({who: sum(map(asked.accepts, rows)) for who, rows in taken.items()})
        if asked.sql.startswith("SELECT COUNT"):
            # What is held against the ledger below is what was really counted.
            assert sum(numbers[0]) == counted.total(), asked.sql
        charges = self.custodian.charges()[before:]
        if not charges:
            assert answer.cached or not all(asked.box.values())
            return
        [charge] = charges
        for who, many in counted.items():
            self.moved[who, len(self.charges)] = many
        self.charges.append((asked, charge.units))

    def taken(self) -> dict[Any, list[Row]]:
        """The rows of each person that the coded table has, as values."""
        if not self.has_persons:
            found: dict[Any, list[Row]] = {}
            for who, row in self.rows:
                found.setdefault(who, []).append(row)
            return found
        rows: dict[Any, list[Row]] = {}
        with duckdb.connect(str(self.directory / "custodian.codes"), read_only=True) as connection:
            known = [[*self.sizes.values(name), OUTSIDE] for name in NAMES]
            for who, *codes in connection.execute("SELECT p, c0, c1, c2 FROM taken").fetchall():
                row = tuple(all_[code] for all_, code in zip(known, codes, strict=True))
                rows.setdefault(who, []).append(row)  # type: ignore[arg-type]
        return rows

    def check(self) -> None:
        """No row of the last domain, and no person of the table, has more spent on it than the ledger says."""
        charges = [(asked, units) for asked, units in self.charges if all(asked.box.values())]
        every = product(*([*self.sizes.values(name), OUTSIDE] for name in NAMES))
        gamma = max(sum(units for asked, units in charges if asked.accepts(row)) for row in every)  # type: ignore[arg-type]
        total = sum(units * (2 if asked.grouped and self.replacing else 1) for asked, units in charges)
        loss = neighbor_units(gamma, total, self.relation)
        assert self.custodian._books.dataset.loss == loss
        spent = self.measure.group(loss, self.most)
        assert spent <= self.settings.budget_units
        assert self.custodian.balance().loss >= self.measure.parameter_down(spent)
        disclosed: Counter[Any] = Counter()
        for (who, number), many in self.moved.items():
            assert many <= self.most
            disclosed[who] += self.measure.group(self.charges[number][1], many)
        assert max(disclosed.values(), default=0) <= spent
        with closing(open_ledger(self.settings.ledger, self.settings.binding)) as ledger:
            found = audit_charges(ledger.charges(), ledger.binding, self.settings.domain, ties=ledger.ties())
        assert found.ok, found.problems
        assert found.loss == self.measure.parameter_up(spent) or found.loss == spent

    @property
    def replacing(self) -> bool:
        return self.relation is Neighbours.REPLACE_ONE


CASES = [*product(MEASURES, Neighbours, (1, 2, 3), (True, False))]


@pytest.mark.parametrize("chunk", shared_with_soak(40, left=39))
def test_no_history_understates_what_a_person_discloses(tmp_path, chunk):
    """12 histories a chunk, of cases drawn at random; 480 in all."""
    asked = reached = 0
    cases = random.Random(chunk).sample(CASES, 12)
    for number, case in enumerate(cases):
        directory = tmp_path / str(number)
        directory.mkdir()
        chance = random.Random(f"histories {chunk} {case}")
        history = History(directory, chance, case)
        try:
            for _ in range(10):
                step = chance.choice([history.ask] * 5 + [history.load] * 2 + [history.restart])
                step()
            history.check()
            asked += len(history.charges)
            reached += any(many == history.most for many in history.moved.values())
        finally:
            history.custodian.close()
    assert asked > len(cases)
    # Some person had as many rows in some number as a person may have.
    assert reached > 0

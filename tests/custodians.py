"""Small datasets with a custodian each, written to files and initialized as a user would."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from parcomp.custodian import Custodian
from parcomp.custodian.settings import Settings
from parcomp.ledger import Audit, audit_charges, open_ledger

PEOPLE = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9}}}

ROWS = [{"sex": sex, "age": age} for sex in "FM" for age in range(10) for _ in range(age + (sex == "F"))]
"""Ten ages of women and men; the number of people grows with age, and there is one woman more than men at each."""

BATCH = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex = 'F'",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 7",
    "SELECT COUNT(*) FROM people WHERE age >= 5 AND sex = 'M'",
]
"""Statements that overlap, groups among them."""


def write_custodian(
    directory: Path,
    *,
    rows: Sequence[Mapping[str, object]] = ROWS,
    domain: Mapping[str, object] = PEOPLE,
    measure: str = "pure",
    budget: str | Mapping[str, str] = "1.0",
    neighbours: str = "add-remove",
    rows_per_person: int = 1,
    person: str = "",
    ledger: str = "sqlite:///ledger.db",
    quotas: Mapping[str, str | Mapping[str, str] | None] | None = None,
    version: str = "1",
    complete: bool | Sequence[str] = False,
    init: bool = True,
) -> Path:
    """Write a table, its domain and a custodian's settings, and make the ledger; the path of the settings."""
    directory.mkdir(parents=True, exist_ok=True)
    names = [*domain["attributes"], *([person] if person else [])]  # type: ignore[misc]
    with (directory / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    (directory / "domain.json").write_text(json.dumps(domain))
    analysts = "".join(
        f"\n[analysts.{name}]\n" + ("" if quota is None else f"quota = {_amount(quota)}\n")
        for name, quota in (quotas or {}).items()
    )
    settings = directory / "custodian.toml"
    settings.write_text(
        f"""[dataset]
name = "people"
version = "{version}"
source = "people.csv"
domain = "domain.json"
{f"complete = {json.dumps(complete)}" if complete else ""}
[privacy]
measure = "{measure}"
budget = {_amount(budget)}
neighbours = "{neighbours}"
rows_per_person = {rows_per_person}
{f'person = "{person}"' if person else ""}

[ledger]
url = "{ledger}"
{analysts}"""
    )
    if init:
        Custodian.create(settings).close()
    return settings


def _amount(written: str | Mapping[str, str]) -> str:
    """A budget or a quota as it stands in settings: one number, or ε and δ."""
    if isinstance(written, str):
        return f'"{written}"'
    return "{" + ", ".join(f'{name} = "{value}"' for name, value in written.items()) + "}"


def open_custodian(directory: Path, **settings: Any) -> Custodian:
    """A custodian with a ledger of its own, settings as in :func:`write_custodian`."""
    return Custodian.open(write_custodian(directory, **settings))


def load_settings(directory: Path, **settings: Any) -> Settings:
    """The settings of a custodian that was written, without a ledger."""
    return Settings.load(write_custodian(directory, init=False, **settings))


def audited(settings: Settings) -> Audit:
    """What an independent pass says of the ledger of settings."""
    with closing(open_ledger(settings.ledger, settings.binding)) as ledger:
        return audit_charges(
            ledger.charges(),
            ledger.binding,
            settings.domain,
            ties=ledger.ties(),
            answers=ledger.stored_answers(),
            strategy_of=ledger.strategy,
        )

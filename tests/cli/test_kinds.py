"""Workloads over decimals and dates, from files to a bracket, a row and a certificate."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

import parcomp as pc
from parcomp.cli import main

DOMAIN = {
    "name": "clinic",
    "attributes": {
        "kappa": {"low": "0.00", "high": "0.05", "step": "0.01", "nullable": True},
        "day": {"low": "2020-02-27", "high": "2020-03-02"},
        "month": {"low": "2019-12", "high": "2020-02", "unit": "month", "nullable": True},
        "icd": {"values": ["C00", "C01", "I10"], "levels": {"chapter": {"Neoplasms": ["C00", "C01"], "Other": "rest"}}},
    },
}


def random_where(draw: random.Random, domain: pc.Domain) -> dict[str, object]:
    """A predicate for some of the attributes, in the notation of files."""
    where: dict[str, object] = {}
    for name, attribute in domain.attributes.items():
        null = attribute.size - attribute.nullable
        first, last = sorted(draw.randrange(null) for _ in range(2))
        written: object = draw.choice(
            [
                attribute.value(draw.randrange(attribute.size)),
                {"from": attribute.value(first), "to": attribute.value(last)},
                [attribute.value(draw.randrange(attribute.size)) for _ in range(2)],
            ]
        )
        if draw.random() < 0.6:
            where[name] = {"not": written} if draw.random() < 0.3 else written
    return where


@pytest.mark.parametrize("seed", range(3))
def test_overlap_and_verify_take_them(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    domain_file, file, certificate = (tmp_path / name for name in ("domain.json", "w.jsonl", "certificate.json"))
    domain_file.write_text(json.dumps(DOMAIN), encoding="utf-8")
    domain = pc.Domain.load(domain_file)
    lines = [json.dumps({"id": str(i), "where": random_where(draw, domain)}) for i in range(25)]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert main(["overlap", "--domain", str(domain_file), str(file), "--certificate", str(certificate), "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_float=Decimal)
    workload = pc.Workload.load(domain, file)
    rows = [domain.row(codes) for codes in product(*(range(one.size) for one in domain.attributes.values()))]
    covered = [{i for i, query in zip(workload.ids, workload, strict=True) if query.covers(row)} for row in rows]
    assert found["exact"] is True
    assert found["upper"] == max(map(len, covered))
    # The row comes back from JSON as one of the domain, and satisfies what is said.
    codes = [domain.attributes[name].code(value) for name, value in found["witness"].items()]
    row = domain.row([code for code in codes if code is not None])
    assert covered[rows.index(row)] == set(found["members"])
    assert main(["verify", "--domain", str(domain_file), str(file), str(certificate)]) == 0
    capsys.readouterr()
    # A certificate is bound to the domain, levels and all.
    other = json.loads(json.dumps(DOMAIN))
    other["attributes"]["icd"]["levels"]["chapter"] = {"Neoplasms": ["C00"], "Other": "rest"}
    domain_file.write_text(json.dumps(other), encoding="utf-8")
    assert main(["verify", "--domain", str(domain_file), str(file), str(certificate)]) != 0


def test_sql_workloads_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain_file, file = tmp_path / "domain.json", tmp_path / "w.sql"
    domain_file.write_text(json.dumps(DOMAIN), encoding="utf-8")
    conditions = [
        "kappa > 0.02 AND chapter = 'Neoplasms'",
        "kappa <= 0.025",
        "day >= DATE '2020-02-29' AND kappa > 0.045",
        "month < '2020-02' AND chapter <> 'Other'",
        "chapter IN ('Other')",
    ]
    file.write_text("\n".join(f"SELECT COUNT(*) FROM clinic WHERE {one};" for one in conditions), encoding="utf-8")
    assert main(["overlap", "--domain", str(domain_file), str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["upper"], found["members"]) == (3, [1, 3, 4])

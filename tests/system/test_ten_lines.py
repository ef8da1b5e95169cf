"""Ten lines of a user, in a process of their own: a frame in, thirty answers, frames and pictures out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from parcomp import Categorical, Custodian, Domain, Integer
from tests.docs.pages import DOCS, ROOT, blocks


def test_ten_lines_take_a_frame_in_and_bring_frames_and_pictures_out(tmp_path: Path) -> None:
    regions = ["north", "east", "south", "west"]
    domain = Domain(
        {"sex": Categorical(["F", "M"]), "age": Integer(0, 119), "region": Categorical(regions)}, name="people"
    )
    domain.save(tmp_path / "people.json")
    rows = [("FM"[number % 2], number % 100, regions[number % 4]) for number in range(4_000)]
    pd.DataFrame(rows, columns=["sex", "age", "region"]).to_csv(tmp_path / "people.csv", index=False)
    program = next(block.text for block in blocks(DOCS / "frames.md") if block.language == "python")
    lines = [line for line in program.splitlines() if line]
    assert len(lines) <= 10
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [sys.executable, "-W", "error:::parcomp", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    ages = pd.read_csv(tmp_path / "ages.csv")
    assert len(ages) == 29
    assert ages["value"].sum() > 3_000
    assert ((ages["low"] <= ages["value"]) & (ages["value"] <= ages["high"])).all()
    assert list(pd.read_csv(tmp_path / "regions.csv").columns[1:3]) == ["region", "sex"]
    for name in ("regions.png", "youngest.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    # Twenty-nine bands that do not overlap cost as much as one of them.
    given = {"domain": domain, "measure": "pure", "budget": "2", "ledger": tmp_path / "people.db"}
    with Custodian(None, **given) as custodian:
        balance = custodian.balance()
        assert (balance.charges, balance.loss, balance.sequential) == (30, 1, 15)

"""Rehearsals: free, without the data, and like asking in everything else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import parcomp as pc
from parcomp.cli import main
from parcomp.custodian import Batch, Custodian
from parcomp.custodian.rehearsal import DUMMY_ROWS
from parcomp.errors import DataError, ParcompError, RefusedError
from tests.custodians import open_custodian, write_custodian

COUNT = "SELECT COUNT(*) FROM people"
BY_BOTH = "SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age"


def kept(directory: Path) -> dict[str, bytes]:
    """All that is on the disk but what SQLite keeps of its readers."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("-shm")}


def test_a_rehearsal_needs_no_data_and_leaves_nothing(tmp_path: Path) -> None:
    settings = write_custodian(tmp_path)
    for name in ("people.csv", "custodian.codes"):
        (tmp_path / name).unlink()
    with Custodian.open(settings) as custodian:
        with pytest.raises(DataError, match="there is no coded table"):
            custodian.ask(COUNT, epsilon="0.5")
        before = kept(tmp_path)
        answer = custodian.ask(COUNT, epsilon="0.5", dummy=True, key="once")
        custodian.ask_batch([COUNT, BY_BOTH], budget="0.5", dummy=True)
        custodian.quote(COUNT, epsilon="0.5")
        assert kept(tmp_path) == before
        assert custodian.charges() == []
        assert custodian.balance().loss == 0
    assert (answer.charge, answer.cost, answer.cached, answer.rehearsed) == (None, 0, False, True)


def test_the_mark_may_be_out_of_reach(tmp_path: Path) -> None:
    """Nothing is charged, so nothing is to be marked."""
    settings = write_custodian(tmp_path)
    with Custodian.open(settings) as custodian:
        (tmp_path / "custodian.mark").unlink()
        (tmp_path / "custodian.mark").mkdir()
        with pytest.raises(ParcompError):
            custodian.ask(COUNT, epsilon="0.1")
        assert custodian.ask(COUNT, epsilon="0.1", dummy=True).rehearsed


def test_rows_are_drawn_from_the_whole_domain(tmp_path: Path) -> None:
    """With next to no noise, groups add up to all rows, and none is out of line by five deviations."""
    domain = {
        "name": "people",
        "attributes": {"sex": {"values": ["F", "M"], "nullable": True}, "age": {"low": 0, "high": 9}},
    }
    with open_custodian(tmp_path, domain=domain, budget="1") as custodian:
        groups = custodian.ask(BY_BOTH, epsilon="1000", dummy=True).groups
        values = [group.value for group in groups]
        assert len(values) == 30
        assert sum(values) == custodian.ask(COUNT, epsilon="1000", dummy=True).value == DUMMY_ROWS
        expected, deviation = DUMMY_ROWS / 30, (DUMMY_ROWS * 29 / 900) ** 0.5
        assert all(abs(value - expected) < 5 * deviation for value in values)
        assert [group.row["sex"] for group in groups[-10:]] == [None] * 10
        average = custodian.ask("SELECT AVG(age) FROM people", epsilon="1000", dummy=True)
        assert 3.9 < average.value < 5.1


def test_rows_are_of_nobody(tmp_path: Path) -> None:
    """The table holds women of one age; a rehearsal knows nothing of it."""
    with open_custodian(tmp_path, rows=[{"sex": "F", "age": 3}] * 500) as custodian:
        men = custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", epsilon="1000", dummy=True)
        assert 400 < men.value < 600


def test_the_noise_is_that_of_a_real_answer(tmp_path: Path) -> None:
    with open_custodian(tmp_path, budget="1") as custodian:
        real, rehearsed = (custodian.ask(COUNT, epsilon="0.1", dummy=dummy) for dummy in (False, True))
        assert rehearsed.expected_error == real.expected_error
        assert rehearsed.interval[1] - rehearsed.interval[0] == real.interval[1] - real.interval[0]
        values = {custodian.ask(COUNT, epsilon="0.1", dummy=True).value for _ in range(40)}
        # Forty draws of a scale of 10 around the same rows, none of them remembered.
        assert len(values) > 10


@pytest.mark.parametrize(
    "given",
    [
        {"statements": ["SELECT COUNT(* FROM people"]},
        {"statements": ["SELECT COUNT(*) FROM others"]},
        {"statements": ["SELECT MAX(age) FROM people"]},
        {"statements": ["SELECT COUNT(*) FROM people WHERE height > 3"]},
        {"statements": []},
        {"statements": COUNT},
        {"epsilon": "0"},
        {"epsilon": "much"},
        {"epsilon": None, "rho": "1"},
        {"epsilon": None},
        {"epsilon": ["1", "2"]},
        {"budget": "1"},
        {"epsilon": None, "budget": "0.000000001", "statements": [COUNT, f"{COUNT} WHERE sex = 'F'"]},
        {"analyst": "mallory"},
        {"analyst": ""},
        {"analyst": 7},
    ],
)
def test_whatever_is_wrong_with_a_request_is_said_alike(given: dict[str, Any], tmp_path: Path) -> None:
    request = {"statements": [COUNT], "epsilon": "0.1", "analyst": "anna", **given}
    with open_custodian(tmp_path, quotas={"anna": "0.5"}) as custodian:
        said = []
        for dummy in (False, True):
            with pytest.raises(ParcompError) as caught:
                custodian.ask_batch(dummy=dummy, **request)
            said.append((type(caught.value), str(caught.value)))
        assert said[0] == said[1]


def test_a_rehearsal_is_not_refused(tmp_path: Path) -> None:
    """The budget is not looked at: what is left of it is for the quote to say."""
    with open_custodian(tmp_path, budget="0.1", quotas={"anna": "0.1"}) as custodian:
        custodian.ask(COUNT, epsilon="0.1", analyst="anna")
        with pytest.raises(RefusedError):
            custodian.ask(COUNT, epsilon="0.2", analyst="anna")
        assert custodian.ask(COUNT, epsilon="0.2", analyst="anna", dummy=True).rehearsed


def test_a_batch_is_rehearsed_as_it_is_asked(tmp_path: Path) -> None:
    """Equal statements have one answer, and what no row satisfies is 0."""
    with open_custodian(tmp_path) as custodian:
        never = "SELECT COUNT(*) FROM people WHERE age < 0"
        batch = custodian.ask_batch([COUNT, BY_BOTH, COUNT, never], budget="0.5", dummy=True)
        assert isinstance(batch, Batch)
        assert [answer.rehearsed for answer in batch] == [True] * 4
        assert batch[0] == batch[2]
        assert batch[3].value == 0
        assert batch.statements == (COUNT, BY_BOTH, COUNT, never)


def test_a_rehearsal_is_independent_of_a_real_answer(tmp_path: Path) -> None:
    with open_custodian(tmp_path, budget="100") as custodian:
        custodian.ask(COUNT, epsilon="50", dummy=True)
        real = custodian.ask(COUNT, epsilon="50")
        assert (real.value, real.cached, real.rehearsed) == (100, False, False)
        assert custodian.ask(COUNT, epsilon="50", dummy=True).value == DUMMY_ROWS


def test_the_command_line_rehearses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = write_custodian(tmp_path)
    (tmp_path / "custodian.codes").unlink()

    def run(*arguments: str) -> str:
        assert not main([*arguments, "-c", str(settings), "--epsilon", "0.5"])
        return capsys.readouterr().out

    found = json.loads(run("ask", COUNT, "--dummy", "--json"))
    assert (found["rehearsed"], found["charge"], found["cost"]) == (True, None, 0)
    text = run("ask", BY_BOTH, "--dummy")
    assert "rehearsed: from random rows of the domain, not from the data" in text
    assert "nothing was charged" in text
    (tmp_path / "report.sql").write_text(f"{COUNT};\n{BY_BOTH};\n")
    lines = run("batch", str(tmp_path / "report.sql"), "--dummy", "--json").splitlines()
    assert [json.loads(line)["rehearsed"] for line in lines] == [True, True]


def test_a_frame_is_rehearsed_where_only_its_ledger_is(tmp_path: Path) -> None:
    """An analyst's machine has a copy of the ledger, and neither the frame nor its codes."""
    domain = pc.Domain({"age": pc.Integer(0, 9)}, name="people")
    said: dict[str, Any] = {"domain": domain, "measure": "gdp", "budget": "1"}
    pc.Custodian(pd.DataFrame({"age": [1, 2]}), ledger=tmp_path / "ledger.db", **said).close()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy2(tmp_path / "ledger.db", elsewhere)
    os.chmod(elsewhere / "ledger.db", 0o600)
    with pc.Custodian(None, ledger=elsewhere / "ledger.db", **said) as custodian:
        assert custodian.ask(COUNT, mu="0.1", dummy=True).rehearsed
        assert custodian.quote(COUNT, mu="0.1").fits

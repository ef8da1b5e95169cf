"""What a load is held against where the coded table is lost, half made or another one's.

A row that was counted must be there still, and of a person no other rows may be taken: or the loss of the ledger would
be understated.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import parcomp.custodian.load
from parcomp.cli import main
from parcomp.custodian import Custodian, Settings, append_load, load_table
from parcomp.data import open_table
from parcomp.data.codes.duckdb_codes import DuckDBWriter
from parcomp.data.encoding import person_column
from parcomp.data.encoding.persons import PersonHasher
from parcomp.errors import DataError, LedgerError
from parcomp.ledger import MarkFile, create_ledger, is_sealed, open_ledger
from parcomp.sql import parse_statement

WARDS = [f"w{number}" for number in range(10)]
DOMAIN = {"name": "visits", "attributes": {"ward": {"values": WARDS}, "sex": {"values": ["F", "M"], "nullable": True}}}
VISITS = [{"patient": f"p{one}", "ward": ward, "sex": ""} for one in range(20) for ward in WARDS]
BY_WARD = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"


def written(directory: Path, rows=VISITS, *, domain=DOMAIN, name="custodian", version="1", person=True, most=1) -> Path:
    """Settings of a table of visits, with the table and the domain."""
    with (directory / "visits.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["patient", "ward", "sex"])
        writer.writeheader()
        writer.writerows(rows)
    (directory / "domain.json").write_text(json.dumps(domain))
    whose = 'person = "patient"\n' if person else ""
    path = directory / f"{name}.toml"
    path.write_text(
        f"""[dataset]
name = "visits"
version = "{version}"
source = "visits.csv"
domain = "domain.json"
[privacy]
measure = "pure"
budget = "100"
rows_per_person = {most}
{whose}[ledger]
url = "sqlite:///ledger-{version}.db"
mark = "ledger.mark"
"""
    )
    return path


def counts(path: Path) -> list[int]:
    """The exact counts of the coded table by ward."""
    settings = Settings.load(path)
    with closing(open_table(settings.place)) as table:
        return table.measure([parse_statement(settings.domain, BY_WARD)])[0][0]


def test_a_table_that_is_read_again_has_the_same_rows_of_each_person(tmp_path):
    """Also under copied settings, whose coded table has another name; the ledger gets no further entry."""
    path = written(tmp_path)
    Custodian.create(path).close()
    before = counts(path)
    (tmp_path / "custodian.codes").unlink()
    with Custodian.open(path) as custodian, pytest.raises(DataError, match="there is no coded table"):
        custodian.ask(BY_WARD, epsilon="1")
    load_table(Settings.load(path))
    copied = written(tmp_path, name="copy")
    load_table(Settings.load(copied))
    assert counts(path) == counts(copied) == before
    with Custodian.open(copied) as custodian:
        assert custodian.charges() == []
        assert len(custodian.ask(BY_WARD, epsilon="1").groups) == 10


@pytest.mark.parametrize("person", [True, False])
def test_a_table_that_has_changed_does_not_pass_for_a_lost_one(tmp_path, person):
    path = written(tmp_path, person=person)
    Custodian.create(path).close()
    changed = [*VISITS[1:], {"patient": "p0", "ward": "w5", "sex": "F"}]
    written(tmp_path, VISITS[10:] if person else changed, person=person)
    for lost in (False, True):
        if lost:
            (tmp_path / "custodian.codes").unlink()
        with pytest.raises(DataError, match=r"gone or have changed|is not here, so nothing can tell"):
            load_table(Settings.load(path))
    with Custodian.open(path) as custodian:
        assert custodian.charges() == []


@pytest.mark.parametrize("copied", [False, True])
def test_a_counted_row_does_not_become_another_persons_where_the_table_is_lost(tmp_path, copied):
    """The seal is of rows: with a row of p0 as p99's, p0 would be counted a second time by a row of another ward."""
    path = written(tmp_path, [{"patient": "p0", "ward": "w0", "sex": "F"}])
    with Custodian.create(path) as custodian:
        custodian.ask(BY_WARD, epsilon="1")
    again = written(tmp_path, [{"patient": "p99", "ward": "w0", "sex": "F"}], name="copy" if copied else "custodian")
    if not copied:
        (tmp_path / "custodian.codes").unlink()
    with pytest.raises(DataError, match="nothing else tells which rows were taken of which person"):
        load_table(Settings.load(again))
    assert not again.with_suffix(".codes").exists()


def test_a_load_that_was_cut_short_is_gone_on_with_under_the_domain_of_the_rows_in_place(tmp_path, monkeypatch):
    """Its entry is in the ledger, and its rows are not in place; nulls and values outside have other codes since."""
    rows = [{"patient": f"p{i}", "ward": "w1", "sex": sex} for i in range(50) for sex in ("", "X")]
    path = written(tmp_path, rows)
    Custodian.create(path).close()
    nobody = "SELECT COUNT(*) FROM visits WHERE sex IS NULL"

    def exact() -> int:
        settings = Settings.load(path)
        with closing(open_table(settings.place)) as table:
            return table.measure([parse_statement(settings.domain, nobody)])[0][0][0]

    taken = exact()
    grown = {**DOMAIN["attributes"], "sex": {"values": ["F", "M", "X"], "nullable": True}}
    written(tmp_path, rows, domain={"name": "visits", "attributes": grown})
    with monkeypatch.context() as patch:
        patch.setattr(DuckDBWriter, "_publish", lambda *_: (_ for _ in ()).throw(OSError("cut short")))
        with pytest.raises(DataError, match="could not write"):
            load_table(Settings.load(path))
    with Custodian.open(path) as custodian, pytest.raises(DataError, match=r"another domain|loaded last"):
        custodian.ask(nobody, epsilon="1")
    written(
        tmp_path, [*rows, {"patient": "new", "ward": "w2", "sex": "F"}], domain={"name": "visits", "attributes": grown}
    )
    load_table(Settings.load(path))
    assert 0 < taken < 50
    assert exact() == taken


def test_the_table_of_another_version_is_neither_overwritten_nor_compared_with(tmp_path):
    path = written(tmp_path, person=False)
    Custodian.create(path).close()
    other = [{"patient": "", "ward": "w9", "sex": "F"}]
    written(tmp_path, other, version="2", person=False)
    with pytest.raises(DataError, match="holds the coded table of 'visits' version '1', which its ledger needs"):
        Custodian.create(path)
    (tmp_path / "custodian.codes").unlink()
    Custodian.create(path).close()
    written(tmp_path, other, person=False)
    with pytest.raises(DataError, match="holds the coded table of 'visits' version '2'"):
        load_table(Settings.load(path))
    (tmp_path / "custodian.codes").unlink()
    with pytest.raises(DataError, match="is not here, so nothing can tell"):
        load_table(Settings.load(path))


def test_of_two_who_make_a_ledger_at_once_one_fails_and_leaves_the_others_table(tmp_path):
    path = written(tmp_path)

    def meanwhile(_report) -> None:
        written(tmp_path, VISITS[:100])
        Custodian.create(path).close()

    with pytest.raises(LedgerError, match="there is a ledger already"):
        Custodian.create(path, agree=meanwhile)
    assert sum(counts(path)) == 10
    with Custodian.open(path) as custodian:
        custodian.ask(BY_WARD, epsilon="1")


def test_of_two_loads_at_once_one_is_made_again(tmp_path, monkeypatch):
    """Both were held against the table before them, and the second one not against the first."""
    path = written(tmp_path, VISITS[:1], most=2)
    Custodian.create(path).close()

    def after_another(*held):
        monkeypatch.undo()
        written(tmp_path, VISITS[:2], most=2)
        load_table(Settings.load(path))
        return append_load(*held)

    written(tmp_path, [VISITS[0], VISITS[2]], most=2)
    monkeypatch.setattr(parcomp.custodian.load, "append_load", after_another)
    with pytest.raises(LedgerError, match="somebody else has loaded the table meanwhile"):
        load_table(Settings.load(path))
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM visits", epsilon="40")
    assert counts(path)[:3] == [1, 1, 0]


def test_a_ledger_of_an_earlier_version_takes_the_first_load(tmp_path):
    """It knows no rows, so there is nothing to hold them against."""
    path = written(tmp_path, person=False)
    settings = Settings.load(path)
    with closing(create_ledger(settings.ledger, settings.binding)) as ledger:
        MarkFile(settings.mark).advance(ledger)
    with Custodian.open(path) as custodian, pytest.raises(DataError, match="kept no coded rows; run `parcomp load`"):
        custodian.ask(BY_WARD, epsilon="1")
    load_table(settings)
    with Custodian.open(path) as custodian:
        assert [one.is_load for one in custodian.charges()] == [True]
        custodian.ask(BY_WARD, epsilon="1")


def test_the_chain_tells_nothing_of_the_rows(tmp_path):
    """Whoever knew all rows but one could try that one out against a digest of them."""
    heads = set()
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        path = written(tmp_path / place)
        Custodian.create(path).close()
        settings = Settings.load(path)
        with (
            closing(open_table(settings.place)) as table,
            closing(open_ledger(settings.ledger, settings.binding)) as ledger,
        ):
            assert is_sealed(table.imprint.digest, ledger.binding.first_rows)
            assert table.imprint.digest.encode() not in (tmp_path / place / "ledger-1.db").read_bytes()
            heads.add(ledger.head())
    assert len(heads) == 2


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_coded_table_that_others_may_read_is_refused(tmp_path, mode):
    path = written(tmp_path)
    Custodian.create(path).close()
    (tmp_path / "custodian.codes").chmod(mode)
    with Custodian.open(path) as custodian, pytest.raises(DataError, match="run: chmod 600"):
        custodian.ask(BY_WARD, epsilon="1")
    (tmp_path / "custodian.codes").chmod(0o600)
    with Custodian.open(path) as custodian:
        custodian.ask(BY_WARD, epsilon="1")


def test_verifying_the_ledger_looks_at_the_coded_table_too(tmp_path, capsys):
    path = written(tmp_path, person=False)
    Custodian.create(path).close()
    assert main(["ledger", "verify", "-c", str(path)]) == 0
    with duckdb.connect(str(tmp_path / "custodian.codes")) as changed:
        changed.execute("UPDATE codes SET n = n * 1000")
    assert main(["ledger", "verify", "-c", str(path)]) == 2
    assert "the coded table: was changed since it was made" in capsys.readouterr().out
    (tmp_path / "custodian.codes").unlink()
    assert main(["ledger", "verify", "-c", str(path)]) == 2
    assert "the coded table: " in capsys.readouterr().out


def test_persons_are_told_apart_as_their_type_does(tmp_path):
    """Numbers by value, so that 0.0 is -0.0 and 1.0 is 1.00; NaN is nobody; text by code points."""
    hasher = PersonHasher(b"key")
    for cells, persons in (
        (pa.array([0.0, -0.0, 1.0, math.nan, None]), [0, 0, 1, None, None]),
        (pa.array([b"1", b"1.0", b"1.00", b"NaN", b"2"], pa.large_binary()), [0, 0, 0, None, 1]),
        (pa.array(["1", "1.0", "NA", "nan", ""]), [0, 1, None, 2, 3]),
        (pa.array([7, 7, 8], pa.int64()), [0, 0, 1]),
        (pa.array([Decimal("1.0"), Decimal("2.5")]), [0, 1]),
    ):
        found = hasher.persons(cells, ("NA",))
        numbers = {None: None} | {one: i for i, one in enumerate(dict.fromkeys(filter(None, found)))}
        assert [numbers[one] for one in found] == persons
    with pytest.raises(DataError, match="the column of persons is of type list"):
        person_column("who", {"who": pa.list_(pa.int64())})
    with pytest.raises(DataError, match="cast it in a view"):
        person_column("who", {"who": pa.binary()})


def test_only_the_rows_that_were_loaded_last_are_counted(tmp_path):
    """A table that was put in place by other hands is not taken for them."""
    path = written(tmp_path, person=False)
    Custodian.create(path).close()
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other", VISITS[:7], person=False)
    Custodian.create(other).close()
    shutil.copy2(tmp_path / "other" / "custodian.codes", tmp_path / "custodian.codes")
    with Custodian.open(path) as custodian:
        with pytest.raises(DataError, match="not the one that the ledger has loaded last"):
            custodian.ask(BY_WARD, epsilon="1")
        assert custodian.charges() == []


@pytest.mark.parametrize("has_ledger", [True, False])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_load_leaves_the_table_of_another_version_alone(tmp_path, has_ledger, is_open):
    """With a ledger and without; that others may read it does not make it a table that is not there."""
    path = written(tmp_path)
    Custodian.create(path).close()
    codes = tmp_path / "custodian.codes"
    if has_ledger:
        settings = Settings.load(written(tmp_path, version="2"))
        create_ledger(settings.ledger, settings.binding).close()
    else:
        written(tmp_path, version="2")
    codes.chmod(0o644 if is_open else 0o600)
    before = codes.read_bytes()
    with pytest.raises(DataError, match="others may read" if is_open else "holds the coded table of 'visits' version"):
        load_table(Settings.load(path))
    assert codes.read_bytes() == before

"""What a ledger in a file promises beyond the contract of all ledgers."""

from __future__ import annotations

import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from parcomp.errors import LedgerError
from parcomp.ledger import Ledger, create_ledger, open_ledger
from parcomp.ledger.sqlite import SqliteSession
from tests.ledger.entries import BINDING, entry


def opened(path: Path) -> Ledger:
    return open_ledger(f"sqlite:///{path}", BINDING)


def created(path: Path) -> Ledger:
    return create_ledger(f"sqlite:///{path}", BINDING)


def charge(ledger: Ledger, units: int = 1) -> None:
    with ledger.transaction() as transaction:
        transaction.append([entry(units)])


def test_the_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = created(tmp_path / "ledger.db")
        charge(ledger)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    ledger.close()


def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    created(tmp_path / "ledger.db").close()
    session = SqliteSession(tmp_path / "ledger.db", 1.0)
    assert session.execute("PRAGMA synchronous") == [(2,)]
    assert session.execute("PRAGMA journal_mode") == [("wal",)]
    session.close()


def test_relative_and_absolute_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = create_ledger("sqlite:///ledger.db", BINDING)
    monkeypatch.chdir("/")
    charge(ledger, 3)
    ledger.close()
    again = opened(tmp_path / "ledger.db")
    assert [one.units for one in again.charges()] == [3]
    again.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "sqlite:///FILE"),
        ("sqlite:///", "sqlite:///FILE"),
        ("sqlite:///:memory:", "sqlite:///FILE"),
        ("ledger.db", "sqlite:///FILE or postgresql://"),
        ("mysql://user:secret@host/db", "not at 'mysql'"),
        ("sqlite:////nowhere/at/all/ledger.db", "there is no ledger|the directory does not exist"),
        ("sqlite:////", "cannot be|lets other users"),
    ],
)
def test_addresses_that_are_none(url: str, message: str) -> None:
    for attempt in (open_ledger, create_ledger):
        with pytest.raises(LedgerError, match=message) as error:
            attempt(url, BINDING)
        assert "secret" not in str(error.value)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no ledger at all\n" * 100)
    for attempt in (opened, created):
        with pytest.raises(LedgerError, match=r"notes\.txt"):
            attempt(path)
    path.chmod(0o600)
    for attempt in (opened, created):
        with pytest.raises(LedgerError, match=r"notes\.txt"):
            attempt(path)
    assert path.read_text().startswith("no ledger at all\n")


@pytest.mark.parametrize("field", ["dataset", "version"])
def test_a_file_holds_one_ledger(tmp_path: Path, field: str) -> None:
    created(tmp_path / "ledger.db").close()
    with pytest.raises(LedgerError, match=f"{field} is '.*' in the ledger and 'other' in the settings"):
        open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}", replace(BINDING, **{field: "other"}))


def test_a_file_that_is_replaced_while_it_is_in_use_takes_no_charges(tmp_path: Path) -> None:
    """Charges would go to a file that nobody finds again."""
    path = tmp_path / "ledger.db"
    ledger = created(path)
    charge(ledger, 5)
    path.rename(tmp_path / "moved.db")
    with pytest.raises(LedgerError, match="moved or replaced"):
        charge(ledger)
    path.write_bytes((tmp_path / "moved.db").read_bytes())
    with pytest.raises(LedgerError, match="moved or replaced"):
        charge(ledger)
    path.unlink()
    (tmp_path / "moved.db").rename(path)
    charge(ledger, 6)
    assert [one.units for one in ledger.charges()] == [5, 6]
    ledger.close()


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OR REPLACE INTO parcomp_charge SELECT ledger, number, time, analyst, statement, charged_where, 1, "
        "upper_units, batch, previous, digest FROM parcomp_charge",
        "INSERT OR REPLACE INTO parcomp_answer SELECT ledger, digest, position, 'other', trail FROM parcomp_answer",
        "INSERT OR REPLACE INTO parcomp_answer SELECT ledger, digest, position + 1, 'other', '' FROM parcomp_answer",
        "INSERT INTO parcomp_answer SELECT ledger, 'another', position + 2, 'other', '' FROM parcomp_answer",
        "INSERT INTO parcomp_charge SELECT ledger, number + 2, time, analyst, statement, charged_where, units, "
        "upper_units, batch, previous, digest FROM parcomp_charge",
    ],
)
def test_replacing_rows_and_gaps_are_refused_as_well(tmp_path: Path, sql: str) -> None:
    ledger = created(tmp_path / "ledger.db")
    charge(ledger, 5)
    digest = ledger.head()[1]
    ledger.store_answer(digest, "x")
    file = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.Error, match="append-only"):
        file.execute(sql)
    file.close()
    assert [one.units for one in ledger.charges()] == [5]
    assert ledger.answer(digest) == "x"
    ledger.close()


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o620, 0o604, 0o601])
def test_a_file_that_others_can_get_at_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "ledger.db"
    created(path).close()
    path.chmod(mode)
    with pytest.raises(LedgerError, match=f"mode {mode:04o} lets other users at it"):
        opened(path)
    path.chmod(0o640)
    opened(path).close()


def test_a_file_that_vanishes_while_it_is_in_use_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = created(path)
    path.unlink()
    with pytest.raises(LedgerError):
        SqliteSession(path, 1.0)
    with pytest.raises(LedgerError, match="moved or replaced"):
        charge(ledger)
    assert not path.exists()
    ledger.close()


def test_a_file_that_holds_something_else_is_not_taken_for_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (note TEXT)")
    other.close()
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="another database"):
        created(path)
    with pytest.raises(LedgerError, match="no ledger in the database"):
        opened(path)


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    """Each name has a write-ahead log and locks of its own, so that two custodians would spend one budget twice."""
    path = tmp_path / "ledger.db"
    ledger = created(path)
    charge(ledger)
    os.link(path, tmp_path / "other.db")
    for name in ("ledger.db", "other.db"):
        with pytest.raises(LedgerError, match=r"has 2 names \(hard links\)"):
            opened(tmp_path / name)
    with pytest.raises(LedgerError, match="has 2 names"):
        charge(ledger)
    (tmp_path / "other.db").unlink()
    charge(ledger)
    assert len(ledger.charges()) == 2
    ledger.close()

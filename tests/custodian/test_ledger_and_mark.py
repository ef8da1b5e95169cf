"""What a custodian makes of its ledger: made once, never rolled back, each answer for the charge that paid for it."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from parcomp.custodian import Custodian
from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger.mark import MarkFile
from tests.custodians import write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"


def marked(custodian):
    return MarkFile(custodian.settings.mark).read(custodian.settings.binding)


def test_a_custodian_is_created_once_and_opened_after_that(tmp_path):
    """From a path or from settings."""
    path = write_custodian(tmp_path, init=False)
    with pytest.raises(MissingLedgerError, match="parcomp init"):
        Custodian.open(path)
    with Custodian.create(path) as created:
        first = created.ask(WOMEN, epsilon="0.6")
        with pytest.raises(LedgerError, match="has a ledger already"):
            Custodian.create(created.settings)
    with pytest.raises(LedgerError, match="has a ledger already"):
        Custodian.create(path)
    with Custodian.open(path) as opened:
        assert opened.ask(WOMEN, epsilon="0.6").value == first.value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('version = "1"', 'version = "1 "'),
        ('name = "people"', 'name = "People"'),
        ('source = "people.csv"', 'source = "others.csv"'),
        ('version = "1"', 'version = "2"'),
    ],
)
def test_other_settings_do_not_find_a_fresh_budget(tmp_path, old, new):
    """Neither by opening nor by making a ledger: the file has one, of other settings."""
    path = write_custodian(tmp_path)
    shutil.copy(tmp_path / "people.csv", tmp_path / "others.csv")
    path.write_text(path.read_text().replace(old, new))
    for attempt in (Custodian.open, Custodian.create):
        with pytest.raises(LedgerError, match="belongs to other settings"):
            attempt(path)


def test_a_custodian_moves_with_its_files(tmp_path):
    """The source is bound as the settings name it, so that a directory may be moved as a whole."""
    write_custodian(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    with Custodian.open(tmp_path / "there" / "custodian.toml") as custodian:
        assert custodian.ask(WOMEN, epsilon="0.5").charge == 1


def test_whatever_is_released_is_under_the_mark(tmp_path, monkeypatch):
    """If the mark cannot be set, the answer stays where it is stored, and is released when it can."""
    with Custodian.open(write_custodian(tmp_path)) as custodian:
        custodian.ask(WOMEN, epsilon="0.5")
        assert (marked(custodian).number, marked(custodian).answers) == (1, 1)

        def fail(self, marks):
            raise LedgerError("the mark cannot be written")

        monkeypatch.setattr(MarkFile, "_write", fail)
        with pytest.raises(LedgerError, match="the mark cannot be written"):
            custodian.ask(MEN, epsilon="0.5")
        monkeypatch.undo()
        assert (marked(custodian).number, marked(custodian).answers) == (1, 1)
        again = custodian.ask(MEN, epsilon="0.5")
        assert (again.charge, again.cached) == (2, True)
        assert (marked(custodian).number, marked(custodian).answers) == (2, 2)


def test_an_answer_is_not_drawn_a_second_time_from_a_copy_without_it(tmp_path, monkeypatch):
    """A copy made between the charge and its answer has the charge, and still it is older than the mark."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        stored = Custodian._stored

        def copied(self, *arguments):
            with sqlite3.connect(tmp_path / "ledger.db") as original, sqlite3.connect(tmp_path / "copy.db") as copy:
                original.backup(copy)
            return stored(self, *arguments)

        monkeypatch.setattr(Custodian, "_stored", copied)
        custodian.ask(WOMEN, epsilon="0.5")
        monkeypatch.undo()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    (tmp_path / "copy.db").rename(tmp_path / "ledger.db")
    (tmp_path / "ledger.db").chmod(0o600)
    with pytest.raises(LedgerError, match="rolled back"):
        Custodian.open(path)


def test_a_request_that_commits_elsewhere_while_it_is_looked_up(tmp_path, monkeypatch):
    """The same key at the same moment: the charges it leads to may be later than the books."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as one, Custodian.open(path) as other:
        ledger = other._ledger
        look_up, first = ledger.request, []

        def meanwhile(analyst, key):
            if not first:
                first.append(one.ask(WOMEN, epsilon="0.5", key=key))
            return look_up(analyst, key)

        monkeypatch.setattr(ledger, "request", meanwhile)
        assert other.ask(WOMEN, epsilon="0.5", key="k") == first[0]
        assert other.balance().charges == 1


def test_a_charge_that_gets_the_number_of_a_deleted_one_has_its_own_answer(tmp_path):
    """Even if whoever deleted it has also removed the mark, and what is left behind is reported."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.5")
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("DROP TRIGGER parcomp_charge_delete")
        database.execute("DELETE FROM parcomp_charge")
    database.close()
    (tmp_path / "custodian.mark").unlink()
    with Custodian.open(path) as custodian:
        stale = custodian._ledger.ties()
        answer = custodian.ask(MEN, epsilon="0.5")
        assert (answer.charge, answer.cached) == (1, False)
        assert custodian._ledger.answered() == 2
        assert custodian._ledger.ties()[0] == stale[0]

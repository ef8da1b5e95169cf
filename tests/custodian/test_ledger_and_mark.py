"""What a custodian makes of its ledger: made once, never rolled back, each answer for the charge that paid for it."""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from dataclasses import replace

import pytest

from parcomp.custodian import Custodian, Settings
from parcomp.errors import CostError, DataError, LedgerError, LedgerWarning, MissingLedgerError
from parcomp.ledger import audit_charges
from parcomp.ledger.mark import Mark, MarkFile, UnwritableMarkError
from tests.custodians import audited, open_custodian, write_custodian

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
            raise UnwritableMarkError("the mark cannot be written")

        monkeypatch.setattr(MarkFile, "_write", fail)
        with pytest.raises(
            LedgerError, match="the mark cannot be written; the charge stands, and asking the same again"
        ):
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
    # What no charge is left of is not missed.
    with Custodian.open(path) as custodian:
        stale = custodian._ledger.ties()
        answer = custodian.ask(MEN, epsilon="0.5")
        assert (answer.charge, answer.cached) == (1, False)
        assert custodian._ledger.answered()[0] == 2
        assert custodian._ledger.ties()[0] == stale[0]


def restore(source, target):
    """Put a copy of a database in the place of another one, which stays open, as a backup tool would."""
    with sqlite3.connect(source) as copy, sqlite3.connect(target) as ledger:
        copy.backup(ledger)
    copy.close()
    ledger.close()


def test_an_answer_is_not_drawn_a_second_time_by_a_custodian_that_goes_on(tmp_path, monkeypatch):
    """A copy without the answer is restored under its feet: the charge is there, and the mark knows better."""
    with Custodian.open(write_custodian(tmp_path)) as custodian:
        table = custodian._table()

        def broken(self, statements):
            raise DataError("the table cannot be read")

        monkeypatch.setattr(type(table), "measure", broken)
        with pytest.raises(DataError):
            custodian.ask(WOMEN, epsilon="0.1")
        monkeypatch.undo()
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        first = custodian.ask(WOMEN, epsilon="0.1")
        assert (first.charge, first.cost) == (1, 0)
        restore(tmp_path / "copy.db", tmp_path / "ledger.db")
        for use in (custodian.ask, custodian.quote):
            for sql in (WOMEN, MEN):
                with pytest.raises(LedgerError, match="rolled back"):
                    use(sql, epsilon="0.1")
        with pytest.raises(LedgerError, match="rolled back"):
            custodian.charges()


def test_charges_are_not_told_of_a_shortened_ledger_without_a_mark(tmp_path):
    """The books know better, where settings keep no mark."""
    settings = replace(Settings.load(write_custodian(tmp_path)), mark=None)
    with Custodian(settings) as custodian:
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        custodian.ask(WOMEN, epsilon="0.1")
        restore(tmp_path / "copy.db", tmp_path / "ledger.db")
        with pytest.raises(LedgerError, match="the ledger was rolled back: this process has seen charge 1"):
            custodian.charges()


READERS = {
    "ask": lambda custodian: custodian.ask(MEN, epsilon="0.1"),
    "quote": lambda custodian: custodian.quote(MEN, epsilon="0.1"),
    "quote_batch": lambda custodian: custodian.quote_batch([MEN], epsilon="0.1"),
    "derive": lambda custodian: custodian.ask(WOMEN, derive=True),
    "estimates": lambda custodian: custodian.estimates(),
    "balance": lambda custodian: custodian.balance(),
    "charges": lambda custodian: custodian.charges(),
    "spending": lambda custodian: custodian.spending(),
    "graph": lambda custodian: custodian.overlook.graph(10),
    "map": lambda custodian: custodian.overlook.map("sex", "age"),
    "ready": lambda custodian: custodian.ready(),
}


@pytest.mark.parametrize("mark", ["kept", "deleted", "restored"])
@pytest.mark.parametrize("read", READERS)
def test_nothing_is_told_of_a_ledger_that_is_rolled_back_under_a_custodian(tmp_path, read, mark):
    """Nor is its mark set back: whoever opens it again with the memory of what was seen refuses it as well."""
    path, file = write_custodian(tmp_path), tmp_path / "custodian.mark"
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        earlier = file.read_bytes()
        custodian.ask(MEN, epsilon="0.2")
        restore(tmp_path / "copy.db", tmp_path / "ledger.db")
        if mark == "deleted":
            file.unlink()
        elif mark == "restored":
            file.write_bytes(earlier)
        left = file.read_bytes() if file.exists() else None
        with pytest.raises(LedgerError, match="the ledger was rolled back"):
            READERS[read](custodian)
        with pytest.raises(LedgerError, match="the ledger was rolled back"):
            custodian.successor(path)
        assert (file.read_bytes() if file.exists() else None) == left


def test_a_successor_refuses_a_copy_that_lacks_an_answer(tmp_path, monkeypatch):
    """It would be drawn a second time for its charge."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        stored = Custodian._stored

        def copied(self, *arguments):
            restore(tmp_path / "ledger.db", tmp_path / "copy.db")
            return stored(self, *arguments)

        monkeypatch.setattr(Custodian, "_stored", copied)
        custodian.ask(WOMEN, epsilon="0.5")
        restore(tmp_path / "copy.db", tmp_path / "ledger.db")
        (tmp_path / "custodian.mark").unlink()
        with pytest.raises(LedgerError, match="fewer than 1 answers"):
            custodian.successor(path)


def test_a_successor_goes_on_and_knows_what_was_seen_before_it(tmp_path):
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        first = custodian.ask(WOMEN, epsilon="0.1")
        with custodian.successor(path) as successor:
            assert successor.ask(WOMEN, epsilon="0.1").value == first.value
            restore(tmp_path / "copy.db", tmp_path / "ledger.db")
            (tmp_path / "custodian.mark").unlink()
            with pytest.raises(LedgerError, match="the ledger was rolled back"):
                successor.ask(MEN, epsilon="0.1")
            with pytest.raises(LedgerError, match="the ledger was rolled back"):
                successor.successor(path)


def test_a_successor_knows_what_was_lost_while_it_was_opened(tmp_path, monkeypatch):
    """The copy comes in after the ledger was looked at, and before it is opened for use."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        custodian.ask(WOMEN, epsilon="0.9")

        check = Mark.check

        def put_back(self, ledger):
            check(self, ledger)
            monkeypatch.undo()
            restore(tmp_path / "copy.db", tmp_path / "ledger.db")
            (tmp_path / "custodian.mark").unlink()

        monkeypatch.setattr(Mark, "check", put_back)
        successor = custodian.successor(path)
        with successor, pytest.raises(LedgerError, match="the ledger was rolled back"):
            successor.ask(MEN, epsilon="0.9")


def test_a_ledger_that_is_rolled_back_takes_no_load(tmp_path, monkeypatch):
    """Whether it is rolled back before the table is read or meanwhile, and although the mark is lost."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        custodian.ask(WOMEN, epsilon="0.1")

        def put_back(*_arguments, **_named):
            restore(tmp_path / "copy.db", tmp_path / "ledger.db")
            (tmp_path / "custodian.mark").unlink()

        monkeypatch.setattr("parcomp.custodian.custodian.load_table", put_back)
        with pytest.raises(LedgerError, match="the ledger was rolled back"):
            custodian.load()
        monkeypatch.undo()
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
        put_back()
        with pytest.raises(LedgerError, match="the ledger was rolled back"):
            custodian.load()
    assert not audited(custodian.settings).loads


def test_what_was_seen_is_marked_whoever_charged_it(tmp_path):
    """Two custodians with a mark each: the one that only looked knows what it has seen."""
    one = write_custodian(tmp_path)
    other = tmp_path / "other.toml"
    other.write_text(one.read_text())
    with Custodian.open(one) as first, Custodian.open(other) as second:
        restore(tmp_path / "ledger.db", tmp_path / "copy.db")
        first.ask(WOMEN, epsilon="0.9")
        assert second.balance().charges == 1
    restore(tmp_path / "copy.db", tmp_path / "ledger.db")
    for path in (one, other):
        with pytest.raises(LedgerError, match="rolled back"):
            Custodian.open(path)


def test_a_ledger_without_a_mark_is_told_of(tmp_path):
    """Under another name of the settings, or with the mark deleted, nothing can tell; so that is said."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
    renamed = path.rename(tmp_path / "renamed.toml")
    with pytest.warns(LedgerWarning, match=r"there is no mark renamed\.mark for this ledger"):
        Custodian.open(renamed).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LedgerWarning)
        Custodian.open(renamed).close()


def test_a_mark_that_cannot_be_written_is_found_before_anything_is_made_or_charged(tmp_path):
    """Neither by init nor by the first ask."""
    path = write_custodian(tmp_path, init=False)
    text = path.read_text()
    path.write_text(text.replace("[ledger]", '[ledger]\nmark = "nowhere/people.mark"'))
    with pytest.raises(UnwritableMarkError, match="cannot be written"):
        Custodian.create(path)
    assert not (tmp_path / "ledger.db").exists()
    path.write_text(text)
    Custodian.create(path).close()
    path.write_text(text.replace("[ledger]", '[ledger]\nmark = "nowhere/people.mark"'))
    with Custodian.open(path) as custodian:
        assert custodian.quote(WOMEN, epsilon="0.1").fits
        with pytest.raises(UnwritableMarkError, match="cannot be written"):
            custodian.ask(WOMEN, epsilon="0.1")
        assert custodian.balance().charges == 0


@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_what_sequential_composition_would_cost_is_no_less_than_the_loss(tmp_path, rows_per_person):
    """Replacing a row counts twice in a statement with groups, in the one number as in the other."""
    with open_custodian(tmp_path, neighbours="replace-one", rows_per_person=rows_per_person) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY sex", epsilon="0.1")
        balance = custodian.balance()
        assert balance.loss == balance.sequential == pytest.approx(0.2 * rows_per_person)
        audited = audit_charges(custodian.charges(), custodian.settings.binding, custodian.settings.domain)
        assert (audited.loss, audited.sequential) == (2 * rows_per_person * 10**8,) * 2


def test_bytes_are_no_cost(tmp_path):
    """Not a sequence of numbers either."""
    with open_custodian(tmp_path) as custodian, pytest.raises(CostError, match="must be a number"):
        custodian.ask(WOMEN, epsilon=b"1")

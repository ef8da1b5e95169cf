"""The mark of a ledger: never behind what was released, never back, and never passed over."""

from __future__ import annotations

import fcntl
import json
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from parcomp.errors import LedgerError
from parcomp.ledger import Ledger, create_ledger, open_ledger
from parcomp.ledger.mark import Mark, MarkFile, UnwritableMarkError
from tests.ledger.entries import BINDING, entry


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = create_ledger(f"sqlite:///{tmp_path / 'ledger.db'}", BINDING)
    yield made
    made.close()


def charge(ledger: Ledger, units: int = 1, *, answer: bool = True) -> None:
    with ledger.transaction() as transaction:
        (charged,) = transaction.append([entry(units)])
    if answer:
        ledger.store_answer(charged.digest, str(units))


def copied(ledger: Ledger, tmp_path: Path, name: str) -> Path:
    """A copy of the ledger as it is, made as a backup would."""
    ledger.close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / name)
    return tmp_path / name


def reopened(path: Path) -> Ledger:
    return open_ledger(f"sqlite:///{path}", BINDING)


def test_the_mark_says_how_far_the_ledger_has_come(ledger: Ledger, tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "people.mark")
    assert marks.read(BINDING) is None
    marks.check(ledger)
    marks.check_absent(BINDING)
    marks.advance(ledger)
    assert marks.read(BINDING) == Mark(0, BINDING.digest, 0, "")
    charge(ledger)
    charge(ledger, answer=False)
    marks.check(ledger)
    marks.advance(ledger)
    assert marks.read(BINDING) == Mark(2, ledger.head()[1], 1, ledger.answered()[1])
    marks.check(ledger)
    assert stat.S_IMODE(marks.path.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("*mark*")) == [".people.mark.lock", "people.mark"]
    with pytest.raises(LedgerError, match="marks a ledger of 'People ' version '1' with 2 charges"):
        marks.check_absent(replace(BINDING, dataset="People "))
    marks.check_absent(replace(BINDING, version="2"))


def test_an_older_copy_is_refused_by_its_charges(ledger: Ledger, tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "people.mark")
    charge(ledger)
    older = reopened(copied(ledger, tmp_path, "older.db"))
    latest = reopened(tmp_path / "ledger.db")
    charge(latest)
    marks.advance(latest)
    with pytest.raises(LedgerError, match=r"rolled back: people\.mark marks charge 2, and the ledger has no charge 2"):
        marks.check(older)
    charge(older, 9)
    with pytest.raises(LedgerError, match="does not have charge 2 as it was"):
        marks.check(older)
    marks.check(latest)
    older.close()
    latest.close()


def test_an_older_copy_is_refused_by_its_answers(ledger: Ledger, tmp_path: Path) -> None:
    """Else the answer would be drawn a second time for the same charge, and two draws tell more than one."""
    marks = MarkFile(tmp_path / "people.mark")
    charge(ledger, answer=False)
    older = reopened(copied(ledger, tmp_path, "older.db"))
    latest = reopened(tmp_path / "ledger.db")
    latest.store_answer(latest.head()[1], "x")
    marks.advance(latest)
    with pytest.raises(LedgerError, match="fewer than 1 answers"):
        marks.check(older)
    older.close()
    latest.close()


def test_a_ledger_made_anew_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "people.mark")
    marks.advance(ledger)
    other = create_ledger(f"sqlite:///{tmp_path / 'other.db'}", replace(BINDING, budget_units=7))
    with pytest.raises(LedgerError, match="was made with other settings"):
        marks.check(other)
    other.close()


def test_a_lost_answer_is_not_made_up_for_by_another(ledger: Ledger, tmp_path: Path) -> None:
    """As many answers as were marked, but not those: one of them was lost and would be drawn again."""
    marks = MarkFile(tmp_path / "people.mark")
    charge(ledger, 1, answer=False)
    charge(ledger, 2, answer=False)
    first, second = (one.digest for one in ledger.charges())
    older = reopened(copied(ledger, tmp_path, "older.db"))
    latest = reopened(tmp_path / "ledger.db")
    latest.store_answer(first, "x")
    marks.advance(latest)
    older.store_answer(second, "y")
    for use in (marks.check, marks.advance):
        with pytest.raises(LedgerError, match="does not have answer 1 and those before as they were"):
            use(older)
    older.close()
    latest.close()


def test_the_mark_never_goes_back(ledger: Ledger, tmp_path: Path) -> None:
    charge(ledger)
    older = reopened(copied(ledger, tmp_path, "older.db"))
    latest = reopened(tmp_path / "ledger.db")
    charge(latest)
    MarkFile(tmp_path / "people.mark").advance(latest)
    with pytest.raises(LedgerError, match="rolled back"):
        MarkFile(tmp_path / "people.mark").advance(older)
    assert MarkFile(tmp_path / "people.mark").read(BINDING) == Mark.of(latest)
    older.close()
    latest.close()


def test_marks_of_several_versions_stand_side_by_side(ledger: Ledger, tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "people.mark")
    second = create_ledger(f"sqlite:///{tmp_path / 'second.db'}", replace(BINDING, version="2"))
    charge(ledger)
    marks.advance(ledger)
    marks.advance(second)
    assert marks.read(BINDING) == Mark.of(ledger)
    assert marks.read(second.binding) == Mark(0, second.binding.digest, 0, "")
    second.close()


def test_many_threads_advance_one_mark(ledger: Ledger, tmp_path: Path) -> None:
    def work(_: int) -> None:
        for _ in range(5):
            charge(ledger)
            MarkFile(tmp_path / "people.mark").advance(ledger)
            assert MarkFile(tmp_path / "people.mark").read(BINDING) is not None

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert MarkFile(tmp_path / "people.mark").read(BINDING) == Mark.of(ledger)
    assert ledger.answered()[0] == 30


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"form": "parcomp mark 9", "marks": {}}', "\x00", "{", "[" * 10**5]
)
def test_a_file_that_is_no_mark_is_an_error_and_left_alone(ledger: Ledger, tmp_path: Path, text: str) -> None:
    path = tmp_path / "people.mark"
    path.write_text(text)
    for use in (MarkFile(path).check, MarkFile(path).advance):
        with pytest.raises(LedgerError, match=r"people\.mark: is not the mark of a ledger"):
            use(ledger)
    assert path.read_text() == text


def test_damaged_entries_are_an_error(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "people.mark"
    MarkFile(path).advance(ledger)
    document = json.loads(path.read_text())
    digest = BINDING.digest
    for damaged in (
        ["many", None],
        None,
        [0, digest, 0],
        [True, digest, 0, ""],
        [10**50, digest, 0, ""],
        [0.0, "", 0, ""],
    ):
        document["marks"][BINDING.identity] = damaged
        path.write_text(json.dumps(document))
        with pytest.raises(LedgerError, match="is not the mark"):
            MarkFile(path).check(ledger)
    path.write_text(json.dumps(document).replace("0.0", "Infinity"))
    with pytest.raises(LedgerError, match="is not the mark"):
        MarkFile(path).check(ledger)


def test_a_mark_that_cannot_be_written_is_an_error(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written"):
        MarkFile(tmp_path / "nowhere" / "people.mark").advance(ledger)


def test_a_lock_that_is_never_freed_is_an_error(ledger: Ledger, tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "people.mark", busy_seconds=0.1)
    marks.advance(ledger)
    charge(ledger)
    with (tmp_path / ".people.mark.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(UnwritableMarkError, match=r"holds its lock for more than 0\.1 s"):
            marks.advance(ledger)
    assert stat.S_IMODE((tmp_path / ".people.mark.lock").stat().st_mode) == 0o600
    marks.advance(ledger)
    assert marks.read(BINDING) == Mark.of(ledger)

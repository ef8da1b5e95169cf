"""The mark: how far a ledger has come, kept beside the settings, so that one which was rolled back is known as such.

A ledger restored from an older copy is whole in itself: its chain holds, and the charges since are not there to be
missed.  So their budget would be spent again, and an answer that was stored since would be drawn again.  A mark holds
the number and the digest of the last charge and how many answers were stored, in a file of its own.  It is advanced
after an answer is stored and before it is released.  Hence

    whatever was released is covered by the mark,

and a ledger without the marked charge, or with fewer answers, is refused.  Charges and answers are only ever added, in
one order, so a copy of a ledger has all that it had when the mark was set, or it has less than the mark says.

The file is replaced as a whole, under a lock that other processes honor, and never goes back.  It holds a mark for
each version of each dataset, as one settings file may come to be used for several.  A ledger *ahead* of its mark is
fine: others may have charged it with a mark of their own.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from parcomp.errors import LedgerError, shown
from parcomp.ledger.binding import Binding
from parcomp.ledger.store import Ledger

__all__ = ["Mark", "MarkFile"]

_FORM: Final = "parcomp mark 1"


@dataclass(frozen=True, slots=True)
class Mark:
    """The last charge, 0 and the binding's digest if there was none, and how many answers were stored."""

    number: int
    digest: str
    answers: int

    @classmethod
    def of(cls, ledger: Ledger) -> Mark:
        """How far a ledger has come."""
        # Answers are counted last: those of later charges only make the mark say more than the head does.
        number, digest = ledger.head()
        return cls(number, digest, ledger.answered())


class MarkFile:
    """The file at ``path`` with the marks of ledgers."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._advanced: dict[str, Mark] = {}
        """What this process has written, by the identity of the binding."""

    def read(self, binding: Binding) -> Mark | None:
        """The mark of the ledger with this binding, None if there is none yet."""
        return self._marks().get(binding.identity)

    def check(self, ledger: Ledger) -> None:
        """Raise :class:`~parcomp.errors.LedgerError` if the ledger has less than it had when the mark was set."""
        mark = self.read(ledger.binding)
        if mark is None:
            return
        start = mark.number == 0
        found = ledger.binding.digest if start else ledger.digest(mark.number)
        if found != mark.digest:
            state = f"does not have charge {mark.number} as it was" if found else f"has no charge {mark.number}"
            if start:
                state = "was made with other settings"
        elif ledger.answered() < mark.answers:
            state = f"has fewer than {mark.answers} answers"
        else:
            return
        raise LedgerError(
            f"the ledger was rolled back: {self.path.name} marks charge {mark.number}, and the ledger {state}. Put the "
            "copy with the latest charges in its place; what was charged since is spent, whatever an older copy says"
        )

    def check_absent(self, binding: Binding) -> None:
        """Raise if a mark says that there was a ledger with this binding."""
        mark = self.read(binding)
        if mark is not None:
            raise LedgerError(
                f"{self.path.name} marks a ledger of {shown(binding.dataset)} version {shown(binding.version)} with "
                f"{mark.number:,} charges, and it is not where the settings say; find it, since a fresh one would "
                "spend its budget again"
            )

    def advance(self, ledger: Ledger) -> None:
        """Set the mark to where the ledger is, unless it says as much already."""
        identity, mark = ledger.binding.identity, Mark.of(ledger)
        if self._advanced.get(identity) == mark:
            return
        with self._locked():
            marks = self._marks()
            before = marks.get(identity, Mark(0, "", 0))
            digest = mark.digest if mark.number >= before.number else before.digest
            mark = Mark(max(mark.number, before.number), digest, max(mark.answers, before.answers))
            if mark != before:
                self._write({**marks, identity: mark})
        self._advanced[identity] = mark

    def _marks(self) -> dict[str, Mark]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerError(f"{self.path.name}: the mark of the ledger cannot be read ({error})") from None
        try:
            document = json.loads(text)
            if document["form"] != _FORM:
                raise ValueError
            return {
                identity: Mark(int(number), str(digest), int(answers))
                for identity, (number, digest, answers) in document["marks"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerError(
                f"{self.path.name}: is not the mark of a ledger; put back the file that was there, or name another one "
                "as mark in [ledger]"
            ) from None

    def _write(self, marks: dict[str, Mark]) -> None:
        document = {"form": _FORM, "marks": {identity: astuple(mark) for identity, mark in sorted(marks.items())}}
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with open(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise self._unwritable(error) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold off other processes and threads; the lock is that of the directory, as the file is replaced."""
        try:
            directory = os.open(self.path.parent, os.O_RDONLY)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)

    def _unwritable(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"{self.path.name}: the mark of the ledger cannot be written ({error.strerror or error}), and nothing is "
            "released without it; name a file that can be written as mark in [ledger]"
        )

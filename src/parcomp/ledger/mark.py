"""The mark: how far a ledger has come, kept beside the settings, so that one which was rolled back is known as such.

A ledger restored from an older copy is whole in itself: its chain holds, and the charges since are not there to be
missed.  So their budget would be spent again, and an answer that was stored since would be drawn again.  A mark holds
the number and the digest of the last charge, and the number of stored answers with the digest of their trail, in a file
of its own.  Both digests speak for all that was there up to then, so a ledger either has all of it or is refused.

A custodian sets the mark whenever it finds the ledger ahead of it: when it opens the ledger, quotes or shows the
balance, before it charges (which also shows that the mark can be set), and after an answer is stored, before it is
released.  Hence

    whatever this custodian has released or seen is covered by its mark.

A process remembers the mark as well.  So a file that is lost, or put back, while it runs hides nothing from it, and a
ledger that lacks what the process has seen is neither used nor marked.

The file is replaced as a whole, under a lock that other processes honor, and never goes back.  It holds a mark for
each version of each dataset, as one settings file may come to be used for several.  A ledger *ahead* of its mark is
fine: others may have charged it with a mark of their own.  What only they have seen, this mark cannot know.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from parcomp.errors import LedgerError, MissingLedgerError, one_line, shown
from parcomp.ledger.binding import Binding
from parcomp.ledger.durable import sync_directory
from parcomp.ledger.ledger import BUSY_SECONDS, Ledger
from parcomp.ledger.store import open_ledger
from parcomp.tabular import counted

__all__ = ["Mark", "MarkFile", "UnwritableMarkError", "open_marked_ledger", "rolled_back"]

_FORM: Final = "parcomp mark 1"
_LOOK_AGAIN = 0.005
"""Seconds between two looks at a lock that somebody else holds."""


class UnwritableMarkError(LedgerError):
    """The file of the mark cannot be written, or not in time."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The last charge, 0 and the binding's digest if there was none, and the stored answers with their trail."""

    number: int
    digest: str
    answers: int
    trail: str

    @classmethod
    def of(cls, ledger: Ledger) -> Mark:
        """How far a ledger has come."""
        return cls(*ledger.head(), *ledger.answered())

    def covers(self, other: Mark) -> bool:
        """Whether a ledger that has all that this one marks has all that the other one does, of the same ledger."""
        return self.number >= other.number and self.answers >= other.answers

    def problem(self, ledger: Ledger) -> str:
        """What a ledger lacks of what it had when this mark was set; "" if nothing."""
        found = ledger.digest(self.number) if self.number else ledger.binding.digest
        if found is None:
            return f"has no charge {self.number}"
        if found != self.digest:
            return f"does not have charge {self.number} as it was" if self.number else "was made with other settings"
        trail = ledger.trail(self.answers)
        if trail is None:
            return f"has fewer than {self.answers} answers"
        return "" if trail == self.trail else f"does not have answer {self.answers} and those before as they were"

    def check(self, ledger: Ledger) -> None:
        """Raise if a ledger lacks what this process has seen of it."""
        problem = self.problem(ledger)
        if problem:
            raise rolled_back(f"this process has seen charge {self.number}", problem)


class MarkFile:
    """The file at ``path`` with the marks of ledgers."""

    def __init__(self, path: str | Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._remembering = threading.Lock()
        self._seen: dict[str, Mark] = {}
        """How far each ledger had come when this process last looked at it."""

    def read(self, binding: Binding) -> Mark | None:
        """The mark of the ledger with this binding, None if there is none yet."""
        return self._marks().get(binding.identity)

    def check_absent(self, binding: Binding) -> None:
        """Raise if a mark says that there was a ledger with this binding."""
        mark = self.read(binding)
        if mark is not None:
            raise LedgerError(
                f"{self.path.name} marks a ledger of {shown(binding.dataset)} version {shown(binding.version)} with "
                f"{counted(mark.number, 'charge')}, and it is not where the settings say; find it, since a fresh one "
                "would spend its budget again"
            )

    def check_writable(self) -> None:
        """Raise :class:`UnwritableMarkError` if no mark could be set; sets none, and leaves nothing behind."""
        if self._lock.exists():
            with self._locked():
                self._draft("").unlink()
        else:
            # Nobody holds a lock that is not there, and one that is made here would stay where no ledger is made.
            with self._writing():
                descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
                os.close(descriptor)
                os.unlink(name)
        if self.path.is_dir():
            raise self._unwritable("it is a directory")

    def advance(self, ledger: Ledger) -> None:
        """Set the mark to where the ledger is, or further on.

        Raises :class:`~parcomp.errors.LedgerError` if the ledger has less than it had when the mark was set.
        """
        identity, now = ledger.binding.identity, Mark.of(ledger)
        before = self._checked(ledger)
        self.remember(ledger.binding, now)
        if before == now:
            return
        with self._locked():
            # Others may have set it since, and it never goes back. Of many that waited for the lock, the first one has
            # marked what all of them saw.
            before = self._checked(ledger)
            if before is None or not before.covers(now):
                self._write({**self._marks(), identity: Mark.of(ledger)})

    def check(self, ledger: Ledger) -> None:
        """Raise :class:`~parcomp.errors.LedgerError` if the ledger has less than it had when the mark was set."""
        now = Mark.of(ledger)
        self._checked(ledger)
        self.remember(ledger.binding, now)

    def seen(self, binding: Binding) -> Mark | None:
        """How far the ledger with this binding had come when this process last looked, None if it did not."""
        with self._remembering:
            return self._seen.get(binding.identity)

    def remember(self, binding: Binding, seen: Mark) -> None:
        """Take what was seen of a ledger as seen here, unless more of it was."""
        with self._remembering:
            known = self._seen.get(binding.identity)
            if known is None or seen.covers(known):
                self._seen[binding.identity] = seen

    def _checked(self, ledger: Ledger) -> Mark | None:
        mark, seen = self.read(ledger.binding), self.seen(ledger.binding)
        problem = mark.problem(ledger) if mark is not None else ""
        if mark is not None and problem:
            raise rolled_back(f"{self.path.name} marks charge {mark.number}", problem)
        if seen is not None and seen != mark:
            seen.check(ledger)
        return mark

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
            return {identity: _mark(fields) for identity, fields in document["marks"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise LedgerError(
                f"{self.path.name}: is not the mark of a ledger. Put back the file that was there. If it is lost, "
                "nothing here can tell whether the ledger was rolled back: make sure of that, and delete the file"
            ) from None

    def _write(self, marks: dict[str, Mark]) -> None:
        document = {"form": _FORM, "marks": {identity: astuple(mark) for identity, mark in sorted(marks.items())}}
        draft = self._draft(json.dumps(document, indent=1) + "\n")
        with self._writing():
            draft.replace(self.path)
            sync_directory(self.path.parent)

    def _draft(self, text: str) -> Path:
        """A file beside the mark with what is to become of it, on the disk."""
        draft = self.path.with_name(f".{self.path.name}.draft")
        descriptor = self._opened(draft, os.O_WRONLY | os.O_TRUNC)
        with self._writing(), open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return draft

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from None

    def _opened(self, path: Path, flags: int) -> int:
        """The descriptor of a file that only its owner can open, made if it is not there."""
        with self._writing():
            return os.open(path, os.O_CREAT | flags, 0o600)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold off other processes and threads, by a file of its own, which nobody else can open."""
        lock = self._opened(self._lock, os.O_RDWR)
        try:
            deadline = time.monotonic() + self._busy_seconds
            while not self._has_locked(lock):
                if time.monotonic() > deadline:
                    raise self._unwritable(f"another process holds its lock for more than {self._busy_seconds:g} s")
                time.sleep(_LOOK_AGAIN)
            yield
        finally:
            os.close(lock)

    @property
    def _lock(self) -> Path:
        return self.path.with_name(f".{self.path.name}.lock")

    def _has_locked(self, lock: int) -> bool:
        with self._writing():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def _unwritable(self, reason: str) -> UnwritableMarkError:
        remedy = "name a file that can be written as mark in [ledger]"
        directory = self.path.parent
        if not directory.exists():
            reason, remedy = f"the directory {one_line(str(directory))} is missing", "make it first, or name another"
        return UnwritableMarkError(
            f"{self.path.name}: the mark of the ledger cannot be written ({reason}), and nothing is released without "
            f"it; {remedy}"
        )


def rolled_back(known: str, problem: str) -> LedgerError:
    """What is said of a ledger that lacks something, and how that is known."""
    return LedgerError(
        f"the ledger was rolled back: {known}, and the ledger {problem}. Put the copy with the latest charges in its "
        "place; what was charged since is spent, whatever an older copy says"
    )


def open_marked_ledger(url: str, binding: Binding, mark: MarkFile | None, *, extending: bool = False) -> Ledger:
    """Open a ledger, for a load if ``extending``; where it is missing, the mark tells whether there was one."""
    try:
        return open_ledger(url, binding, extending=extending)
    except MissingLedgerError:
        if mark is not None:
            mark.check_absent(binding)
        raise


def _mark(fields: object) -> Mark:
    """A mark as it is written; an error that is caught where it is read if it is none."""
    if not isinstance(fields, list):
        raise TypeError
    number, digest, answers, trail = fields
    if not all(type(one) is int and 0 <= one < 2**63 for one in (number, answers)):
        raise ValueError
    return Mark(number, str(digest), answers, str(trail))

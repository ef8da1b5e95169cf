"""Ctrl-C that is heeded, and that says what was charged.

Python raises an interrupt wherever the program is.  In a callback of compiled code or in a destructor, as when kernels
are loaded, such an exception is dropped, and the command would go on.  So it is raised again, every few seconds, until
the command has ended.  Libraries may turn it into an error of their own: whatever ends a command after an interrupt is
one.

A charge is durable before anything is counted, so an interrupt can come between a charge and its answer.  Only the
ledger knows on which side of the commit it came, so the ledger is asked.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from parcomp.errors import ParcompError

if TYPE_CHECKING:
    from parcomp.custodian import Custodian

__all__ = [
    "Interrupts",
    "answered",
    "asked_now",
    "asking",
    "charges_in_words",
    "heeded",
    "heeding_interrupts",
    "what_was_charged",
]

_AGAIN_SECONDS = 2.0
"""Long enough to roll back and to close what is open."""

_asking: list[Custodian] = []
"""The custodian that this command asks, if any."""

_answered: list[int] = []
"""The charges of requests that this command has made before the latest one."""

_heeding: list[Interrupts] = []
"""What heeds interrupts, while it does."""


class Interrupts:
    """Whether an interrupt came, and what raises it again."""

    def __init__(self) -> None:
        self.came = False

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Raise it, now and again: the handler of both signals."""
        self.came = True
        signal.signal(signal.SIGALRM, self.interrupt)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        raise KeyboardInterrupt

    def heeded(self) -> None:
        """Do not raise it again: what it was to end has ended."""
        if self.came:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.came = False


@contextmanager
def heeding_interrupts(interrupts: Interrupts, *, to_the_end: bool = False) -> Iterator[None]:
    """Within this an interrupt is raised until it ends the block.

    With ``to_the_end``, those after the block are ignored: the program is over but for telling what it has charged.
    """
    _asking.clear()
    _answered.clear()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    alarm, report = signal.getsignal(signal.SIGALRM), sys.unraisablehook

    def dropped(unraisable: sys.UnraisableHookArgs) -> None:
        # It comes again, so there is nothing to report.
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            report(unraisable)

    sys.unraisablehook = dropped
    _heeding.append(interrupts)
    try:
        signal.signal(signal.SIGINT, interrupts.interrupt)
        yield
    finally:
        try:
            _ignore(interrupts)
        except KeyboardInterrupt:
            # One that came just before.
            _ignore(interrupts)
        _heeding.remove(interrupts)
        if interrupts.came:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        if not to_the_end:
            sys.unraisablehook = report
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _ignore(interrupts: Interrupts) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if interrupts.came:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)


@contextmanager
def asking(path: Path) -> Iterator[Custodian]:
    """A custodian who is asked: if the command is interrupted, it says what was charged."""
    import parcomp as pc

    with pc.Custodian.open(path) as custodian:
        asked_now(custodian)
        yield custodian


def asked_now(custodian: Custodian) -> None:
    """Take note of the custodian who is asked, in place of another."""
    _asking[:] = [custodian]


def answered(charge: int) -> None:
    """Take note of a charge, for a command that goes on to another request."""
    _answered.append(charge)


def what_was_charged() -> tuple[str, list[int] | None]:
    """What a command that was interrupted has charged, in words and by number; None if that cannot be found out."""
    numbers, outdated = set(_answered), False
    try:
        for custodian in _asking:
            numbers |= {charge.number for charge in custodian.latest_charges()}
            outdated |= bool(numbers) and custodian.is_outdated()
    except (ParcompError, OSError, KeyboardInterrupt):
        return (
            "whether something was charged cannot be found out, as the ledger cannot be read; "
            "if it was, asking the same again is free until the table is loaded anew",
            None,
        )
    return charges_in_words(sorted(numbers), outdated=outdated), sorted(numbers)


def charges_in_words(numbers: Sequence[int], *, outdated: bool = False) -> str:
    """What stands in the ledger of a request that was interrupted; ``outdated`` if the table was loaded anew since.

    >>> charges_in_words([])
    'nothing was charged'
    >>> charges_in_words([7, 8])
    'charges 7 and 8 were made; asking the same again is free'
    >>> charges_in_words([7], outdated=True)
    'charge 7 was made; the table was loaded anew since, so asking the same again is charged'
    """
    if not numbers:
        return "nothing was charged"
    *first, last = map(str, numbers)
    named = f"charges {', '.join(first)} and {last} were made" if first else f"charge {last} was made"
    if outdated:
        return f"{named}; the table was loaded anew since, so asking the same again is charged"
    return f"{named}; asking the same again is free"


def heeded() -> None:
    """Go on after an interrupt, which has ended what it was to end."""
    for interrupts in _heeding:
        interrupts.heeded()

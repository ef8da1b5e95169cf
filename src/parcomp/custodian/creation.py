"""How a dataset begins: its table is encoded, its ledger is made; and how a data frame is known again.

A ledger is made once.  Where it is, or where its mark says that it was, it is never made again: charges that were made
are spent, whoever has lost their list.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import parcomp.data
from parcomp.custodian.load import check_place, load_table
from parcomp.custodian.settings import Settings
from parcomp.errors import DataError, DataWarning, LedgerError, MissingLedgerError, ParcompError, one_line
from parcomp.ledger import MarkFile, create_ledger, is_sealed, open_marked_ledger, read_domain_text, seal

if TYPE_CHECKING:
    from parcomp.data import Imprint, Progress, Report

__all__ = ["make_ledger", "make_or_know"]

_ADDED = (
    "the data frame has rows that the ledger does not know. Take them in with pc.Custodian(None, …).load(table), the "
    "other arguments being as they are, or hand over the earlier table"
)


class _Known(ParcompError):  # noqa: N818  nothing is wrong
    """The frame has the rows that are in place, so that nothing is to be put there."""


def make_ledger(
    settings: Settings,
    *,
    frame: Any = None,
    agree: Callable[[Report], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Encode the table and make the ledger; an error if there is one, or if a mark says that there was one."""
    mark = None if settings.mark is None else MarkFile(settings.mark)
    try:
        open_marked_ledger(settings.ledger, settings.binding, mark).close()
    except MissingLedgerError:
        if mark is not None:
            mark.check_writable()
    else:
        hint = "" if parcomp.data.table_in_place(settings.place) else "; its coded table is missing: run `parcomp load`"
        raise LedgerError(f"{settings.name} has a ledger already; it is used as it is, and needs no init{hint}")
    check_place(settings)

    def make(rows: Imprint) -> None:
        # Before the coded table is put in place: of two who make the ledger one fails, and leaves the other's.
        bound = replace(settings.binding, first_rows=seal(rows.digest))
        with closing(create_ledger(settings.ledger, bound)) as ledger:
            if mark is not None:
                mark.advance(ledger)

    parcomp.data.write_table(
        settings.place, settings.binding.persons_key, progress, agree, before_publishing=make, frame=frame
    )


def make_or_know(
    settings: Settings,
    frame: Any,
    *,
    create: bool | None = None,
    agree: Callable[[Report], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Make the ledger of a data frame; where it is made already, see that the frame holds the rows that it knows.

    Without a frame, or with ``create`` False, the ledger must be there; with True it must not.
    """
    mark = None if settings.mark is None else MarkFile(settings.mark)
    try:
        open_marked_ledger(settings.ledger, settings.binding, mark).close()
    except MissingLedgerError as error:
        if frame is None or create is False:
            how = "pc.Custodian(table, …)" if frame is None else "create=True"
            raise MissingLedgerError(f"{error}. In Python it is made by {how}") from None
        make_ledger(settings, frame=frame, agree=agree or _warn_if_doubtful, progress=progress)
        return
    if create:
        raise LedgerError(f"{settings.name} has a ledger already; it is used as it is, without create=True")
    if frame is not None:
        _check_known(settings, frame, progress)


def _check_known(settings: Settings, frame: Any, progress: Progress | None) -> None:
    """Encode the frame beside the table in place, and compare; nothing is put in place."""
    mark = None if settings.mark is None else MarkFile(settings.mark)
    with closing(open_marked_ledger(settings.ledger, settings.binding, mark)) as ledger:
        known, persons_key = ledger.known_rows(), ledger.binding.persons_key
    in_place = parcomp.data.table_in_place(settings.place)
    if in_place is None or not known or not is_sealed(in_place.digest, known[0]):
        # It was lost, or its making was cut short.
        load_table(settings, frame=frame, progress=progress)
        return

    # As it was read then, or rows would seem to have changed.
    parcomp.data.open_table(settings.place).close()

    def compare(made: Imprint) -> None:
        if made.digest != in_place.digest:
            raise DataError(_ADDED)
        raise _Known

    with suppress(_Known):
        growing_from = read_domain_text(in_place.domain)
        parcomp.data.write_table(settings.place, persons_key, progress, None, growing_from, compare, frame=frame)


def _warn_if_doubtful(report: Report) -> None:
    if report.doubtful:
        names = one_line(", ".join(report.doubtful))
        warnings.warn(
            f"more than 1 % of the values of {names} are outside the domain, where they satisfy no condition; "
            "agree=print says why and how many, before the ledger is made",
            DataWarning,
            # To the line that made the custodian.
            stacklevel=6,
        )

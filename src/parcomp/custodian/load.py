"""Loading a table: it is encoded anew, and an entry of the chain says under which domain, and which rows, it has.

The rows are coded under the domain of the settings first, then the entry is appended, and then the coded rows are put
in the place of the earlier ones.  A process that dies in between leaves a ledger whose last load is of rows that are
not in place, which their seal tells, and which loading again mends.  In the other order, rows could be counted under
a domain that no entry of the chain declares.

*Which rows.*  A row that was counted must be there still, as it was, and of a person no other rows may be taken than
before.  The table in place tells, if it is one that the ledger knows.  Where there is none, for it was lost or
the settings have another name, only the rows that the ledger knows are taken again.

Custodians that are open meet the entry before they charge anything else, and have to be opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import parcomp.data
from parcomp.custodian.settings import Settings
from parcomp.errors import DataError, LedgerError, MissingLedgerError, one_line, shown
from parcomp.ledger import (
    Charge,
    Ledger,
    Load,
    MarkFile,
    chain_problems,
    domain_text,
    is_sealed,
    open_marked_ledger,
    read_domain_text,
)

if TYPE_CHECKING:
    from parcomp.data import Imprint, Progress, Report

__all__ = ["append_load", "check_place", "codes_problem", "load_table"]

_NOT_THE_ROWS = (
    "the coded table that the ledger knows is not here, so nothing can tell whether the source still holds the rows "
    "that were counted, and it gives others when it is read again. Restore the coded table from a backup, or the "
    "source as it was at the last load; a table whose rows change is another version, with a ledger of its own"
)
_NOT_WHOSE = (
    "the coded table that the ledger knows is not here, and nothing else tells which rows were taken of which person: "
    "read again, a row that was counted could pass for another person's. Restore the coded table from a backup, or "
    "name it as it was named; without it, go on with another version, which has a ledger of its own"
)
_LOADED_MEANWHILE = (
    "somebody else has loaded the table meanwhile, or charged for rows of its last load; nothing was changed, load it "
    "again"
)


def load_table(
    settings: Settings,
    *,
    frame: Any = None,
    agree: Callable[[Report], None] | None = None,
    progress: Progress | None = None,
) -> Imprint:
    """Read the table of the settings again and encode it anew, for the ledger too if there is one.

    ``frame`` is the table itself, where the settings are of a data frame.  ``agree`` is shown what is outside the
    domain, for the custodian's eyes only, and may raise; ``progress`` is told how many rows were read.
    """
    check_place(settings)
    try:
        ledger = _open(settings)
    except MissingLedgerError:
        return parcomp.data.write_table(settings.place, settings.binding.persons_key, progress, agree, frame=frame)[0]
    with closing(ledger):
        _check_mark(settings, ledger)
        known, same_domain = ledger.known_rows(), ledger.current_domain() == domain_text(settings.domain)
        persons_key = ledger.binding.persons_key
        was_asked = any(not charge.is_load for charge in ledger.charges())
    standing = parcomp.data.table_in_place(settings.place)
    # What may grow is a table that the ledger knows, under the domain that it was made under.
    is_known = standing is not None and any(is_sealed(standing.digest, one) for one in known)
    growing_from = read_domain_text(standing.domain) if standing is not None and is_known else None
    if growing_from is None and settings.person and known and was_asked:
        # Seals are of rows, and not of whose they are.
        raise DataError(_NOT_WHOSE)

    def enter(made: Imprint) -> None:
        same = [is_sealed(made.digest, one) for one in known]
        if growing_from is None and known and not any(same):
            raise DataError(_NOT_THE_ROWS)
        if not same_domain or not (known and same[0]):
            append_load(settings, made.digest, known)

    try:
        return parcomp.data.write_table(settings.place, persons_key, progress, agree, growing_from, enter, frame=frame)[
            0
        ]
    except DataError as error:
        if standing is None or standing.reading == settings.place.reading.text:
            raise
        raise DataError(f"{error}; [source] says otherwise than when the table was encoded: set it back") from None


def check_place(settings: Settings) -> None:
    """Raise if the coded table of another dataset or version is where that of these settings goes."""
    standing = parcomp.data.table_in_place(settings.place)
    if standing is not None and (standing.dataset, standing.version) != (settings.name, settings.version):
        raise DataError(
            f"{one_line(str(settings.codes))}: holds the coded table of {shown(standing.dataset)} version "
            f"{shown(standing.version)}, which its ledger needs; give these settings a file of another name"
        )


def codes_problem(settings: Settings, known: Sequence[str]) -> str:
    """What is wrong with the coded table in place, of which the ledger knows these seals; "" if nothing is."""
    try:
        with closing(parcomp.data.open_table(settings.place)) as table:
            if not known or not is_sealed(table.imprint.digest, known[0]):
                return "the coded table: is not the one that was loaded last; run `parcomp load`"
            if table.content_digest() != table.imprint.digest:
                return "the coded table: was changed since it was made; restore it from a backup"
    except DataError as error:
        return f"the coded table: {error}"
    return ""


def append_load(settings: Settings, rows: str, known: Sequence[str]) -> Charge:
    """Append a load of rows with this digest, under the domain of the settings, durably.

    The domain is that of the last load, or of the binding, or it extends that.  ``known`` are the seals that the ledger
    had when the rows of the load were held against them.
    """
    mark = _mark(settings)
    with closing(_open(settings)) as ledger:
        if mark is not None:
            mark.advance(ledger)
        with ledger.transaction() as transaction:
            charges = transaction.charges()
            problems = chain_problems(charges, ledger.binding.digest)
            if problems:
                raise LedgerError(
                    f"the ledger was tampered with or damaged ({problems[0]}); see: parcomp ledger verify"
                )
            if transaction.known_rows() != list(known):
                raise LedgerError(_LOADED_MEANWHILE)
            load = Load.of(settings.domain, rows)
            # Somebody else may have loaded the table since the ledger was opened.
            load.extending(read_domain_text(transaction.current_domain()), settings.domain)
            [entered] = transaction.append([load.entry(charges[-1].upper if charges else 0)])
        if mark is not None:
            mark.advance(ledger)
        return entered


def _open(settings: Settings) -> Ledger:
    """The ledger, whose domain that of the settings may extend."""
    return open_marked_ledger(settings.ledger, settings.binding, _mark(settings), extending=True)


def _check_mark(settings: Settings, ledger: Ledger) -> None:
    mark = _mark(settings)
    if mark is not None:
        mark.check(ledger)


def _mark(settings: Settings) -> MarkFile | None:
    return None if settings.mark is None else MarkFile(settings.mark)

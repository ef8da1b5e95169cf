"""How staged rows become a coded table, on every engine by the same text of SQL.

*Persons.*  Where rows belong to persons, at most ``k`` of each person's are taken: first those that an earlier table of
the dataset has taken, so that a charge of old keeps counting them, then by rank.  Which rows of a person are taken
depends on that person's rows and on what was taken of them before, and on nobody else's.  Rows of one person with equal
codes cannot be told apart by any count, so it is enough to know how many of them were taken.

*Records* are the distinct rows with their multiplicity.

*Growing.*  A table that takes the place of an earlier one of the same ledger must hold every row that the earlier one
holds: charges of old counted those, and a row that has changed since would be counted a second time, as another one.
Its domain may have been extended; a value that is declared since was outside.  So a row is compared by the codes that
it would have had under the earlier domain.  Where rows belong to persons, each must still be taken of the same one: so
no more than ``k`` rows of a person are taken over all loads together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy.typing as npt

from parcomp.data.layout import (
    MULTIPLICITY,
    PERSON,
    RANK,
    Given,
    Imprint,
    check_sums,
    column,
    columns,
    digest,
    given_sql,
    outside,
    sorted_sql,
)
from parcomp.errors import ArgumentError, DataError, ParcompError
from parcomp.model import Domain

__all__ = ["CodesWriter", "changed"]


class CodesWriter(ABC):
    """A coded table in the making: rows are staged, then :meth:`finish` puts the table in its place.

    Until then whatever table was there before is untouched, and so it stays if the writer is closed or killed.
    ``persons`` says whether staged rows have ``p`` and ``h``.
    """

    engine: str
    """What messages call the engine."""

    def __init__(self, domain: Domain, *, persons: bool) -> None:
        self.domain = domain
        self.persons = persons

    def check_staged(self, given: Given) -> None:
        """Raise if the staged rows are not those that were looked at, as far as numbers of them tell."""
        try:
            [[rows, *outsides]] = self._rows(given_sql(self.domain, self._staging))
        except Exception:
            raise DataError(f"{self.engine} could not read the staged rows; its own log says why") from None
        if Given(int(rows), [int(one) for one in outsides]) != given:
            raise changed()

    def finish(
        self,
        imprint: Imprint,
        *,
        growing_from: Domain | None = None,
        before_publishing: Callable[[Imprint], None] | None = None,
    ) -> Imprint:
        """Make the table of the staged rows, and put it in its place: the imprint with what was counted on the way.

        With a person in the imprint at most ``rows_per_person`` rows of each are taken.  With ``growing_from``, the
        domain of the table now in place, all rows of that must be there still, and those that it has taken of a person
        are taken first.  ``before_publishing`` is told of the table before it is put in place, and may raise.
        """
        if bool(imprint.person) != self.persons:
            raise ArgumentError("an imprint names a person exactly if the staged rows have one")
        if imprint.rows_per_person < 1:
            raise ArgumentError("at least one row of each person is taken")
        try:
            coded = columns(self.domain)
            rows = self._count(self._staging)
            source = self._staging
            before = {} if growing_from is None else earlier_codes(growing_from, self.domain)
            if self.persons:
                taken = None if growing_from is None else self._earlier("taken", growing_from)
                sql = taken_sql(coded, source, taken, imprint.rows_per_person, before)
                source = self._keep("taken", sql, [PERSON])
            kept = self._count(source)
            check_sums(self.domain, kept)
            records = self._keep("codes", distinct_sql(coded, source), [MULTIPLICITY])
            stored = self._count(records)
            content = digest(self.domain, self._sorted_chunks(records))
            done = replace(imprint, rows=rows, kept=kept, stored=stored, digest=content)
            if growing_from is not None:
                self._check_grown(source if self.persons else records, before, growing_from)
            if before_publishing is not None:
                before_publishing(done)
            self._publish(done)
        except ParcompError:
            raise
        except Exception:
            # What an engine says may quote a row.
            raise DataError(
                f"{self.engine} could not write the coded table; its own log says why, if it has one. If the disk is "
                "full, make room; where there is a ledger, `parcomp load` then finishes it"
            ) from None
        finally:
            self.close()
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_grown(self, made: str, before: Mapping[str, str], growing_from: Domain) -> None:
        """``made`` are the records, or the rows that were taken of persons."""
        earlier = self._earlier("taken" if self.persons else "codes", growing_from)
        if earlier is None:
            return
        keys = columns(self.domain)
        if self.persons:
            # A row that became another's would leave its place to a further row of the person whose it was.
            keys, before = [PERSON, *keys], {PERSON: f"{{0}}{PERSON}", **before}
            made, earlier = f"({distinct_sql(keys, made)}) AS own", f"({distinct_sql(keys, earlier)})"
        [[lost]] = self._rows(lost_sql(keys, earlier, made, before))
        if lost:
            raise DataError(
                f"the table does not hold all rows that it held: {int(lost):,} are gone or have changed. Rows may be "
                "added; a table whose rows change is another version, with a ledger of its own, and what both spend on "
                "the same people adds up"
            )

    def _count(self, relation: str) -> int:
        [[rows]] = self._rows(f"SELECT COUNT(*) FROM {relation}")
        return int(rows)

    def _sorted_chunks(self, records: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        return self._chunks(sorted_sql(columns(self.domain), records))

    _staging: str
    """What SQL calls the staged rows."""

    @abstractmethod
    def close(self) -> None:
        """Give up what was staged and not finished; a writer that has finished stays so."""

    @abstractmethod
    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of a short result."""

    @abstractmethod
    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        """The columns of a long result of integers, piece by piece and in order."""

    @abstractmethod
    def _earlier(self, name: str, domain: Domain) -> str | None:
        """What SQL calls ``codes`` or ``taken`` of the table in place, which is of a domain; None if there is none."""

    @abstractmethod
    def _keep(self, name: str, sql: str, more: Sequence[str]) -> str:
        """Make the table ``name``, of codes and the columns ``more``, from a query; returns what SQL calls it."""

    @abstractmethod
    def _publish(self, imprint: Imprint) -> None:
        """Put what was kept in place of the earlier table, at once."""


def changed() -> DataError:
    """The rows that were encoded are not those that the custodian was shown."""
    return DataError(
        "the source has changed while it was read: the rows that were encoded are not those that were looked at; "
        "nothing was made, run it again when nobody writes to the source"
    )


def earlier_codes(earlier: Domain, domain: Domain) -> dict[str, str]:
    """For each column what the code of a row would have been under a domain that this one extends."""
    found = {}
    pairs = zip(earlier.attributes.values(), domain.attributes.values(), strict=True)
    for index, (older, newer) in enumerate(pairs):
        name = column(index)
        null = f"WHEN {{0}}{name} = {newer.null} THEN {older.null} " if older.nullable else ""
        coded = f"CASE WHEN {{0}}{name} < {older.null} THEN {{0}}{name} {null}ELSE {outside(older)} END"
        found[name] = f"{{0}}{name}" if older.size == newer.size else coded
    return found


def taken_sql(coded: Sequence[str], staging: str, earlier: str | None, most: int, before: Mapping[str, str]) -> str:
    """The rows that are taken of each person, as ``p`` and codes; ``before`` are the columns as they were."""
    codes = ", ".join(coded)
    ranked, order = staging, f"{RANK}, {codes}"
    if earlier is not None:
        ranked = f"({_with_earlier_sql(coded, staging, earlier, before)}) AS known"
        order = f"late, {RANK}, {codes}"
    place = f"ROW_NUMBER() OVER (PARTITION BY {PERSON} ORDER BY {order}) AS place"
    ranked = f"SELECT {PERSON}, {codes}, {place} FROM {ranked}"
    return f"SELECT {PERSON}, {codes} FROM ({ranked}) AS ranked WHERE place <= {most}"


def _with_earlier_sql(coded: Sequence[str], staging: str, earlier: str, before: Mapping[str, str]) -> str:
    """The staged rows with ``late``: 0 for as many of a person's equal rows as were taken before, else 1."""
    keys = [PERSON, *coded]
    key = ", ".join(keys)
    own = ", ".join(f"staged.{name}" for name in keys)
    then = {PERSON: f"staged.{PERSON}"} | {name: sql.format("staged.") for name, sql in before.items()}
    same = " AND ".join(f"{then[name]} = earlier.{name}" for name in keys)
    turn = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(then.values())} ORDER BY staged.{RANK}, {own})"
    return (
        f"SELECT {own}, staged.{RANK}, CASE WHEN {turn} <= COALESCE(earlier.many, 0) THEN 0 ELSE 1 END AS late "
        f"FROM {staging} AS staged "
        f"LEFT JOIN (SELECT {key}, COUNT(*) AS many FROM {earlier} GROUP BY {key}) AS earlier ON {same}"
    )


def lost_sql(keys: Sequence[str], earlier: str, records: str, before: Mapping[str, str]) -> str:
    """How many rows of an earlier table are not among the records, which are told apart by ``keys``."""
    key = ", ".join(keys)
    then = ", ".join(f"{before[name].format('')} AS {name}" for name in keys)
    same = " AND ".join(f"earlier.{name} = since.{name}" for name in keys)
    since = (
        f"SELECT {key}, SUM({MULTIPLICITY}) AS many FROM (SELECT {then}, {MULTIPLICITY} FROM {records}) AS projected"
    )
    missing = f"earlier.{MULTIPLICITY} - COALESCE(since.many, 0)"
    return (
        f"SELECT COALESCE(SUM({missing}), 0) FROM {earlier} AS earlier "
        f"LEFT JOIN ({since} GROUP BY {key}) AS since ON {same} WHERE {missing} > 0"
    )


def distinct_sql(keys: Sequence[str], rows: str) -> str:
    """The distinct rows with their multiplicity."""
    key = ", ".join(keys)
    return f"SELECT {key}, CAST(COUNT(*) AS BIGINT) AS {MULTIPLICITY} FROM {rows} GROUP BY {key}"

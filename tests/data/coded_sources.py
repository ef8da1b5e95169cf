"""From a source to its coded table and to counts, in one step, for tests of what is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parcomp.data import CodedTable, Reading, Report, TablePlace, open_table, write_table
from parcomp.data.place import is_postgres
from parcomp.model import Condition, Domain, Statement
from parcomp.model.attribute import Attribute

__all__ = ["coded", "counted", "place_of"]


def place_of(
    source: str, table: str | None, domain: Domain, codes: Path | None, reading: Reading | None = None
) -> TablePlace:
    """The place of a table without persons."""
    return TablePlace(
        dataset="people",
        version="1",
        domain=domain,
        domain_text="the domain's text",
        source=source,
        table=table or "",
        reading=reading or Reading(),
        person="",
        rows_per_person=1,
        codes=None if codes is None else str(codes),
        bound_source="the source",
    )


@contextmanager
def coded(
    source: object, table: str | None, domain: Domain, reading: Reading | None = None
) -> Iterator[tuple[CodedTable, Report]]:
    """The coded table of a source, open for counting, and what was met; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="codes-") as directory:
        codes = None if is_postgres(str(source)) else Path(directory, "codes")
        place = place_of(str(source), table, domain, codes, reading)
        _, report = write_table(place)
        opened = open_table(place)
        try:
            yield opened, report
        finally:
            opened.close()


def counted(source: object, table: str | None, attribute: Attribute, name: str = "a") -> list[int]:
    """The count of each value of a single attribute."""
    domain = Domain({name: attribute})
    with coded(source, table, domain) as (opened, _):
        return opened.measure([Statement.one("count", Condition.of(domain.query()), groups=(0,))])[0][0]

"""A table from its source to its codes: looked at, encoded, opened for counting.

The two halves meet here and share nothing but the coded table: :mod:`parcomp.data.sources` and
:mod:`parcomp.data.encoding` read a source, once and strictly; a coded table is counted.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from parcomp.data.codes.coded_table import OpenToOthersError
from parcomp.data.codes.coded_writer import changed
from parcomp.data.codes.drawn_codes import DrawnCodes
from parcomp.data.codes.duckdb_codes import DuckDBCodes, DuckDBWriter
from parcomp.data.encoding import Report, TableEncoder, match_columns, person_column
from parcomp.data.layout import Imprint
from parcomp.data.place import TablePlace, is_frame, is_postgres, is_spark
from parcomp.data.sources import Source, installed, open_source
from parcomp.data.sources.frame import FrameSource
from parcomp.errors import ArgumentError, DataError, one_line
from parcomp.model import Domain
from parcomp.tabular import counted

if TYPE_CHECKING:
    from parcomp.data.codes.coded_table import CodedTable
    from parcomp.data.codes.coded_writer import CodesWriter

__all__ = ["Progress", "check_table", "draw_table", "open_table", "table_in_place", "write_table"]

Progress: TypeAlias = Callable[[int, float | None], None]
"""Is told how many rows were read, and which share of the source that is, if that is known."""


def check_table(place: TablePlace, progress: Progress | None = None, *, frame: Any = None) -> Report:
    """What a source holds that its domain does not declare; nothing is written."""
    with _opened(place, frame) as source:
        encoder = _Encoding(place, source, secrets.token_bytes(32))
        return encoder.looked_through(progress or _silent)


def write_table(
    place: TablePlace,
    persons_key: bytes | None = None,
    progress: Progress | None = None,
    agree: Callable[[Report], None] | None = None,
    growing_from: Domain | None = None,
    before_publishing: Callable[[Imprint], None] | None = None,
    *,
    frame: Any = None,
) -> tuple[Imprint, Report]:
    """Read a source and put its coded table in place, which takes that of an earlier one.

    ``frame`` is the table itself, of a dataset whose source is a data frame.  Persons, where there are any, are hashed
    under ``persons_key``, the same for all tables of a ledger.  ``agree`` is shown what was met before the table is
    made, and ``before_publishing`` what was made before it is put in place; both may raise.  ``growing_from`` is the
    domain of the table in place, if the next must hold its rows.
    """
    if place.person and persons_key is None:
        raise ArgumentError("rows are bounded by person under the key of their ledger; give persons_key")
    with _opened(place, frame) as source:
        encoding = _Encoding(place, source, persons_key)
        with _writer(place, source) as writer:
            report = encoding.staged(writer, progress or _silent)
            _check_complete(place, report)
            if agree is not None:
                agree(report)
            imprint = Imprint(
                place.dataset,
                place.version,
                place.domain_text,
                place.bound_source,
                place.reading.text,
                place.person,
                place.rows_per_person,
            )

            def agreed(made: Imprint) -> None:
                if made.kept != report.rows - report.rows_left_out:
                    raise changed()
                if before_publishing is not None:
                    before_publishing(made)

            return writer.finish(imprint, growing_from=growing_from, before_publishing=agreed), report


def _check_complete(place: TablePlace, report: Report) -> None:
    """Raise if rows lack a value that all are said to have; for the eyes of who puts the table in place."""
    lacking = [(name, report.attributes[name].outside) for name in place.complete]
    told = [f"{counted(rows, 'row')} without a declared value of {one_line(name)}" for name, rows in lacking if rows]
    if told:
        raise DataError(
            f"there are {', '.join(told)}, which `complete` says that every row has; nothing was changed. Declare "
            "these values (or nullable, or clip), mend the source, or take the attribute out of `complete`, which can "
            "be done before the ledger is made"
        )


def open_table(place: TablePlace) -> CodedTable:
    """The coded table of a dataset, open for counting; it must be one of these settings."""
    table = _coded(place)
    try:
        _check_same(place, table.imprint)
    except BaseException:
        table.close()
        raise
    return table


def table_in_place(place: TablePlace) -> Imprint | None:
    """What the coded table that is in place says of itself, whatever settings it was made with; None if none is.

    One that others may read is an error: taken for none, it would be replaced, whosever it is.
    """
    try:
        table = _coded(place)
    except OpenToOthersError:
        raise
    except DataError:
        return None
    table.close()
    return table.imprint


def draw_table(domain: Domain, rows: int) -> CodedTable:
    """A table of so many rows, drawn at random from a domain."""
    return DrawnCodes(domain, rows)


def _opened(place: TablePlace, frame: Any) -> Source:
    """The source of a dataset, where it is or as it is handed over."""
    if is_frame(place.source):
        if frame is None:
            raise DataError("the table of this dataset is a data frame; hand it over: custodian.load(table)")
        return FrameSource(frame, [*place.domain.attributes, *filter(None, [place.person])])
    if frame is not None:
        raise DataError("the settings say where the table of this dataset is, so no data frame is taken for it")
    return open_source(place.source, place.table, place.reading)


class _Encoding:
    """The reading of one source: its columns, and what encodes them."""

    def __init__(self, place: TablePlace, source: Source, key: bytes | None) -> None:
        self._place = place
        self._source = source
        self._columns = match_columns(place.domain, source.types)
        self.key = key if place.person else None
        if place.person:
            try:
                self._columns.append(person_column(place.person, source.types))
            except DataError as error:
                raise DataError(f"{place.person_field}: {error}" if place.person_field else str(error)) from None

    def looked_through(self, progress: Progress) -> Report:
        encoder = self._encoder()
        if is_spark(self._place.source):
            self._summarized(encoder)
            progress(encoder.report().rows, 1.0)
        else:
            for _ in encoder.encoded(self._told(progress)):
                pass
        return encoder.report(self._place.rows_per_person)

    def staged(self, writer: Any, progress: Progress) -> Report:
        encoder = self._encoder()
        if is_spark(self._place.source):
            # The rows are read twice, so what is shown before the table is made need not be what is made of them.
            self._summarized(encoder)
            rows = encoder.report().rows
            progress(rows, 0.5)
            encode = self._encoder().encoded
            writer.stage(self._source.encoded(self._columns, encode, writer.schema))  # type: ignore[attr-defined]
            progress(rows, 1.0)
        else:
            writer.stage(encoder.encoded(self._told(progress)))
        writer.check_staged(encoder.given)
        return encoder.report(self._place.rows_per_person)

    def _encoder(self) -> TableEncoder:
        reading = self._place.reading
        return TableEncoder(self._place.domain, reading.nulls, reading.timezone, self.key)

    def _told(self, progress: Progress) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in self._source.batches(self._columns):
            rows += batch.num_rows
            progress(rows, self._source.share)
            yield batch

    def _summarized(self, encoder: TableEncoder) -> None:
        """Let Spark's executors look through the rows, and add up what they met."""
        for text in self._source.collected(self._columns, _summary(encoder)):  # type: ignore[attr-defined]
            encoder.add(json.loads(text))


def _summary(encoder: TableEncoder) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def summarize(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in encoder.encoded(batches):
            pass
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(encoder.tallies())])], ["text"])

    return summarize


def _check_same(place: TablePlace, imprint: Imprint) -> None:
    said = {
        "dataset": place.dataset,
        "version": place.version,
        "domain": place.domain_text,
        "source": place.bound_source,
        "reading": place.reading.text,
        "person": place.person,
        "rows_per_person": place.rows_per_person,
    }
    if not place.person:
        # Then it is an assumption of the guarantee, of which the table knows nothing.
        del said["rows_per_person"]
    different = [name for name, value in said.items() if getattr(imprint, name) != value]
    if different:
        raise DataError(
            f"the coded table was made with another {' and '.join(different)} than the settings have; "
            "run `parcomp load` to encode it anew, in Python custodian.load"
        )


def _silent(_rows: int, _share: float | None) -> None: ...


def _writer(place: TablePlace, source: Source) -> CodesWriter:
    persons = bool(place.person)
    if is_postgres(place.source):
        with installed("postgres"):
            from parcomp.data.codes.postgres_codes import PostgresWriter  # noqa: PLC0415

        return PostgresWriter(place.source, place.domain, persons=persons, **_names(place))
    if is_spark(place.source):
        with installed("spark"):
            from parcomp.data.codes.spark_codes import SparkWriter  # noqa: PLC0415

        return SparkWriter(source.session, _path(place), place.domain, persons=persons)  # type: ignore[attr-defined]
    return DuckDBWriter(_path(place), place.domain, persons=persons)


def _coded(place: TablePlace) -> CodedTable:
    if is_postgres(place.source):
        with installed("postgres"):
            from parcomp.data.codes.postgres_codes import PostgresCodes  # noqa: PLC0415

        return PostgresCodes(place.source, place.domain, **_names(place))
    if is_spark(place.source):
        with installed("spark"):
            from parcomp.data.codes.spark_codes import SparkCodes  # noqa: PLC0415
            from parcomp.data.sources.spark_source import spark_session  # noqa: PLC0415

        from parcomp.data.sources import spark_address  # noqa: PLC0415

        return SparkCodes(spark_session(spark_address(place.source)[0]), _path(place), place.domain)
    return DuckDBCodes(_path(place), place.domain)


def _names(place: TablePlace) -> dict[str, str]:
    """What tells coded tables of one database apart."""
    return {"dataset": place.dataset, "version": place.version, "source": place.bound_source}


def _path(place: TablePlace) -> str:
    if place.codes is None:
        raise DataError("the settings do not say where the coded table is; they are read from a file, or have codes")
    return place.codes

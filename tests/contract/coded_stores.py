"""A place for a coded table on each engine, with one way to make it and to open it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from parcomp.data.codes.coded_table import CodedTable
from parcomp.data.codes.coded_writer import CodesWriter
from parcomp.data.layout import Imprint, staging_schema
from parcomp.model.domain import Domain
from tests.contract.ledger_places import fresh_database
from tests.data.coded_rows import IMPRINT, Codes, batches_of

__all__ = ["Place", "Stage", "place_on", "spark_session"]

Stage = Callable[[CodesWriter, Sequence[Codes], Any], None]


def spark_session(master: str) -> Any:
    """A session on the Spark of this process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  few tests need it

    builder: Any = SparkSession.builder
    builder = builder.master(master.removeprefix("spark://")).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "4")
    return builder.getOrCreate()


@dataclass(frozen=True)
class Place:
    """Where a coded table is kept: ``address`` is a path or the address of a database."""

    engine: str
    address: str
    session: Any = None

    def writer(self, domain: Domain, *, persons: bool = False) -> Any:
        match self.engine:
            case "duckdb":
                from parcomp.data.codes.duckdb_codes import DuckDBWriter  # noqa: PLC0415

                return DuckDBWriter(self.address, domain, persons=persons)
            case "postgres":
                from parcomp.data.codes.postgres_codes import PostgresWriter  # noqa: PLC0415

                return PostgresWriter(self.address, domain, **self._names(), persons=persons)
            case _:
                from parcomp.data.codes.spark_codes import SparkWriter  # noqa: PLC0415

                return SparkWriter(self.session, self.address, domain, persons=persons)

    def stage(self, writer: Any, rows: Sequence[Codes], keys: Sequence[tuple[bytes, bytes]] | None = None) -> None:
        batches = batches_of(writer.domain, rows, keys)
        if self.engine != "spark":
            writer.stage(batches)
            return
        schema = staging_schema(writer.domain, persons=keys is not None)
        # Spark has no type of binary data with a fixed length.
        free = pa.schema([(f.name, pa.binary() if f.name in "ph" else f.type) for f in schema])
        writer.stage(self.session.createDataFrame(pa.Table.from_batches(batches, schema).cast(free)))

    def make(
        self,
        domain: Domain,
        rows: Sequence[Codes],
        keys: Sequence[tuple[bytes, bytes]] | None = None,
        *,
        most: int = 1,
        growing_from: Domain | None = None,
    ) -> Imprint:
        with self.writer(domain, persons=keys is not None) as writer:
            self.stage(writer, rows, keys)
            imprint = IMPRINT if keys is None else replace(IMPRINT, person="who", rows_per_person=most)
            return writer.finish(imprint, growing_from=growing_from)

    def open(self, domain: Domain) -> CodedTable:
        match self.engine:
            case "duckdb":
                from parcomp.data.codes.duckdb_codes import DuckDBCodes  # noqa: PLC0415

                return DuckDBCodes(self.address, domain)
            case "postgres":
                from parcomp.data.codes.postgres_codes import PostgresCodes  # noqa: PLC0415

                return PostgresCodes(self.address, domain, **self._names())
            case _:
                from parcomp.data.codes.spark_codes import SparkCodes  # noqa: PLC0415

                return SparkCodes(self.session, self.address, domain)

    def _names(self) -> dict[str, str]:
        return {"dataset": IMPRINT.dataset, "version": IMPRINT.version, "source": IMPRINT.source}


def place_on(engine: str, request: pytest.FixtureRequest, directory: Path) -> Place:
    """A place where nothing is yet."""
    match engine:
        case "duckdb":
            return Place(engine, str(directory / "codes.duckdb"))
        case "postgres":
            return Place(engine, fresh_database(request.getfixturevalue("postgres_url")))
        case _:
            session = spark_session(request.getfixturevalue("spark_master"))
            return Place(engine, str(directory / "codes"), session)

"""Coded tables in Spark: a directory of Parquet files wherever Spark keeps files.

The directory holds a *generation* for each time that the table was made, a directory of its own with the codes, what
was taken of each person, and the imprint.  A generation is written under a name of its own and renamed when it is
complete, which all file systems do at once; the table is the latest generation, and the earlier ones are removed.  The
directory belongs to its owner alone, where the file system knows owners.

Files are read one after the other where their rows are counted here, so that no more than one of them is in memory.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from parcomp.data.codes.coded_table import CodedTable, OpenToOthersError, missing, replaced
from parcomp.data.codes.coded_writer import CodesWriter
from parcomp.data.layout import MULTIPLICITY, PERSON, RANK, Imprint, code_bits, column, columns, outside
from parcomp.errors import DataError, one_line
from parcomp.model import Domain

__all__ = ["SparkCodes", "SparkWriter"]

_TYPES = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}

_SETTINGS = {
    # A number that does not fit is an error, never another one.
    "spark.sql.ansi.enabled": "true",
    # A file that is damaged or gone is an error, and not a table with fewer rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}

_GENERATION = re.compile(r"(\d{8})-[0-9a-f]{8}")
_PART = ".part-"
_IMPRINT = "imprint.json"

_ABANDONED_AFTER = 24 * 3600
"""After so many seconds an unfinished generation is taken for that of a writer that was killed."""

_ROWS_PER_FILE = 2**22

_KNOWING_OWNERS = frozenset({"file", "hdfs", "viewfs", "webhdfs", "swebhdfs"})
"""The schemes of file systems whose modes bind; others, such as object stores, have modes that say nothing."""


class SparkCodes(CodedTable):
    """The coded table in the directory at a path, as a session reads it."""

    engine = "Spark"

    def __init__(self, session: SparkSession, path: str, domain: Domain) -> None:
        self._session = _own_session(session)
        try:
            with self._telling_nothing():
                self._files = _Files(self._session, path)
                latest = self._files.latest()
                text = None if latest is None else self._files.read(latest, _IMPRINT)
            if latest is None or text is None:
                raise missing(path)
            with self._telling_nothing():
                is_open = self._files.is_open()
            if is_open:
                raise OpenToOthersError(
                    f"{one_line(path)}: others may read the coded table, which holds every row; run: chmod -R go="
                )
            self._generation = latest
            super().__init__(domain, Imprint.read(text), "codes")
            with self._telling_nothing():
                self._frame = _read(self._session, domain, self._files.at(latest, "codes"), [MULTIPLICITY])
                self._frame.createOrReplaceTempView("codes")
        except BaseException:
            self._session.catalog.dropTempView("codes")
            raise

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return [tuple(row) for row in self._session.sql(sql).collect()]

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        try:
            for path in sorted(self._frame.inputFiles()):
                # The same query, of one file: numbers of several are added up.
                _read(self._session, self.domain, path, [MULTIPLICITY]).createOrReplaceTempView("codes")
                yield _arrays(self._session.sql(sql))
        finally:
            self._frame.createOrReplaceTempView("codes")

    def _make_ready(self) -> None:
        if self._files.latest() != self._generation:
            raise replaced()

    def _disconnect(self) -> None:
        self._session.catalog.dropTempView("codes")


class SparkWriter(CodesWriter):
    """Makes the coded table in the directory at a path."""

    engine = "Spark"
    _staging = "staging"

    def __init__(self, session: SparkSession, path: str, domain: Domain, *, persons: bool = False) -> None:
        super().__init__(domain, persons=persons)
        self._session = _own_session(session)
        try:
            self._files = _Files(self._session, path)
            self._files.make_private()
            self._files.remove_abandoned()
        except Exception:
            raise DataError(f"{one_line(path)}: Spark cannot write the directory of the coded table") from None
        self._token = secrets.token_hex(4)
        self._part = _PART + self._token
        self._keys = [PERSON, RANK] if persons else []

    @property
    def schema(self) -> str:
        """The columns of rows to be staged, in Spark's words."""
        return ", ".join(f"{name} {sql}" for name, sql in _types(self.domain, self._keys).items())

    def stage(self, frame: DataFrame) -> None:
        """Take the rows of a frame with the columns of :func:`~parcomp.data.layout.staging_schema`, once."""
        try:
            types = _types(self.domain, self._keys)
            chosen = frame.selectExpr(*(f"CAST({name} AS {sql}) AS {name}" for name, sql in types.items()))
            chosen.write.parquet(self._files.at(self._part, "staging"))
            staged = _read(self._session, self.domain, self._files.at(self._part, "staging"), self._keys)
            staged.createOrReplaceTempView("staging")
            amiss = [f"{name} IS NULL" for name in types] + [
                f"{column(i)} NOT BETWEEN 0 AND {outside(one)}" for i, one in enumerate(self.domain.attributes.values())
            ]
            amiss += [f"LENGTH({key}) <> 16" for key in self._keys]
            [[count]] = self._rows(f"SELECT COUNT(*) FROM staging WHERE {' OR '.join(amiss)}")
        except Exception:
            raise DataError("Spark could not write the staged rows; its own log says why") from None
        if count:
            raise DataError("the staged rows hold nulls, or codes that their attributes do not have")

    def close(self) -> None:
        """Give up what was staged and not finished."""
        for view in ("staging", "taken", "codes", "earlier"):
            self._session.catalog.dropTempView(view)
        self._files.remove(self._part)

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return [tuple(row) for row in self._session.sql(sql).collect()]

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        yield _arrays(self._session.sql(sql))

    def _sorted_chunks(self, records: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        # Each file has a range of the records, in the order of the files' names.
        for path in sorted(self._session.table(records).inputFiles()):
            arrays = _arrays(_read(self._session, self.domain, path, [MULTIPLICITY]))
            order = np.lexsort(arrays[-2::-1])
            yield [values[order] for values in arrays]

    def _earlier(self, name: str, domain: Domain) -> str | None:
        latest = self._files.latest()
        if latest is None or not self._files.has(latest, name):
            return None
        more = [PERSON] if name == "taken" else [MULTIPLICITY]
        _read(self._session, domain, self._files.at(latest, name), more).createOrReplaceTempView(f"earlier_{name}")
        return f"earlier_{name}"

    def _keep(self, name: str, sql: str, more: Sequence[str]) -> str:
        selected = ", ".join([*columns(self.domain), *more])
        ordered = f"SELECT {selected} FROM ({sql}) AS made ORDER BY {', '.join(columns(self.domain))}"
        path = self._files.at(self._part, name)
        self._session.sql(ordered).write.option("maxRecordsPerFile", _ROWS_PER_FILE).parquet(path)
        _read(self._session, self.domain, path, more).createOrReplaceTempView(name)
        return name

    def _publish(self, imprint: Imprint) -> None:
        self._files.remove(self._part, "staging")
        self._files.write(imprint.text, self._part, _IMPRINT)
        self._files.close_to_others(self._part)
        latest = self._files.latest()
        number = 1 if latest is None else int(latest.partition("-")[0]) + 1
        self._files.publish(self._part, f"{number:08}-{self._token}")


def _own_session(session: SparkSession) -> SparkSession:
    """A session of its own in the same Spark: its views and settings are nobody else's."""
    try:
        own = session.newSession()
        for name, value in _SETTINGS.items():
            own.conf.set(name, value)
    except Exception:
        raise DataError("Spark does not run any more; start it again") from None
    return own


def _types(domain: Domain, more: Sequence[str]) -> dict[str, str]:
    kinds = {PERSON: "BINARY", RANK: "BINARY", MULTIPLICITY: "BIGINT"}
    coded = {column(i): _TYPES[code_bits(one)] for i, one in enumerate(domain.attributes.values())}
    return coded | {name: kinds[name] for name in more}


def _read(session: SparkSession, domain: Domain, path: str, more: Sequence[str]) -> DataFrame:
    # With the schema given no file is opened before there is something to count.
    schema = ", ".join(f"{name} {sql}" for name, sql in _types(domain, more).items())
    return session.read.schema(schema).parquet(path)


def _arrays(frame: DataFrame) -> Sequence[npt.NDArray[Any]]:
    table = frame.toArrow().combine_chunks()
    return [values.to_numpy() for values in table.columns]


class _Files:
    """A directory in whatever file system the path belongs to, by Hadoop's interface to all of them."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._jvm: Any = session._jvm
        self._root = path.rstrip("/")
        configuration = session._jsc.hadoopConfiguration()
        self._system = self._path().getFileSystem(configuration)

    def at(self, *parts: str) -> str:
        """The path of something in the directory."""
        return "/".join((self._root, *parts))

    def has(self, *parts: str) -> bool:
        """Whether it is there."""
        return bool(self._system.exists(self._path(*parts)))

    def make_private(self) -> None:
        """Make the directory, if there is none, and keep others out of it."""
        self._system.mkdirs(self._path())
        self._system.setPermission(self._path(), self._mode("700"))

    def is_open(self) -> bool:
        """Whether others than its owner may enter the directory, where the file system knows owners."""
        mode = self._system.getFileStatus(self._path()).getPermission().toShort()
        return self._system.getUri().getScheme() in _KNOWING_OWNERS and bool(mode & 0o077)

    def latest(self) -> str | None:
        """The name of the latest generation."""
        return max(filter(_GENERATION.fullmatch, self._names()), default=None)

    def publish(self, part: str, generation: str) -> None:
        """Make what was written under a name of its own the latest generation, and remove the earlier ones."""
        if not self._system.rename(self._path(part), self._path(generation)):
            raise DataError("Spark could not rename the coded table; its own log says why")
        for name in self._names():
            if _GENERATION.fullmatch(name) and name < generation:
                self.remove(name)

    def remove(self, *parts: str) -> None:
        """Remove it, with all that is in it, if it is there."""
        self._system.delete(self._path(*parts), True)

    def remove_abandoned(self) -> None:
        """Remove what writers have left that were killed."""
        for status in self._system.listStatus(self._path()):
            age = time.time() - status.getModificationTime() / 1000
            if status.getPath().getName().startswith(_PART) and age > _ABANDONED_AFTER:
                self._system.delete(status.getPath(), True)

    def write(self, text: str, *parts: str) -> None:
        """Write a small file."""
        stream = self._system.create(self._path(*parts), True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def read(self, *parts: str) -> str | None:
        """The content of a small file; None if there is no such file."""
        if not self.has(*parts):
            return None
        stream = self._system.open(self._path(*parts))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def close_to_others(self, *parts: str) -> None:
        """Let the owner alone read the files below a directory."""
        self._system.setPermission(self._path(*parts), self._mode("700"))
        for status in self._system.listStatus(self._path(*parts)):
            name = status.getPath().getName()
            if status.isDirectory():
                self.close_to_others(*parts, name)
            else:
                self._system.setPermission(status.getPath(), self._mode("600"))

    def _names(self) -> list[str]:
        if not self.has():
            return []
        return [status.getPath().getName() for status in self._system.listStatus(self._path())]

    def _path(self, *parts: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.at(*parts))

    def _mode(self, octal: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.permission.FsPermission(octal)

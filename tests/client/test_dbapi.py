"""The DB-API connection: PEP 249's names, rows, parameters and errors, and pandas on top."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import pandas as pd
import pytest

from parcomp.client import connect, dbapi
from parcomp.figures import AnswerColumn
from tests.service.served import EVERYONE, people


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with people(tmp_path_factory.mktemp("dbapi")) as served:
        yield served


@pytest.fixture
def connection(served):
    with connect(served.url, served.keys["anna"], epsilon="0.01") as opened:
        yield opened


def test_the_module_has_what_pep_249_names():
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "qmark")
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)


def test_rows_are_fetched_in_every_way(connection):
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()
    cursor.execute("SELECT age, COUNT(*) FROM people WHERE sex = ? GROUP BY age", ["F"])
    assert [column[0] for column in cursor.description] == ["age", "COUNT(*)"]
    assert cursor.rowcount == 10
    first = cursor.fetchone()
    assert first[0] == 0
    assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
    assert [row[0] for row in cursor] == [4, 5, 6, 7, 8, 9]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert cursor.answer.cost == 0.01
    cursor.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute(EVERYONE)


def test_pandas_reads_sql(connection):
    with warnings.catch_warnings():
        # It says that it is tested with SQLAlchemy's connections only.
        warnings.simplefilter("ignore", UserWarning)
        frame = pd.read_sql("SELECT sex, COUNT(*) FROM people GROUP BY sex", connection)
    assert list(frame.columns) == ["sex", "COUNT(*)"]
    assert list(frame["sex"]) == ["F", "M"]


def test_dates_are_dates():
    """As they are in a data frame of the answer; texts that are not all dates stay texts."""
    days, texts = AnswerColumn("day", ("2026-01-02", None)), AnswerColumn("text", ("2026-01-02", "2026-13-02"))
    assert dbapi._typed(days) == [datetime.date(2026, 1, 2), None]
    assert dbapi._typed(texts) == texts.values
    assert dbapi._typed(AnswerColumn("none", (None, None))) == (None, None)


def test_errors_have_pep_249s_names(served, connection):
    with pytest.raises(connection.ProgrammingError, match="line 1"):
        connection.cursor().execute("SELECT nothing")
    with (
        connect(served.url, served.keys["anna"], epsilon="0.99") as dear,
        pytest.raises(dbapi.OperationalError, match="leaves"),
    ):
        dear.cursor().execute(EVERYONE)
    with connect(served.url, "pc_x", epsilon="0.1") as stranger, pytest.raises(dbapi.OperationalError):
        stranger.cursor().execute(EVERYONE)
    with pytest.raises(dbapi.NotSupportedError):
        connection.cursor().executemany(EVERYONE, [])
    for costs in ({}, {"epsilon": "0.1", "rho": "0.1"}):
        with pytest.raises(dbapi.InterfaceError, match="epsilon"):
            connect(served.url, "pc_x", **costs)
    connection.commit()
    connection.rollback()
    connection.close()
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("it's", "'it''s'"),
        ("'; DROP TABLE people --", "'''; DROP TABLE people --'"),
        (7, "7"),
        (-1.5, "-1.5"),
        (Decimal("0.10"), "0.10"),
        (None, "NULL"),
        (True, "TRUE"),
        (datetime.date(2026, 1, 2), "DATE '2026-01-02'"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "TIMESTAMP '2026-01-02 03:04:05'"),
    ],
)
def test_parameters_are_written_as_literals(value, written):
    assert dbapi._written("a = ?", [value]) == f"a = {written}"


def test_marks_in_quotes_and_comments_are_none():
    sql = "SELECT '?', \"?\" -- ?\n /* ? */ FROM t WHERE a = ?"
    assert dbapi._written(sql, [1]) == sql[:-1] + "1"
    for parameters in ([], [1, 2], "x", {"a": 1}):
        with pytest.raises(dbapi.ProgrammingError):
            dbapi._written(sql, parameters)
    for value in (float("nan"), float("inf"), b"x", object()):
        with pytest.raises(dbapi.DataError):
            dbapi._written("?", [value])

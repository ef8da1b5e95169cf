"""A DB-API 2.0 connection (PEP 249): what reads SQL elsewhere, as pandas does, reads answers here.

Every statement costs what the connection says, ``epsilon="0.1"`` for example.  There is nothing to commit and nothing
to roll back: what was charged stays charged.  The same statement again is free, as the custodian keeps its answer.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from parcomp.client.client import Client
from parcomp.client.exchange import Amount
from parcomp.client.results import ServedAnswer
from parcomp.errors import (
    ArgumentError,
    CostError,
    IdempotencyError,
    ParcompError,
    RefusedError,
    ServiceError,
    SqlError,
    shown,
)
from parcomp.figures import AnswerColumn
from parcomp.tabular import days_of

__all__ = [
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel: Final = "2.0"
threadsafety: Final = 1
paramstyle: Final = "qmark"


class Warning(Exception):  # noqa: N818  the name is PEP 249's
    """Something that matters, and is no error."""


class Error(ParcompError):
    """The root of the errors of this interface."""


class InterfaceError(Error):
    """The interface is used in a way that it does not have."""


class DatabaseError(Error):
    """The server does not do what is asked."""


class DataError(DatabaseError):
    """A value cannot be written as SQL."""


class OperationalError(DatabaseError):
    """The server cannot be reached, or budget or quota do not bear a statement."""


class IntegrityError(DatabaseError):
    """An idempotency key stands for another request."""


class InternalError(DatabaseError):
    """The server's answer is not what it should be."""


class ProgrammingError(DatabaseError):
    """A statement is not in the dialect that is answered."""


class NotSupportedError(DatabaseError):
    """What is asked for is not there."""


def connect(
    url: str,
    key: str | None = None,
    *,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    mu: Amount | None = None,
    timeout: float = 60.0,
) -> Connection:
    """A connection on which every statement costs the same, in the parameter of the dataset's measure."""
    costs = {name: cost for name, cost in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if cost is not None}
    if len(costs) != 1:
        raise InterfaceError('say what a statement costs: connect(url, key, epsilon="0.1"), or rho or mu')
    return Connection(Client(url, key, timeout=timeout), costs)


class Connection:
    """A client, and what every statement on it costs."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, client: Client, costs: dict[str, Amount]) -> None:
        self._client: Client | None = client
        self._costs = costs

    def cursor(self) -> Cursor:
        """A cursor, to execute statements with."""
        self._open()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: what was charged is charged."""
        self._open()

    def rollback(self) -> None:
        """Nothing can be taken back: an answer that was given stays charged."""
        self._open()

    def close(self) -> None:
        """Let go of the server."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> Client:
        if self._client is None:
            raise InterfaceError("the connection is closed")
        return self._client

    def _ask(self, sql: str) -> ServedAnswer:
        client, costs = self._open(), self._costs
        try:
            return client.ask(sql, epsilon=costs.get("epsilon"), rho=costs.get("rho"), mu=costs.get("mu"))
        except SqlError as error:
            raise ProgrammingError(str(error)) from error
        except (ArgumentError, CostError) as error:
            raise ProgrammingError(str(error)) from error
        except (RefusedError, ServiceError) as error:
            raise OperationalError(str(error)) from error
        except IdempotencyError as error:
            raise IntegrityError(str(error)) from error


class Cursor:
    """Executes statements, and hands out the rows of the last answer."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection | None = connection
        self.answer: ServedAnswer | None = None
        """The last answer, with its intervals and its cost."""
        self._rows: tuple[tuple[Any, ...], ...] = ()
        self._at = 0

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """The columns: a name each, and nothing of types, which are those of the rows."""
        if self.answer is None:
            return None
        return [(name, None, None, None, None, None, None) for name in self.answer.names]

    @property
    def rowcount(self) -> int:
        """How many rows the last answer has."""
        return -1 if self.answer is None else len(self._rows)

    def execute(self, operation: str, parameters: Sequence[object] | None = None) -> Cursor:
        """Pay for a statement and get its answer; a question mark stands for each parameter."""
        self.answer, self._at = self._open()._ask(_written(operation, parameters or ())), 0
        self._rows = tuple(zip(*map(_typed, self.answer.columns), strict=True))
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[object]]) -> None:  # noqa: ARG002
        """Not offered: every answer is paid for, so each is asked for by itself."""
        raise NotSupportedError("execute statements one by one, or ask for them together with Client.ask_batch")

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        if self.answer is None:
            raise InterfaceError("no statement was executed that has rows")
        begin = self._at
        self._at = min(begin + (self.arraysize if size is None else size), len(self._rows))
        return list(self._rows[begin : self._at])

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self.fetchmany(self.rowcount)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Forget the answer; the cursor is of no more use."""
        self.connection = self.answer = None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> Connection:
        if self.connection is None:
            raise InterfaceError("the cursor is closed")
        return self.connection


def _typed(column: AnswerColumn) -> Sequence[object]:
    """The values of a column; labels that are all ISO dates are dates, as they are in data frames."""
    return column.values if column.figures is not None else days_of(column.values) or column.values


_QUOTED_OR_MARK = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?", re.DOTALL)


def _written(operation: str, parameters: Sequence[object]) -> str:
    """The statement with its parameters as literals; a question mark in quotes or in a comment is none.

    >>> _written("SELECT COUNT(*) FROM t WHERE a = ? AND b <> '?'", ["it's"])
    "SELECT COUNT(*) FROM t WHERE a = 'it''s' AND b <> '?'"
    """
    if isinstance(parameters, (str, bytes, dict)) or not isinstance(parameters, Sequence):
        raise ProgrammingError("parameters are a list, one for each question mark")
    values, used = list(parameters), 0

    def put(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] != "?":
            return found[0]
        if used == len(values):
            raise ProgrammingError(f"the statement has more question marks than the {len(values)} parameters")
        used += 1
        return _literal(values[used - 1])

    written = _QUOTED_OR_MARK.sub(put, operation)
    if used < len(values):
        raise ProgrammingError(f"the statement has {used} question marks for {len(values)} parameters")
    return written


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (int, float, Decimal)) and Decimal(value).is_finite():
        return str(value) if not isinstance(value, Decimal) else format(value, "f")
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    raise DataError(f"{shown(value)} cannot be written as SQL")

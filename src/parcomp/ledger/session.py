"""One connection to a database, and what a ledger asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, TypeAlias

from parcomp.errors import LedgerError
from parcomp.ledger.binding import Binding

__all__ = ["ConnectionLostError", "Dialect", "Execute", "Session"]

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement, with ``?`` for values, and returns its rows."""


class ConnectionLostError(LedgerError):
    """The connection to the database broke; nothing is known of what was under way."""


class Session(ABC):
    """One connection to a database, to be used by one thread at a time.

    Everything that goes wrong is a :class:`~parcomp.errors.LedgerError`, a broken connection a
    :class:`ConnectionLostError`.  ``dialect`` is whose SQL it speaks where they differ.
    """

    dialect: ClassVar[Dialect]
    errors: ClassVar[tuple[type[Exception], ...]]
    """What the database's library raises."""

    _connection: Any

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    @abstractmethod
    def check_elsewhere(self, binding: Binding) -> None:
        """Raise if the database has a ledger of the dataset and version where this connection does not look for it."""

    @abstractmethod
    def begin(self, lock: int) -> None:
        """Begin a transaction that holds off all others with the same lock; waits for them."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction; it is durable when this returns."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo the transaction, if there is one."""

    def close(self) -> None:
        """Let go of the connection."""
        with self._told():
            self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """An error of the library becomes one of ours."""
        try:
            yield
        except self.errors as error:
            raise self._error(error) from None

    @abstractmethod
    def _error(self, error: Exception) -> LedgerError:
        """What an error of the library means for the ledger."""

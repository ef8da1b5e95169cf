"""Where tests keep ledgers, and ways to get at their databases past the ledger."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg

from parcomp.ledger.binding import Binding
from parcomp.ledger.postgres import PostgresSession
from parcomp.ledger.sqlite import SqliteSession
from parcomp.ledger.store import Ledger, open_ledger
from parcomp.ledger.tables import Session
from tests.ledger.entries import BINDING


@dataclass(frozen=True)
class Place:
    """Where a ledger is kept, and a way to get at its database past the ledger."""

    kind: str
    url: str

    def open(self, binding: Binding = BINDING, busy_seconds: float = 30.0) -> Ledger:
        return open_ledger(self.url, binding, busy_seconds=busy_seconds)

    def session(self) -> Session:
        if self.kind == "sqlite":
            return SqliteSession(Path(self.url.removeprefix("sqlite:///")), 30.0)
        return PostgresSession(self.url, 30.0)

    def execute(self, sql: str) -> None:
        if self.kind == "sqlite":
            with sqlite3.connect(self.url.removeprefix("sqlite:///")) as file:
                file.execute(sql)
            file.close()
        else:
            with psycopg.connect(self.url) as server:
                server.execute(sql.encode())


_schemas = count(1)


def fresh_schema(url: str) -> str:
    """The address at which unqualified tables are those of a schema of their own, by which connections are named."""
    name = f"ledger_{next(_schemas)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}%20-capplication_name%3D{name}"

"""Where tests keep ledgers, and ways to get at their databases past the ledger."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from parcomp.ledger import Binding, Ledger, chain_problems, create_ledger, open_ledger
from parcomp.ledger.postgres import PostgresSession
from parcomp.ledger.session import Session
from parcomp.ledger.sqlite import SqliteSession
from tests.ledger.entries import BINDING, entry


@dataclass(frozen=True)
class Place:
    """Where a ledger is kept, and a way to get at its database past the ledger."""

    kind: str
    url: str

    def create(self, binding: Binding = BINDING, busy_seconds: float = 30.0) -> Ledger:
        return create_ledger(self.url, binding, busy_seconds=busy_seconds)

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


_databases = count(1)


def fresh_database(url: str) -> str:
    """The address of a database of its own on the same server, by which connections are named."""
    name = f"ledger_{os.getpid()}_{next(_databases)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    parts = urlsplit(url)
    options = f"options=-capplication_name%3D{name}"
    return urlunsplit(parts._replace(path=f"/{name}", query=f"{parts.query}&{options}" if parts.query else options))


REWRITING = [
    "UPDATE parcomp_charge SET units = 1",
    "DELETE FROM parcomp_charge",
    "UPDATE parcomp_answer SET answer = 'other'",
    "DELETE FROM parcomp_answer",
    "DELETE FROM parcomp_request",
    "UPDATE parcomp_ledger SET budget_units = 2000000",
]


def charge(ledger: Ledger, *units: int) -> None:
    with ledger.transaction() as transaction:
        transaction.append([entry(one) for one in units])


def assert_whole(ledger: Ledger) -> None:
    assert chain_problems(ledger.charges(), ledger.binding.digest) == []

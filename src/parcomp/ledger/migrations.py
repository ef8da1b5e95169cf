"""The tables of a ledger, as numbered steps from an empty database.

The table ``parcomp_schema`` lists the steps that were taken.  Opening a ledger takes those that are missing, in one
transaction, and creating one takes them all.  A database with steps that this version does not know is refused:
charging without knowing all that is stored could overlook charges.

Both databases refuse to change or delete what was written.  In SQLite further triggers refuse what ``INSERT OR
REPLACE`` would do past them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parcomp.errors import LedgerError
from parcomp.ledger.charge import trail_after
from parcomp.ledger.session import Dialect, Execute

__all__ = ["STEPS", "Step", "has_tables", "migrate"]


@dataclass(frozen=True, slots=True)
class Step:
    """Statements that take the tables from the step before to this one, and what is done after them in Python."""

    number: int
    statements: tuple[str, ...]
    sqlite: tuple[str, ...] = ()
    postgresql: tuple[str, ...] = ()
    after: Callable[[Execute], None] | None = None


_APPEND_ONLY = ("parcomp_ledger", "parcomp_charge", "parcomp_answer", "parcomp_request")
_REFUSED = "the ledger is append-only"

_REQUESTS = """CREATE TABLE parcomp_request (
    ledger INTEGER NOT NULL REFERENCES parcomp_ledger, analyst TEXT NOT NULL, request_key TEXT NOT NULL,
    body_digest TEXT NOT NULL, charges TEXT NOT NULL, PRIMARY KEY (ledger, analyst, request_key))"""

_TABLES = (
    """CREATE TABLE parcomp_ledger (
        ledger INTEGER PRIMARY KEY, dataset TEXT NOT NULL, version TEXT NOT NULL, domain TEXT NOT NULL,
        measure TEXT NOT NULL, budget_units BIGINT NOT NULL, neighbours TEXT NOT NULL, rows_per_person BIGINT NOT NULL,
        UNIQUE (dataset, version))""",
    """CREATE TABLE parcomp_charge (
        ledger INTEGER NOT NULL REFERENCES parcomp_ledger, number BIGINT NOT NULL, time TEXT NOT NULL,
        analyst TEXT NOT NULL, statement TEXT NOT NULL, charged_where TEXT NOT NULL, units BIGINT NOT NULL,
        upper_units BIGINT NOT NULL, batch TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (ledger, number))""",
    """CREATE TABLE parcomp_answer (
        ledger INTEGER NOT NULL, number BIGINT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (ledger, number),
        FOREIGN KEY (ledger, number) REFERENCES parcomp_charge)""",
    _REQUESTS,
)


def _sqlite_trigger(table: str, action: str, when: str = "") -> str:
    return f"""CREATE TRIGGER {table}_{action.lower()} BEFORE {action} ON {table} {when}
        BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"""


def _sqlite_triggers(tables: Sequence[str]) -> tuple[str, ...]:
    return tuple(_sqlite_trigger(table, action) for table in tables for action in ("UPDATE", "DELETE"))


def _postgresql_triggers(tables: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"""CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION parcomp_append_only()"""
        for table in tables
    )


_SQLITE_TRIGGERS = (
    *_sqlite_triggers(_APPEND_ONLY),
    _sqlite_trigger(
        "parcomp_charge",
        "INSERT",
        "WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM parcomp_charge WHERE ledger = NEW.ledger)",
    ),
    _sqlite_trigger(
        "parcomp_answer",
        "INSERT",
        "WHEN EXISTS (SELECT 1 FROM parcomp_answer WHERE ledger = NEW.ledger AND number = NEW.number)",
    ),
)

_POSTGRESQL_TRIGGERS = (
    f"""CREATE FUNCTION parcomp_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$""",
    *_postgresql_triggers(_APPEND_ONLY),
)

_TIED = ("parcomp_answer", "parcomp_request")

_TIED_TABLES = (
    "ALTER TABLE parcomp_ledger ADD COLUMN source TEXT NOT NULL DEFAULT ''",
    "CREATE UNIQUE INDEX parcomp_charge_digest ON parcomp_charge (ledger, digest)",
    *(f"ALTER TABLE {table} RENAME TO {table}_by_number" for table in _TIED),
    """CREATE TABLE parcomp_answer (
        ledger INTEGER NOT NULL REFERENCES parcomp_ledger, digest TEXT NOT NULL, position BIGINT NOT NULL,
        answer TEXT NOT NULL, trail TEXT NOT NULL, PRIMARY KEY (ledger, digest), UNIQUE (ledger, position))""",
    _REQUESTS,
)


def _tie_by_digests(execute: Execute) -> None:
    """Turn the numbers of the charges that answers and requests belong to into their digests."""
    digests = {(row[0], row[1]): row[2] for row in execute("SELECT ledger, number, digest FROM parcomp_charge")}
    trails: dict[int, tuple[int, str]] = {}
    for ledger, number, answer in execute(
        "SELECT ledger, number, answer FROM parcomp_answer_by_number ORDER BY ledger, number"
    ):
        position, trail = trails.get(ledger, (0, ""))
        trails[ledger] = position + 1, trail_after(trail, digests[ledger, number], answer)
        execute(
            "INSERT INTO parcomp_answer (ledger, digest, position, answer, trail) VALUES (?, ?, ?, ?, ?)",
            (ledger, digests[ledger, number], position + 1, answer, trails[ledger][1]),
        )
    for ledger, *request, charges in execute(
        "SELECT ledger, analyst, request_key, body_digest, charges FROM parcomp_request_by_number"
    ):
        numbers, fresh = json.loads(charges)
        tied = [None if number is None else digests[ledger, number] for number in numbers]
        execute("INSERT INTO parcomp_request VALUES (?, ?, ?, ?, ?)", (ledger, *request, json.dumps([tied, fresh])))
    for table in _TIED:
        execute(f"DROP TABLE {table}_by_number")


_KEYS = ("parcomp_key", "parcomp_key_revoked")

_KEY_TABLES = (
    """CREATE TABLE parcomp_key (
        ledger INTEGER NOT NULL REFERENCES parcomp_ledger, number BIGINT NOT NULL, name TEXT NOT NULL,
        role TEXT NOT NULL, digest TEXT NOT NULL, added TEXT NOT NULL, PRIMARY KEY (ledger, number),
        UNIQUE (ledger, digest))""",
    """CREATE TABLE parcomp_key_revoked (
        ledger INTEGER NOT NULL REFERENCES parcomp_ledger, number BIGINT NOT NULL, revoked TEXT NOT NULL,
        PRIMARY KEY (ledger, number), FOREIGN KEY (ledger, number) REFERENCES parcomp_key)""",
)

_STRATEGIES = ("parcomp_strategy",)

_STRATEGY_TABLES = (
    """CREATE TABLE parcomp_strategy (
        ledger INTEGER NOT NULL REFERENCES parcomp_ledger, digest TEXT NOT NULL, content TEXT NOT NULL,
        PRIMARY KEY (ledger, digest))""",
)


STEPS: Sequence[Step] = (
    Step(1, _TABLES, sqlite=_SQLITE_TRIGGERS, postgresql=_POSTGRESQL_TRIGGERS),
    # Answers and requests belong to a charge by its digest: its number could be given to another one.
    Step(
        2,
        _TIED_TABLES,
        sqlite=(
            "DROP TRIGGER parcomp_answer_insert",
            *(f"DROP TRIGGER {table}_{action}" for table in _TIED for action in ("update", "delete")),
            *_sqlite_triggers(_TIED),
            _sqlite_trigger(
                "parcomp_answer",
                "INSERT",
                """WHEN NEW.position <> (
                    SELECT coalesce(max(position), 0) + 1 FROM parcomp_answer WHERE ledger = NEW.ledger)
                OR EXISTS (SELECT 1 FROM parcomp_answer WHERE ledger = NEW.ledger AND digest = NEW.digest)""",
            ),
        ),
        postgresql=_postgresql_triggers(_TIED),
        after=_tie_by_digests,
    ),
    # Which rows the first charges counted, so that no others pass for them when the coded table is made again.
    Step(3, ("ALTER TABLE parcomp_ledger ADD COLUMN first_rows TEXT NOT NULL DEFAULT ''",)),
    # Keys by which analysts ask over the network.
    Step(
        4,
        _KEY_TABLES,
        sqlite=(
            *_sqlite_triggers(_KEYS),
            *(
                _sqlite_trigger(
                    table,
                    "INSERT",
                    f"WHEN EXISTS (SELECT 1 FROM {table} WHERE ledger = NEW.ledger AND number = NEW.number)",
                )
                for table in _KEYS
            ),
        ),
        postgresql=_postgresql_triggers(_KEYS),
    ),
    # The matrices of strategies, each with its charge: planned anew, one may be another than was charged.
    Step(
        5,
        _STRATEGY_TABLES,
        sqlite=(
            *_sqlite_triggers(_STRATEGIES),
            _sqlite_trigger(
                "parcomp_strategy",
                "INSERT",
                "WHEN EXISTS (SELECT 1 FROM parcomp_strategy WHERE ledger = NEW.ledger AND digest = NEW.digest)",
            ),
        ),
        postgresql=_postgresql_triggers(_STRATEGIES),
    ),
)

_EXISTS: dict[Dialect, str] = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = 'parcomp_schema'",
    "postgresql": "SELECT count(to_regclass('parcomp_schema'))",
}


def has_tables(execute: Execute, dialect: Dialect) -> bool:
    """Whether the database has the tables of ledgers, of whatever step."""
    return bool(execute(_EXISTS[dialect])[0][0])


def migrate(execute: Execute, dialect: Dialect, steps: Sequence[Step] = STEPS) -> None:
    """Take the steps that are missing; to be called within a transaction that holds off all others."""
    # Asked for first, since a user who may not create tables may still use those there are.
    if not has_tables(execute, dialect):
        execute("CREATE TABLE parcomp_schema (step INTEGER PRIMARY KEY)")
    taken = {row[0] for row in execute("SELECT step FROM parcomp_schema")}
    known = [step.number for step in steps]
    if not taken <= set(known):
        raise LedgerError(
            f"the ledger's tables are of step {max(taken)}, this version of Parcomp knows step {max(known)}; "
            "use the version that made them, or a later one"
        )
    for step in steps:
        if step.number not in taken:
            for statement in (*step.statements, *getattr(step, dialect)):
                execute(statement)
            if step.after is not None:
                step.after(execute)
            execute("INSERT INTO parcomp_schema (step) VALUES (?)", (step.number,))

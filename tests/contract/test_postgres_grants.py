"""The rights that docs/ledger.md grants on a ledger in PostgreSQL suffice, and a service without them says so."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from parcomp.custodian import Access, Custodian, Settings
from parcomp.errors import LedgerError
from parcomp.service import serve
from tests.contract.ledger_places import fresh_database
from tests.custodians import audited, write_custodian
from tests.docs.pages import DOCS, blocks
from tests.service.served import add_keys, serving

STATEMENTS = [f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in (3, 5, 8)]
SERVING, TENDING = (block.text for block in blocks(DOCS / "ledger.md") if block.language == "sql")
_clerks = count(1)


@dataclass(frozen=True)
class Clerk:
    """A user with no rights but those that are granted, and a custodian whose settings name that user."""

    role: str
    owner: psycopg.Connection
    path: Path
    keys: dict[str, str]

    def grant(self, sql: str) -> None:
        """Run the statements of a page, for this user in place of theirs."""
        self.owner.execute(re.sub(r"\b(TO|FROM) parcomp;", rf"\1 {self.role};", sql).encode())


@pytest.fixture
def clerk(postgres_url: str, tmp_path: Path) -> Iterator[Clerk]:
    url, role = fresh_database(postgres_url), f"clerk_{next(_clerks)}"
    path = write_custodian(tmp_path, measure="zcdp", ledger=url)
    keys = add_keys(path, anna="analyst", boss="custodian")
    path.write_text(path.read_text().replace("://postgres:", f"://{role}:", 1))
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
        yield Clerk(role, owner, path, keys)
        owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_the_documented_rights_are_enough_to_ask_verify_and_serve(clerk: Clerk) -> None:
    clerk.grant(SERVING)
    with Custodian.open(clerk.path) as custodian:
        assert custodian.ask(STATEMENTS[0], rho="0.01", key="once").charge == 1
        assert custodian.ask_batch(STATEMENTS, budget="0.1", strategy="correlated", key="all")[0].charge == 2
        assert custodian.ask_batch(STATEMENTS, budget="0.1", strategy="atoms")[0].charge == 3
        assert len(custodian.estimates()) > 0
        assert audited(custodian.settings).ok
    with serving(clerk.path) as served:
        served.keys.update(clerk.keys)
        assert served.get("/readyz", None).status_code == 200
        body = {"statements": [{"sql": sql} for sql in STATEMENTS], "budget": "0.2", "strategy": "correlated"}
        assert served.call("POST", "/v1/batches", json=body).json()["answers"][0]["charge"] == 4
        assert len(served.charges()) == 4
        assert served.call("POST", "/console/audits", "boss", json={}).json()["ok"]


def test_the_rights_to_keep_keys_are_those_that_are_documented(clerk: Clerk) -> None:
    clerk.grant(SERVING)
    with Access(Settings.load(clerk.path)) as access:
        with pytest.raises(LedgerError, match="permission denied for table parcomp_key"):
            access.add("ben", "analyst")
        clerk.grant(TENDING)
        access.add("ben", "analyst")
        assert [one.name for one in access.revoke("ben")] == ["ben"]


def test_nothing_that_is_written_can_be_changed_with_the_documented_rights(clerk: Clerk) -> None:
    clerk.grant(SERVING + TENDING)
    tables = [name for (name,) in clerk.owner.execute("SELECT tablename FROM pg_tables WHERE tablename ~ '^parcomp_'")]
    assert len(tables) == 8
    for table in tables:
        for right in ("UPDATE", "DELETE", "TRUNCATE", "TRIGGER"):
            held = clerk.owner.execute("SELECT has_table_privilege(%s, %s, %s)", (clerk.role, table, right))
            assert held.fetchone() == (False,), (table, right)


def test_a_service_that_cannot_read_keys_is_not_ready_and_says_why(clerk: Clerk) -> None:
    """It does not start either: everybody would be turned away, and nobody would know why."""
    clerk.grant(SERVING)
    with serving(clerk.path) as served, capture_logs() as logged:
        served.keys.update(clerk.keys)
        assert served.get("/v1/budget").status_code == 200
        clerk.grant("REVOKE SELECT ON parcomp_key FROM parcomp;")
        ready = served.get("/readyz", None)
        assert ready.status_code == 503
        assert "parcomp_key" not in ready.text
        # The list of keys may be as old as this.
        time.sleep(0.6)
        assert served.get("/v1/budget").status_code == 503
    for event in ("ledger", "keys"):
        told = [line["reason"] for line in logged if line["event"] == event]
        assert told, event
        assert all("permission denied for table parcomp_key" in reason for reason in told)
    with pytest.raises(LedgerError, match="permission denied for table parcomp_key"):
        serve(clerk.path, port=0, announce=lambda _: pytest.fail("it is not ready to serve"))

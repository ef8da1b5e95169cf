"""What a ledger in PostgreSQL promises beyond the contract of all ledgers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from parcomp.errors import LedgerError, MissingLedgerError
from parcomp.ledger import Ledger, create_ledger, open_ledger
from parcomp.ledger.charge import chain_problems
from parcomp.ledger.postgres import PostgresSession
from tests.contract.ledger_places import fresh_database
from tests.ledger.entries import BINDING, entry


@pytest.fixture
def url(postgres_url: str) -> str:
    return fresh_database(postgres_url)


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = create_ledger(url, BINDING)
    yield opened
    opened.close()


def charge(ledger: Ledger, units: int) -> None:
    with ledger.transaction() as transaction:
        transaction.append([entry(units)])


def break_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()"
        )


def test_one_database_holds_a_ledger_for_each_version_of_each_dataset(url: str, ledger: Ledger) -> None:
    others = [
        create_ledger(url, binding) for binding in (replace(BINDING, version="2"), replace(BINDING, dataset="firms"))
    ]
    with ledger.transaction() as mine:
        mine.append([entry(1)])
        # A transaction holds off those on the same ledger only.
        for units, other in enumerate(others, 2):
            charge(other, units)
            assert other.store_answer(other.head()[1], f"answer {units}") == f"answer {units}"
    assert [[one.units for one in one_of.charges()] for one_of in (ledger, *others)] == [[1], [2], [3]]
    assert ledger.answered() == (0, "")
    for one_of in (ledger, *others):
        assert chain_problems(one_of.charges(), one_of.binding.digest) == []
        one_of.close()
    again = open_ledger(url, replace(BINDING, version="2"))
    assert [one.units for one in again.charges()] == [2]
    again.close()


def test_another_search_path_is_no_fresh_budget(url: str, ledger: Ledger) -> None:
    charge(ledger, 1)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA aside")
    aside = f"{url}%20-csearch_path%3Daside"
    with pytest.raises(MissingLedgerError, match="as it is seen from this address"):
        open_ledger(aside, BINDING)
    with pytest.raises(LedgerError, match="the schema 'public' of the database has a ledger of 'people'"):
        create_ledger(aside, replace(BINDING, dataset=" People"))
    create_ledger(aside, replace(BINDING, version="2")).close()
    with pytest.raises(LedgerError, match="the schema 'aside' of the database has a ledger of 'people' version '2'"):
        create_ledger(url, replace(BINDING, version="2"))


def test_a_ledger_that_may_not_be_read_is_not_passed_over(url: str, ledger: Ledger) -> None:
    role = f"stranger_{random.Random(url).randrange(10**9)}"
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN; CREATE SCHEMA own AUTHORIZATION {role}".encode())
    stranger = url.replace("://postgres:", f"://{role}:", 1) + "%20-csearch_path%3Down"
    with pytest.raises(
        LedgerError, match="the schema 'public' of the database has ledgers that this user may not read"
    ):
        create_ledger(stranger, BINDING)


def test_text_is_kept_whatever_encoding_the_client_is_set_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    ledger = create_ledger(url, BINDING)
    with ledger.transaction() as transaction:
        (charged,) = transaction.append([entry(1, analyst="Zoë ☃")])
    assert ledger.charges() == [charged]
    assert chain_problems(ledger.charges(), BINDING.digest) == []
    ledger.close()


def test_text_that_the_database_cannot_hold_is_an_error(postgres_url: str) -> None:
    name = f"latin_{random.Random(postgres_url).randrange(10**9)}"
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0".encode()
        )
    ledger = create_ledger(postgres_url.replace("/postgres?", f"/{name}?"), BINDING)
    with pytest.raises(LedgerError, match="cannot be read or written"), ledger.transaction() as transaction:
        transaction.append([entry(1, analyst="☃")])
    assert ledger.charges() == []
    ledger.close()


def test_a_lost_connection_is_made_again(url: str, ledger: Ledger) -> None:
    for units in range(1, 4):
        charge(ledger, units)
        assert len(ledger.charges()) == units
        break_connections(url)
        if units == 2:
            assert len(ledger.charges()) == units
    assert ledger.head()[0] == 3
    ledger.store_answer(ledger.head()[1], "x")
    assert chain_problems(ledger.charges(), BINDING.digest) == []


def test_a_connection_lost_within_a_transaction_is_an_error_and_charges_nothing(url: str, ledger: Ledger) -> None:
    charge(ledger, 1)

    def lose(*, before: bool) -> None:
        with ledger.transaction() as transaction:
            if before:
                break_connections(url)
            transaction.append([entry(2)])
            if not before:
                break_connections(url)

    for before in (True, False):
        with pytest.raises(LedgerError, match="lost"):
            lose(before=before)
    charge(ledger, 3)
    assert [one.units for one in ledger.charges()] == [1, 3]


def test_a_commit_that_the_server_turned_into_a_rollback_is_an_error(url: str, ledger: Ledger) -> None:
    """COMMIT after a failed statement answers ROLLBACK, and raises nothing."""
    session = PostgresSession(url, 5.0)
    session.begin(1)
    with pytest.raises(LedgerError, match="cannot be read or written"):
        session.execute("SELECT nonsense")
    with pytest.raises(LedgerError, match="did not commit"):
        session.commit()
    session.close()
    charge(ledger, 1)


def test_commits_wait_for_the_disk_whatever_the_database_is_set_to(url: str) -> None:
    weakened = f"{url}%20-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    session = PostgresSession(weakened, 5.0)
    assert session.execute("SHOW synchronous_commit") == [("off",)]
    session.begin(1)
    assert session.execute("SHOW synchronous_commit") == [("on",)]
    assert session.execute("SHOW transaction_isolation") == [("read committed",)]
    session.rollback()
    session.close()


def test_a_user_who_may_only_read_and_insert_can_charge(url: str, ledger: Ledger) -> None:
    schema = "public"
    role = f"clerk_{random.Random(url).randrange(10**9)}"
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}".encode())
        owner.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}".encode())
    clerk = open_ledger(url.replace("://postgres:", f"://{role}:", 1), BINDING)
    charge(clerk, 4)
    assert clerk.store_answer(clerk.head()[1], "x") == "x"
    assert [one.units for one in ledger.charges()] == [4]
    clerk.close()


@pytest.mark.parametrize("address", ["postgresql://u:secret@[::1/db", "postgresql://u:secret@127.0.0.1:1/db"])
def test_an_address_that_leads_nowhere_is_an_error_without_its_password(address: str) -> None:
    with pytest.raises(LedgerError, match=r"address of the ledger|cannot be reached") as error:
        open_ledger(address, BINDING)
    assert "secret" not in str(error.value)

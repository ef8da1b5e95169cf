"""Keys in every database: kept as digests, found while they are good, and never changed or deleted."""

from __future__ import annotations

import pytest

from parcomp.errors import LedgerError, SettingsError
from parcomp.ledger import Ledger, Role, find_key, key_digest, new_key
from tests.contract.ledger_places import Place


def add(ledger: Ledger, name: str, role: Role = Role.ANALYST) -> str:
    key = new_key()
    with ledger.transaction() as transaction:
        transaction.add_key(name, role, key_digest(key))
    return key


def revoke(ledger: Ledger, name: str, **how: bool) -> list[int]:
    with ledger.transaction() as transaction:
        return [one.number for one in transaction.revoke_keys(name, **how)]


def test_a_key_is_found_until_it_is_revoked_also_from_another_connection(place: Place, ledger: Ledger) -> None:
    anna, boss = add(ledger, "anna"), add(ledger, "boss", Role.CUSTODIAN)
    other = place.open()
    found = find_key(other.access_keys(), boss)
    assert found is not None
    assert (found.number, found.name, found.role) == (2, "boss", Role.CUSTODIAN)
    assert find_key(other.access_keys(), anna + "x") is None
    assert find_key(other.access_keys(), "") is None
    assert revoke(ledger, "anna") == [1]
    assert find_key(other.access_keys(), anna) is None
    assert find_key(other.access_keys(), boss) is not None
    assert revoke(ledger, "anna") == []
    other.close()


def test_the_database_holds_no_key(place: Place, ledger: Ledger) -> None:
    key = add(ledger, "anna")
    kept = place.session().execute("SELECT * FROM parcomp_key")
    assert key_digest(key) in kept[0]
    assert not any(key in str(field) or key[3:] in str(field) for field in kept[0])


def test_keys_are_rotated_without_a_gap(ledger: Ledger) -> None:
    """A second key is good beside the first, and the first is revoked alone."""
    first, second = add(ledger, "anna"), add(ledger, "anna")
    assert find_key(ledger.access_keys(), first)
    assert revoke(ledger, "anna", older=True) == [1]
    assert not find_key(ledger.access_keys(), first)
    assert find_key(ledger.access_keys(), second)


def test_a_name_has_one_role_at_a_time(ledger: Ledger) -> None:
    add(ledger, "anna")
    with pytest.raises(SettingsError, match="as analyst already"):
        add(ledger, "anna", Role.CUSTODIAN)
    revoke(ledger, "anna")
    add(ledger, "anna", Role.CUSTODIAN)


@pytest.mark.parametrize("name", ["", " anna", "a\nb", "x" * 101, "a\0"])
def test_names_are_checked(ledger: Ledger, name: str) -> None:
    with pytest.raises(SettingsError, match="a key is in a name"):
        add(ledger, name)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM parcomp_key_revoked",
        "UPDATE parcomp_key SET role = 'custodian'",
        "DELETE FROM parcomp_key",
        "UPDATE parcomp_key_revoked SET number = 2",
    ],
)
def test_nobody_gives_a_revoked_key_back_by_sql(place: Place, ledger: Ledger, statement: str) -> None:
    add(ledger, "anna")
    add(ledger, "ben")
    revoke(ledger, "anna")
    with pytest.raises(LedgerError, match="append-only"):
        place.session().execute(statement)


def test_sqlite_does_not_replace_a_key_either(place: Place, ledger: Ledger) -> None:
    if place.kind != "sqlite":
        pytest.skip("only SQLite has INSERT OR REPLACE")
    add(ledger, "anna")
    with pytest.raises(LedgerError, match="append-only"):
        place.session().execute(
            "INSERT OR REPLACE INTO parcomp_key "
            "SELECT ledger, number, name, 'custodian', digest, added FROM parcomp_key"
        )

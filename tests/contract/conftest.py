"""A place for a ledger in each database, and a ledger there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parcomp.ledger import Ledger
from tests.contract.ledger_places import Place, fresh_database


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place("sqlite", f"sqlite:///{tmp_path / 'ledger.db'}")
    return Place("postgresql", fresh_database(request.getfixturevalue("postgres_url")))


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    opened = place.create()
    yield opened
    opened.close()

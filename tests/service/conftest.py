"""One service for the tests that charge nothing, and one of its own for each that does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.served import Served, people


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with people(tmp_path_factory.mktemp("shared")) as served:
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with people(tmp_path / "served") as served:
        yield served

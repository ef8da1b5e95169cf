"""Cases that are left to ``make soak``: the same tests with more of them than ``make test`` has time for."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["shared_with_soak", "soaked"]


def soaked(*values: object) -> Any:
    """A case that only ``make soak`` takes, for up to an hour."""
    return pytest.param(*values, marks=[pytest.mark.soak, pytest.mark.timeout(3_600)])


def shared_with_soak(chunks: int, left: int) -> list[Any]:
    """The numbers of so many chunks of cases, of which the last ones are left to ``make soak``."""
    return [*range(chunks - left), *map(soaked, range(chunks - left, chunks))]

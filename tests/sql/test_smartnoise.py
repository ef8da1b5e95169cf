"""Nothing is refused that SmartNoise SQL takes, but for a few things with a reason each."""

from __future__ import annotations

import pytest

from parcomp.errors import SqlError
from parcomp.sql import parse_selection
from tests.sql.small_table import DOMAIN, answer_of
from tests.sql.smartnoise import EXCEPTIONS, TAKEN


def test_the_tables_are_long_and_without_doubles() -> None:
    assert len({*TAKEN, *EXCEPTIONS}) == len(TAKEN) + len(EXCEPTIONS) > 150
    assert all(reason and says for reason, says in EXCEPTIONS.values())
    assert len(EXCEPTIONS) < len(TAKEN) / 5


@pytest.mark.parametrize("text", TAKEN)
def test_what_smartnoise_takes_is_answered(text: str) -> None:
    names, rows, _ = answer_of(parse_selection(DOMAIN, text))
    assert names
    assert rows or "HAVING" in text
    assert all(len(row) == len(names) for row in rows)


@pytest.mark.parametrize("text", EXCEPTIONS)
def test_an_exception_says_what_works(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_selection(DOMAIN, text)
    assert EXCEPTIONS[text][1] in caught.value.message
    assert ";" in caught.value.message

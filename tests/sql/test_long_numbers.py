"""Numbers of more digits than the decimal context has are read exactly, whatever their sign."""

from __future__ import annotations

import pytest

import parcomp as pc
from parcomp.sql import parse_statement

DOMAIN = pc.Domain({"x": pc.Integer(-5, 5)}, name="people")


@pytest.mark.parametrize("digits", [27, 28, 29, 30, 60])
def test_a_negative_number_of_many_digits_is_not_rounded(digits):
    """−2.00…01 is below −2 and −1.99…9 above it: rounded to 28 digits, both would be −2 itself."""
    below, above = f"-2.{'0' * (digits - 2)}1", f"-1.{'9' * (digits - 1)}"
    for condition, expected in (
        (f"x > {below}", range(-2, 6)),
        (f"x >= {above}", range(-1, 6)),
        (f"x < {above}", range(-5, -1)),
        (f"x <= {below}", range(-5, -2)),
        (f"x BETWEEN {below} AND - {above.lstrip('-')}", range(-2, -1)),
    ):
        statement = parse_statement(DOMAIN, f"SELECT COUNT(*) FROM people WHERE {condition}", {"people"})
        wanted = parse_statement(
            DOMAIN, f"SELECT COUNT(*) FROM people WHERE x IN ({', '.join(map(str, expected))})", {"people"}
        )
        assert statement.text == wanted.text


@pytest.mark.parametrize("number", ["0." + "3" * 5_000, "0." + "0" * 4_999 + "1", "1" * 5_000, "1e-5000", "1e5000"])
def test_a_quantile_at_a_number_of_thousands_of_digits_is_refused_by_its_place(number):
    """Python writes no whole number of more than 4,300 digits, so no message may hold one."""
    for call in (f"PERCENTILE_CONT({number}) WITHIN GROUP (ORDER BY x)", f"QUANTILE_CONT(x, {number})"):
        with pytest.raises(pc.errors.SqlError, match=r"line 1, column \d+: .*quantile") as caught:
            parse_statement(DOMAIN, f"SELECT {call} FROM people")
        assert len(str(caught.value)) < 200

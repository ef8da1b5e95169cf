"""Answers, quotes and balances as people read them: numbers in steps of their attribute, amounts with their unit."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from parcomp.cli import main
from parcomp.custodian import BatchQuote, Custodian
from parcomp.errors import RefusedError
from parcomp.tabular import error_text, number_text
from tests.custodians import PEOPLE, open_custodian, write_custodian

EVERYONE = "SELECT COUNT(*) FROM people"
MONEY = {
    "name": "people",
    "attributes": {
        **PEOPLE["attributes"],
        "cost": {"low": "0.00", "high": "50000.00", "step": "0.01"},
    },
}
ROWS = [{"sex": "F", "age": place % 10, "cost": f"{place * 49}.{place % 100:02}"} for place in range(1_000)]
CENTS = r"-?[0-9]{1,3}(,[0-9]{3})*\.[0-9]{2}"


@pytest.fixture(scope="module")
def money(tmp_path_factory):
    directory = tmp_path_factory.mktemp("money")
    settings = write_custodian(
        directory, rows=ROWS, domain=MONEY, budget="1000", rows_per_person=2, quotas={"anna": "900"}
    )
    return settings


def test_money_is_written_out_to_the_cent(money, capsys):
    """In a terminal and in Python: value, interval and error have no exponent, and no cent is lost."""
    for sql in ("SELECT SUM(cost) FROM people", "SELECT MEDIAN(cost) FROM people"):
        assert main(["ask", "-c", str(money), sql, "--epsilon", "3", "--as", "anna"]) == 0
        shown = capsys.readouterr().out
        assert re.match(rf"{CENTS} +95 % interval {CENTS} to {CENTS}\n", shown), shown
        assert not re.search(r"[0-9]e\+", shown)
    # Quoted errors too: one row moves the sum by 50,000.
    more = "SELECT SUM(cost) FROM people WHERE age > 2"
    assert main(["quote", "-c", str(money), more, "--epsilon", "0.01", "--as", "anna"]) == 0
    assert "± 5,000,000 on average" in capsys.readouterr().out


def test_numbers_of_a_column_have_the_same_decimals(tmp_path):
    with open_custodian(tmp_path, rows=ROWS, domain=MONEY, budget="100") as custodian:
        answer = custodian.ask("SELECT age, SUM(cost), COUNT(*), AVG(cost) FROM people GROUP BY age", epsilon=9)
        lines = str(answer).splitlines()[1:11]
        assert all(re.match(rf"[0-9] +{CENTS} +{CENTS} to {CENTS} +[0-9]+ ", line) for line in lines), lines
        assert not re.search(r"[0-9]e\+", str(answer))
        assert re.search(rf"SUM\(cost\): {CENTS}", repr(custodian.ask("SELECT SUM(cost) FROM people", epsilon=1)))


def test_numbers_that_are_worked_out_keep_six_digits_and_their_hundredths():
    assert number_text(1 / 3) == "0.333333"
    assert number_text(1e5 / 3) == "33,333.33"
    assert number_text(-1e9 / 3) == "-333,333,333.33"
    assert number_text(60.0) == "60"
    assert number_text(1e20) == "1e+20"
    assert error_text(2_987_654.3) == "± 2,988,000"
    assert error_text(9_999.7) == "± 10,000"


def test_amounts_have_their_unit_and_say_whose_they_are(money):
    """Costs are for one row, and what the dataset spends is for a person, who may have two."""
    with Custodian.open(money) as custodian:
        quote = str(custodian.quote("SELECT COUNT(*) FROM people WHERE age = 3", epsilon="0.5", analyst="anna"))
        assert re.search(r"cost +ε = 0\.5 for one row\n", quote)
        assert re.search(r"adds +ε = [0-9.]+ for a person\n", quote)
        assert re.search(r"remaining +ε = [0-9.]+ for one row\n", quote)
        assert re.search(r"expected_error +± 1\.919\n", quote)
        both = custodian.quote_batch(
            [EVERYONE, "SELECT COUNT(*) FROM people WHERE age = 4"], epsilon="0.5", analyst="anna"
        )
        assert re.search(r"together: adds ε = [0-9.]+ for a person; fits$", str(both))
        assert "ε = 0.5 for one row" in str(both)
        assert "for a person" in both._repr_html_()
        balance = str(custodian.balance())
        assert "of a quota of ε = 900" in balance
        assert balance.endswith("these amounts are for a person, who may have 2 rows")
        with pytest.raises(RefusedError) as refused:
            custodian.ask(EVERYONE, epsilon="600", analyst="anna")
        amounts = re.findall(r"[0-9]+(?:\.[0-9]+)?", str(refused.value).replace("2 rows", ""))
        assert len(amounts) == str(refused.value).count("epsilon ") == 4


def test_the_ledger_is_verified_in_units(money, capsys):
    assert main(["ledger", "verify", "-c", str(money)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^loss recomputed: ε = [0-9.]+ for a person$", shown, re.MULTILINE)
    assert re.search(r"^one by one the charges would cost ε = [0-9.]+ for a person$", shown, re.MULTILINE)


def test_what_hardly_adds_is_said_to_be_so(tmp_path):
    """As an upper bound that can be read; the number itself stays in JSON."""
    with open_custodian(tmp_path, measure="gdp", budget="9") as custodian:
        quote = replace(custodian.quote(EVERYONE, mu="0.5"), adds=8.33334e-10)
    batch = BatchQuote((quote,), quote.adds, fits=True)
    assert re.search(r"adds +μ < 1e-6\n", str(quote))
    assert "together: adds μ < 1e-6; fits" in str(batch)
    assert "μ &lt; 1e-6" in batch._repr_html_()
    assert batch.as_json()["adds"] == quote.as_json()["adds"] == 8.33334e-10
    # It is no next to nothing beside a cost that is small itself.
    assert re.search(r"adds +μ = 8.33334e-10\n", str(replace(quote, cost=1e-6)))

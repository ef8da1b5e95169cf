"""``parcomp budget``, ``ledger show`` and ``domain show``: what is left, who spent it, and what can be asked about."""

from __future__ import annotations

import json
import re

import pytest

from parcomp.cli import main
from parcomp.custodian import Custodian, Settings
from parcomp.errors import FileError
from tests.custodians import load_settings, write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"
EVERYONE = "SELECT COUNT(*) FROM people"
STATED = {"epsilon": "1", "delta": "1e-6"}


def run(command, settings, *arguments):
    return main([*command.split(), "-c", str(settings), *arguments])


def printed(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def failed(capsys):
    """The one line of an error."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.fixture
def settings(tmp_path, capsys):
    path = write_custodian(tmp_path, quotas={"anna": "0.3", "ben": None})
    assert run("ask", path, WOMEN, "--epsilon", "0.2", "--as", "anna") == 0
    assert run("ask", path, MEN, "--epsilon", "0.2", "--as", "anna") == 0
    assert run("ask", path, EVERYONE, "--epsilon", "0.5", "--as", "ben") == 0
    capsys.readouterr()
    return path


def test_budget_prints_the_promised_keys(settings, capsys):
    """The contract's, in its order, and nothing else where the budget is one number."""
    assert run("budget", settings, "--json") == 0
    (balance,) = printed(capsys)
    assert list(balance) == ["measure", "budget", "spent", "sequential", "charges", "analysts"]
    assert balance == {
        "measure": "pure",
        "budget": 1,
        "spent": 0.7,
        "sequential": 0.9,
        "charges": 3,
        "analysts": {"anna": {"quota": 0.3, "spent": 0.2}, "ben": {"quota": None, "spent": 0.5}},
    }
    assert run("budget", settings, "--as", "anna", "--json") == 0
    (balance,) = printed(capsys)
    assert balance["analysts"] == {"anna": {"quota": 0.3, "spent": 0.2}}
    assert balance["spent"] == 0.7
    assert run("budget", settings, "--as", "zoe") == 2
    assert "unknown analyst 'zoe'; the settings name anna, ben" in failed(capsys)


@pytest.mark.parametrize("command", ["budget", "ledger show"])
def test_people_see_what_is_left_and_the_totals_of_analysts(settings, capsys, command):
    """A bar for each amount, and a line for each analyst with the charges, the quota and what is left of it."""
    assert run(command, settings) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["remaining", "ε", "=", "0.3", "█" * 9] in lines
    assert ["anna", "2", "0.3", "0.2", "0.1", "██"] in lines
    assert ["ben", "1", "–", "0.5", "–", "█" * 6] in lines


def test_a_budget_of_two_numbers_is_shown_in_both(tmp_path, capsys):
    """As JSON and for people; a quote says what its cost and what remains are as an ε."""
    quotas = {"anna": {"epsilon": "0.5", "delta": "1e-6"}, "ben": None}
    path = write_custodian(tmp_path, measure="zcdp", budget=STATED, quotas=quotas)
    assert run("quote", path, WOMEN, "--rho", "0.005", "--as", "anna", "--json") == 0
    (quote,) = printed(capsys)
    assert list(quote)[:5] == ["cost", "adds", "remaining", "fits", "expected_error"]
    assert quote["delta"] == 1e-6
    assert 0.42 < quote["epsilon"]["cost"] < 0.43
    assert run("quote", path, WOMEN, "--rho", "0.005", "--as", "anna") == 0
    assert "ρ = 0.005 (ε = 0.42994" in capsys.readouterr().out
    assert run("ask", path, WOMEN, "--rho", "0.005", "--as", "anna") == 0
    capsys.readouterr()
    assert run("budget", path, "--json") == 0
    (balance,) = printed(capsys)
    assert list(balance)[:6] == ["measure", "budget", "spent", "sequential", "charges", "analysts"]
    assert balance["delta"] == 1e-6
    assert balance["epsilon"]["budget"] == 1
    assert balance["epsilon"]["spent"] == balance["analysts"]["anna"]["epsilon"]["spent"]
    assert balance["analysts"]["ben"]["epsilon"] == {"quota": None, "spent": 0, "remaining": None}
    assert run("ledger show", path) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "zCDP with ρ = 0.005 (ε = 0.429942 at δ = 1e-6) against adding or removing one row, assuming" in out
    assert run("ask", path, WOMEN, "--epsilon", "0.1", "--as", "anna") == 2
    assert "accounted in rho (zcdp); epsilon was given; state the cost as rho (--rho X)" in failed(capsys)


def test_the_scope_of_each_amount_of_a_quote_is_said(tmp_path, capsys):
    """A cost is against one row, the ε of it against a person; under Gaussian DP three rows cost three times that."""
    settings = {"budget": STATED, "rows_per_person": 3}
    path = write_custodian(tmp_path / "zcdp", measure="zcdp", **settings)
    assert run("quote", path, WOMEN, "--rho", "0.001") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"cost ρ = 0\.001 for one row \(ε = \S+ at δ = 1e-6 for a person\)", out)
    assert "ρ = 0.009 for a person to what the dataset has spent" in out
    path = write_custodian(tmp_path / "gdp", measure="gdp", **settings)
    assert run("quote", path, WOMEN, "--mu", "0.001") == 0
    assert "a person may have 3, which cost 3 times that" in capsys.readouterr().out
    (tmp_path / "two.sql").write_text(f"{WOMEN};\n{MEN};\n")
    assert run("batch", path, str(tmp_path / "two.sql"), "--mu", "0.001", "--quote") == 0
    assert "what is added is for a person, and so is a --budget" in " ".join(capsys.readouterr().out.split())


def test_a_quota_stated_at_another_delta_is_told_at_the_budgets(tmp_path, capsys):
    quotas = {"anna": {"epsilon": "0.5", "delta": "1e-5"}}
    path = write_custodian(tmp_path, measure="zcdp", budget=STATED, quotas=quotas)
    assert run("budget", path) == 0
    assert "each ε is at δ = 1e-6, that of the budget" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("measure", "written", "place", "message"),
    [
        ("pure", '{epsilon = "1", delta = "1e-6"}', "privacy.budget", "pure DP has no δ to spend"),
        ("zcdp", '{epsilon = "1"}', "privacy.budget.delta", "missing"),
        ("zcdp", '{delta = "1e-6"}', "privacy.budget.epsilon", "missing"),
        ("zcdp", '{epsilon = "1", delta = 1e-6}', "privacy.budget.delta", "must be a string"),
        ("zcdp", '{epsilon = 1, delta = "1e-6"}', "privacy.budget.epsilon", "must be a string"),
        ("gdp", '{epsilon = "1", delta = "0"}', "privacy.budget.delta", "at least 1e-300 and below 1"),
        ("gdp", '{epsilon = "1", delta = "1.5"}', "privacy.budget.delta", "at least 1e-300 and below 1"),
        ("gdp", '{epsilon = "-1", delta = "1e-6"}', "privacy.budget.epsilon", "must be above 0"),
        ("gdp", '{epsilon = "lots", delta = "1e-6"}', "privacy.budget.epsilon", "must be a number"),
        ("gdp", '{epsilon = "1", delta = "1e-6", mu = "1"}', "privacy.budget.mu", "unknown key"),
        ("zcdp", '{epsilon = "1e-9", delta = "1e-9"}', "privacy.budget", "no rho can be booked that is so small"),
        ("gdp", "1.0", "privacy.budget", "must be a string"),
        ("gdp", '"100000"', "privacy.budget", "too large"),
    ],
)
def test_a_bad_budget_names_its_field(tmp_path, capsys, measure, written, place, message):
    """Exit 2 and one line, with the line of the file."""
    path = write_custodian(tmp_path, measure=measure, init=False)
    path.write_text(path.read_text().replace('budget = "1.0"', f"budget = {written}"))
    assert run("budget", path) == 2
    error = failed(capsys)
    assert f"custodian.toml:9: {place}: " in error
    assert message in error


def test_a_quota_of_two_numbers_is_within_the_budget(tmp_path):
    """Whichever way the two are stated; an equal one is the whole budget."""
    quotas = {"anna": STATED, "ben": "0.01"}
    settings = load_settings(tmp_path, measure="zcdp", budget=STATED, quotas=quotas)
    assert isinstance(settings, Settings)
    assert settings.quotas == {"anna": settings.budget_units, "ben": 10_000_000}
    with pytest.raises(FileError, match=r"analysts\.anna\.quota: is above the budget"):
        load_settings(tmp_path, measure="zcdp", budget=STATED, quotas={"anna": STATED | {"epsilon": "1.1"}})
    with pytest.raises(FileError, match=r"analysts\.anna\.quota\.delta: missing"):
        load_settings(tmp_path, measure="zcdp", budget=STATED, quotas={"anna": {"epsilon": "1.1"}})


def test_a_refused_batch_names_the_line_of_its_statement(settings, capsys, tmp_path):
    """In the file, with its position; as a quote the same statement is named."""
    batch = tmp_path / "report.sql"
    batch.write_text(f"-- a report\n{WOMEN};\n\n{MEN};\nSELECT COUNT(*)\nFROM people WHERE age < 3;\n")
    assert run("batch", settings, str(batch), "--epsilon", "0.15", "--as", "anna") == 3
    error = failed(capsys)
    assert f"{batch}:5: statement 3 of 3: the quota of anna leaves epsilon 0.1 on the rows of this query" in error
    assert run("batch", settings, str(batch), "--epsilon", "0.15", "--as", "anna", "--quote") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "statement 3 does not fit, so nothing would be charged statement 3: the quota of anna leaves" in out
    assert run("budget", settings, "--json") == 0
    assert printed(capsys)[0]["charges"] == 3


@pytest.mark.parametrize(("measure", "parameter"), [("pure", "epsilon"), ("gdp", "mu")])
def test_amounts_are_short_and_never_too_low(tmp_path, capsys, measure, parameter):
    """A planned 0.075 is shown so; a root is a number, rounded up."""
    path = write_custodian(tmp_path, measure=measure)
    batch = tmp_path / "batch.sql"
    batch.write_text("".join(f"SELECT COUNT(*) FROM people WHERE age >= {age};\n" for age in range(4)))
    assert run("batch", path, str(batch), "--budget", "0.3") == 0
    assert run("ask", path, WOMEN, f"--{parameter}", "0.123456789") == 0
    capsys.readouterr()
    assert run("ledger show", path) == 0
    costs = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if " count " in line]
    assert costs == ["0.075" if measure == "pure" else "0.15"] * 4 + ["0.123457"]


def test_domain_show_lists_what_can_be_asked_about(tmp_path, capsys):
    """Values, ranges, bins, steps, dates, nulls and levels, from a file or from the settings that name it."""
    domain = {
        "name": "visits",
        "attributes": {
            "icd": {
                "values": ["C00", "C01", "I10"],
                "nullable": True,
                "levels": {"chapter": {"Neoplasms": ["C00", "C01"], "Other": "rest"}},
            },
            "age": {"low": 0, "high": 119, "clip": True},
            "income": {"low": 0, "high": 750000, "bins": 5000},
            "dose": {"low": "0.00", "high": "20.00", "step": "0.01"},
            "day": {"low": "1990-01-01", "high": "2029-12-31"},
            "region": {"values": [f"R{number}" for number in range(40)]},
        },
    }
    rows = [{"icd": "C00", "age": 1, "income": 5, "dose": "1.00", "day": "1999-01-01", "region": "R1"}]
    path = write_custodian(tmp_path, domain=domain, rows=rows, init=False)
    assert run("domain show", path) == 0
    out = capsys.readouterr().out
    assert main(["domain", "show", "--domain", str(tmp_path / "domain.json")]) == 0
    assert capsys.readouterr().out == out
    text = " ".join(out.split())
    for words in (
        "visits: 6 attributes",
        "icd 4 C00, C01, I10, or null",
        "chapter 2 a level of icd: Neoplasms (C00, C01), Other (I10)",
        "age 120 0 to 119; beyond the ends, the nearest",
        "income 5,000 0 to below 750,000, in 5,000 equal bins",
        "dose 2,001 0.00 to 20.00, in steps of 0.01",
        "day 14,610 1990-01-01 to 2029-12-31, by day",
        "R11, … (40 in all)",
    ):
        assert words in text
    assert run("domain show", path, "--json") == 0
    (shown,) = printed(capsys)
    assert shown["attributes"]["icd"]["levels"] == {"chapter": {"Neoplasms": ["C00", "C01"], "Other": ["I10"]}}
    assert main(["domain", "show"]) == 2
    assert "--domain FILE, or --server URL" in failed(capsys)
    assert run("domain show", path, "--domain", str(tmp_path / "domain.json")) == 2


def test_a_budget_in_mu_says_how_its_amounts_add_up(tmp_path, capsys):
    """As squares, exactly or about; amounts of other measures just add up."""
    path = write_custodian(tmp_path, measure="gdp", budget="2")
    assert run("budget", path) == 0
    assert "squares" not in capsys.readouterr().out
    assert run("ask", path, EVERYONE, "--mu", "1.2") == 0
    capsys.readouterr()
    assert run("budget", path) == 0
    assert "μ adds up as squares: 1.2² + 1.6² = 2²\n" in capsys.readouterr().out
    assert run("ask", path, EVERYONE, "--mu", "1.3") == 0
    capsys.readouterr()
    assert run("budget", path) == 0
    spent, left = re.search(r"squares: ([0-9.]+)² \+ ([0-9.]+)² ≈ 2²\n", capsys.readouterr().out).groups()
    assert float(spent) ** 2 + float(left) ** 2 == pytest.approx(4, rel=1e-5)
    with Custodian.open(path) as custodian:
        assert f"squares: {spent}² + {left}² ≈ 2²\n" in str(custodian.balance())

"""The demonstration of a custodian: a synthetic census table, a budget, and a session of asking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
from rich.console import Console
from rich.text import Text

from parcomp.cli.answers import print_answer, print_answers, print_balance, print_quote
from parcomp.cli.interrupts import asked_now
from parcomp.cli.terminal import new_console
from parcomp.cli.words import statement_in_words
from parcomp.custodian import Custodian
from parcomp.errors import RefusedError
from parcomp.samples import census_domain, census_table
from parcomp.sql import parse_statement

__all__ = ["ROWS", "SEED", "run_session", "write_census"]

ROWS = 50_000
SEED = 2026

_SETTINGS = """\
# A custodian's settings; paths are relative to this file.
[dataset]
name = "census"
version = "demo"
source = "census.duckdb"
table = "census"
domain = "census-domain.json"

[privacy]
measure = "pure"                # costs are epsilon
budget = "1.0"
neighbours = "add-remove"
rows_per_person = 1

[ledger]
url = "sqlite:///ledger.db"

[analysts.anna]
quota = "0.8"                   # of the budget of 1.0, on any one row

[analysts.ben]
"""

_BATCH = [
    "SELECT COUNT(*) FROM census WHERE marital = 'widowed'",
    "SELECT COUNT(*) FROM census WHERE marital = 'divorced' AND age >= 40",
    "SELECT COUNT(*) FROM census WHERE marital = 'married' AND income < 30000",
    "SELECT COUNT(*) FROM census WHERE gender = 'F' AND marital = 'never married'",
    "SELECT COUNT(*) FROM census WHERE gender = 'M' AND age >= 20 AND age < 60",
]


def write_census(directory: Path) -> Path:
    """Write the table, its domain and the settings, and forget the ledger of an earlier demonstration."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("census.duckdb", "custodian.codes", "ledger.db", "ledger.db-wal", "ledger.db-shm", "custodian.mark"):
        (directory / name).unlink(missing_ok=True)
    with duckdb.connect(str(directory / "census.duckdb")) as database:
        columns = census_table(ROWS, SEED)
        database.execute(
            "CREATE TABLE census (income INTEGER, age INTEGER, marital VARCHAR, race VARCHAR, gender VARCHAR)"
        )
        database.register("drawn", {name: columns[name] for name in columns})
        database.execute("INSERT INTO census SELECT income, age, marital, race, gender FROM drawn")
    census_domain().save(directory / "census-domain.json")
    settings = directory / "custodian.toml"
    settings.write_text(_SETTINGS, encoding="utf-8")
    return settings


def run_session(settings: Path) -> None:
    """Ask one by one, repeat, ask a batch, be refused, and look at the balance."""
    with Custodian.create(settings) as custodian:
        asked_now(custodian)
        console = new_console(f"A custodian of {ROWS:,} synthetic people, with a budget of ε = 1")
        women = "SELECT COUNT(*) FROM census WHERE gender = 'F'"
        _ask(custodian, console, "Anna asks for the women:", women, "0.3", "anna")
        men = "SELECT COUNT(*) FROM census WHERE NOT gender = 'F'"
        _say(console, "Nobody is both, so a quote for the men says that they add nothing:", men)
        print_quote(custodian.quote(men, epsilon="0.3", analyst="anna"))
        _ask(custodian, console, "So she asks for the men:", men, "0.3", "anna")
        groups = "SELECT race, COUNT(*) FROM census GROUP BY race"
        about = "Ben asks for a table. Its groups are disjoint, so it is charged once:"
        _ask(custodian, console, about, groups, "0.3", "ben")
        again = "SELECT COUNT(*) FROM census WHERE gender IN ('M')"
        _ask(custodian, console, "Ben asks what Anna asked, in other words:", again, "0.2", "ben")
        _say(console, "Ben sends a batch of five with ε = 0.3 for all; it is shared out for the least mean error:")
        _ask_batch(custodian, _BATCH, "0.3", "ben")
        everyone = "SELECT COUNT(*) FROM census WHERE income < 15000"
        _say(console, "Anna asks for more than is left:", everyone)
        try:
            custodian.ask(everyone, epsilon="0.4", analyst="anna")
        except RefusedError as refused:
            console.print(Text(f"refused, nothing charged: {refused}", style="red"))
        print()
        new_console("What all that cost, and what it would have cost one by one")
        print_balance(custodian.balance())


def _ask(custodian: Custodian, console: Console, what: str, sql: str, epsilon: str, analyst: str) -> None:
    _say(console, what, sql)
    print_answer(custodian.ask(sql, epsilon=epsilon, analyst=analyst))


def _ask_batch(custodian: Custodian, statements: Sequence[str], budget: str, analyst: str) -> None:
    settings = custodian.settings
    parsed = [parse_statement(settings.domain, sql, settings.tables) for sql in statements]
    titles = [statement_in_words(one.text, settings.domain) for one in parsed]
    print_answers(titles, custodian.ask_batch(parsed, budget=budget, analyst=analyst))


def _say(console: Console, what: str, sql: str = "") -> None:
    console.print(Text(f"\n{what}", style="bold"))
    if sql:
        console.print(Text(f"  {sql}", style="cyan"))

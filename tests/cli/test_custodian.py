"""``parcomp quote``, ``ask``, ``batch`` and ``ledger`` as people and programs use them."""

from __future__ import annotations

import json
import sqlite3

import pytest

from parcomp.cli import main
from tests.custodians import write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"


@pytest.fixture
def settings(tmp_path):
    return str(write_custodian(tmp_path))


def run(command, settings, *arguments):
    return main([*command.split(), "-c", settings, *arguments])


def printed(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def charges(settings, capsys):
    capsys.readouterr()
    assert run("ledger show", settings, "--json") == 0
    return printed(capsys)


def test_quote_and_ask_print_the_promised_keys(settings, capsys):
    """One object each, as the contract has it."""
    assert run("quote", settings, WOMEN, "--epsilon", "0.5", "--json") == 0
    (quote,) = printed(capsys)
    assert list(quote)[:5] == ["cost", "adds", "remaining", "fits", "expected_error"]
    assert (quote["limit"], quote["left"]) == ("budget", {"budget": 1})
    assert (quote["cost"], quote["adds"], quote["remaining"], quote["fits"]) == (0.5, 0.5, 1, True)
    assert run("ask", settings, WOMEN, "--epsilon", "0.5", "--json") == 0
    (answer,) = printed(capsys)
    assert {"charge", "value", "cost", "expected_error", "cached"} <= set(answer)
    assert (answer["charge"], answer["cost"], answer["cached"]) == (1, 0.5, False)
    low, high = answer["interval"]
    assert low < answer["value"] < high
    assert run("ask", settings, "SELECT sex, COUNT(*) FROM people GROUP BY sex", "--epsilon", "0.2", "--json") == 0
    (answer,) = printed(capsys)
    assert [group["group"] for group in answer["groups"]] == [{"sex": "F"}, {"sex": "M"}]
    assert "value" not in answer


def test_a_refusal_exits_3_says_why_and_charges_nothing(settings, capsys):
    """One line on standard error that says what is left."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.6") == 0
    capsys.readouterr()
    assert run("ask", settings, "SELECT COUNT(*) FROM people", "--epsilon", "0.6") == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "parcomp: the budget leaves epsilon 0.4 on the rows of this query, which costs epsilon 0.6; "
        "ask at epsilon 0.4 or less\n"
    )
    assert len(charges(settings, capsys)) == 1


@pytest.mark.parametrize(
    "cost", ["nan", "inf", "-inf", "0", "-0.1", "1e-400", "much", "", "1e400", "0x1", "1,5", "0.0000000001"]
)
def test_bad_costs_exit_2_and_charge_nothing(settings, capsys, cost):
    """Whatever is no positive number that can be booked."""
    assert run("ask", settings, WOMEN, f"--epsilon={cost}") == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("parcomp: ")
    assert captured.err.count("\n") == 1
    assert charges(settings, capsys) == []


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT",
        "SELECT * FROM people",
        "SELECT COUNT(*) FROM people WHERE name = 'x'",
        "SELECT COUNT(*) FROM people WHERE age LIKE 'F%'",
        "SELECT COUNT(*) FROM people; DROP TABLE people",
        "SELECT COUNT(*) FROM people WHERE age = 'old'",
        "DELETE FROM people",
        "SELECT COUNT(*) FROM people, people",
        "SELECT COUNT(*) FROM people WHERE age = 1 OR",
    ],
)
def test_bad_sql_exits_2_and_charges_nothing(settings, capsys, sql):
    """One line that names the place; nothing is charged."""
    assert run("ask", settings, sql, "--epsilon", "0.1") == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("parcomp: ")
    assert captured.err.count("\n") == 1
    assert charges(settings, capsys) == []


def test_people_see_numbers_with_errors_and_bars(settings, capsys):
    """A quote with its verdict, an answer with its interval, a chart of groups, a balance."""
    assert run("quote", settings, WOMEN, "--epsilon", "0.5") == 0
    out = capsys.readouterr().out
    assert "fits the budget" in out
    assert "best affordable" in out
    assert run("ask", settings, "SELECT sex, COUNT(*) FROM people GROUP BY sex", "--epsilon", "0.5") == 0
    out = capsys.readouterr().out
    assert "█" in out
    assert "charge 1, ε = 0.5" in out
    assert run("quote", settings, WOMEN, "--epsilon", "0.6") == 0
    assert "does not fit: the budget leaves epsilon 0.5" in " ".join(capsys.readouterr().out.split())
    assert run("ledger show", settings) == 0
    out = capsys.readouterr().out
    assert "ε = 0.5 against adding or removing one row, assuming that nobody has more" in " ".join(out.split())
    assert "count of every row, by sex" in out


def test_a_quote_says_of_which_number_an_error_is_and_why_none_is_known(settings, capsys):
    assert run("quote", settings, "SELECT SUM(age) / COUNT(*) FROM people", "--epsilon", "0.5") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "expected error not known before it is worked out from other numbers" in out
    assert "best affordable" not in out
    assert run("quote", settings, "SELECT COUNT(*) AS n, SUM(age) FROM people", "--epsilon", "0.5") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "error of SUM(age) ± " in out
    assert "on average for n, for all that remains" in out
    averages = "SELECT age, AVG(age) FROM people WHERE sex = 'F' AND age < 8 GROUP BY age"
    assert run("ask", settings, averages, "--epsilon", "0.9") == 0
    assert " on average over the groups, ± " in capsys.readouterr().out


def test_a_batch_is_read_from_a_file(settings, capsys, tmp_path):
    """With a cost for each or a budget for all; quoted or asked; errors name the file."""
    batch = tmp_path / "batch.sql"
    batch.write_text(f"-- women and men\n{WOMEN};\n{MEN};\n")
    assert run("batch", settings, str(batch), "--epsilon", "0.5", "--quote") == 0
    assert "together: adds ε = 0.5" in capsys.readouterr().out
    assert run("batch", settings, str(batch), "--budget", "0.5", "--json") == 0
    answers = printed(capsys)
    assert [answer["cost"] for answer in answers] == [pytest.approx(0.5, rel=1e-6)] * 2
    assert run("batch", settings, str(batch), "--budget", "0.6") == 3
    capsys.readouterr()
    batch.write_text(f"{WOMEN};\nSELECT MAX(age) FROM people")
    assert run("batch", settings, str(batch), "--epsilon", "0.1") == 2
    assert "batch.sql" in capsys.readouterr().err
    assert run("batch", settings, str(tmp_path / "batch.txt"), "--epsilon", "0.1") == 2
    assert run("batch", settings, str(batch)) == 2


def test_a_batch_may_be_measured_together(settings, capsys, tmp_path):
    """Quoted, asked and asked again; told in the ledger, and verified."""
    batch = tmp_path / "batch.sql"
    batch.write_text(f"{WOMEN};\nSELECT COUNT(*) FROM people;\n{MEN};\n")
    together = ("--budget", "0.5", "--strategy", "atoms")
    assert run("batch", settings, str(batch), *together, "--quote") == 0
    assert "measured together" in capsys.readouterr().out
    assert run("batch", settings, str(batch), *together, "--estimate", "--json") == 0
    answers = printed(capsys)
    assert [answer["cost"] for answer in answers] == [0.5, 0, 0]
    assert {answer["strategy"] for answer in answers} == {"atoms"}
    assert all("estimate" in answer for answer in answers)
    assert run("batch", settings, str(batch), *together, "--estimate") == 0
    told = capsys.readouterr().out
    assert "estimate " in told
    assert "charge 1 paid for it" in told
    # A line for each answer, and what is to be said of them once.
    assert told.count("measured together with all statements") == 1
    lines = [line.split()[:5] for line in told.splitlines()[1:4]]
    assert lines == [["1", "count", "where", "sex", "="], ["2", "count", "of", "every", "row"], ["3", *lines[0][1:]]]
    assert len(charges(settings, capsys)) == 1
    assert main(["ledger", "show", "-c", settings]) == 0
    assert "3 statements measured together" in " ".join(capsys.readouterr().out.split())
    assert main(["ledger", "verify", "-c", settings]) == 0
    capsys.readouterr()
    assert run("batch", settings, str(batch), "--epsilon", "0.1", "--strategy", "atoms") == 2
    assert "give the batch a budget" in capsys.readouterr().err


def test_every_command_keeps_the_quota_of_who_asks(capsys, tmp_path):
    """The budget would bear it, and the analyst's share of it does not."""
    settings = str(write_custodian(tmp_path, quotas={"anna": "0.7"}))
    batch = tmp_path / "batch.sql"
    batch.write_text(WOMEN)
    more = ("--epsilon", "0.8", "--json")
    assert run("quote", settings, WOMEN, *more, "--as", "anna") == 0
    assert run("batch", settings, str(batch), "--quote", *more, "--as", "anna") == 0
    assert [quote["fits"] for quote in printed(capsys)] == [False, False]
    assert run("ask", settings, WOMEN, *more, "--as", "anna") == 3
    assert run("batch", settings, str(batch), *more, "--as", "anna") == 3
    assert charges(settings, capsys) == []


def test_a_key_is_charged_once(settings, capsys, tmp_path):
    """The same request with the same key again, a batch too; another one is an error."""
    batch = tmp_path / "batch.sql"
    batch.write_text(f"{WOMEN};\n{MEN};")
    for _ in range(2):
        assert run("batch", settings, str(batch), "--epsilon", "0.1", "--key", "two", "--json") == 0
    answers = printed(capsys)
    assert answers[:2] == answers[2:]
    for _ in range(2):
        assert run("ask", settings, WOMEN, "--epsilon", "0.2", "--key", "one", "--json") == 0
    first, second = printed(capsys)
    assert first == second
    assert run("ask", settings, MEN, "--epsilon", "0.2", "--key", "one") == 2


def test_verify_recomputes_the_chain_and_the_loss(settings, capsys, tmp_path):
    """A ledger that was tampered with is told from one that was not, and no custodian goes on with it."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.2") == 0
    assert run("ask", settings, MEN, "--epsilon", "0.3") == 0
    capsys.readouterr()
    assert run("ledger verify", settings, "--json") == 0
    (audit,) = printed(capsys)
    assert (audit["ok"], audit["charges"], audit["loss"], audit["sequential"]) == (True, 2, 0.3, 0.5)
    assert run("ledger verify", settings, "--head", audit["head"]) == 0
    assert "the chain holds" in capsys.readouterr().out
    assert run("ledger verify", settings, "--head", "0" * 64) == 2
    assert "noted head" in capsys.readouterr().out
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {trigger}")
        database.execute("UPDATE parcomp_charge SET units = 1 WHERE number = 1")
    database.close()
    assert run("ledger verify", settings) == 2
    assert "charge 1" in capsys.readouterr().out
    assert run("ask", settings, WOMEN, "--epsilon", "0.2") == 2
    assert "tampered" in capsys.readouterr().err


def test_other_settings_than_the_ledgers_are_refused(settings, capsys, tmp_path):
    """A larger budget in the file does not make it so."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.2") == 0
    write_custodian(tmp_path, budget="2.0", init=False)
    capsys.readouterr()
    assert run("ask", settings, MEN, "--epsilon", "0.2") == 2
    assert "budget" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "changed", "place"),
    [
        ('measure = "pure"', 'measure = "renyi"', "privacy.measure"),
        ('budget = "1.0"', "budget = 1.0", "privacy.budget"),
        ('budget = "1.0"', 'budget = "lots"', "privacy.budget"),
        ('neighbours = "add-remove"', 'neighbours = "none"', "privacy.neighbours"),
        ("rows_per_person = 1", "rows_per_person = 0", "privacy.rows_per_person"),
        ('url = "sqlite:///ledger.db"', 'url = "mysql://x"', "ledger.url"),
        ('name = "people"', "name = 3", "dataset.name"),
        ('source = "people.csv"', "", "dataset.source"),
        ('source = "people.csv"', 'sauce = "people.csv"', "dataset.sauce"),
        ('quota = "0.7"', 'quota = "7"', "analysts.anna.quota"),
        ("[ledger]", "[leger]", "leger"),
        ('domain = "domain.json"', 'domain = "gone.json"', "gone.json"),
        ("[privacy]", "[privacy", "TOML"),
        ("[ledger]", '[ledger]\nmark = ""', "ledger.mark"),
        ("[ledger]", '[ledger]\nmark = "a\\u0000b"', "ledger.mark"),
        ('source = "people.csv"', 'source = "a\\u0000b.csv"', "dataset.source"),
    ],
)
def test_bad_settings_name_file_line_and_field(settings, capsys, tmp_path, line, changed, place):
    """Exit 2 and one line."""
    path = write_custodian(tmp_path, quotas={"anna": "0.7"}, init=False)
    path.write_text(path.read_text().replace(line, changed))
    assert run("quote", settings, WOMEN, "--epsilon", "0.1") == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert place in captured.err


def test_a_coded_table_that_is_not_there_is_found_before_anything_is_charged(settings, capsys, tmp_path):
    """It is opened first, and all that is needed to answer: the source is read when it is loaded."""
    source = (tmp_path / "people.csv").rename(tmp_path / "elsewhere.csv")
    (tmp_path / "custodian.codes").rename(tmp_path / "codes")
    assert run("ask", settings, WOMEN, "--epsilon", "0.1") == 2
    assert "run `parcomp load`" in capsys.readouterr().err
    assert charges(settings, capsys) == []
    (tmp_path / "codes").rename(tmp_path / "custodian.codes")
    assert run("ask", settings, WOMEN, "--epsilon", "0.1") == 0
    assert run("load", settings) == 2
    source.rename(tmp_path / "people.csv")
    assert run("load", settings) == 0


@pytest.fixture
def fresh(tmp_path):
    """Settings without a ledger."""
    return str(write_custodian(tmp_path, init=False))


EVERY_USE = [
    ("quote", [WOMEN, "--epsilon", "0.1"]),
    ("ask", [WOMEN, "--epsilon", "0.1"]),
    ("budget", []),
    ("ledger show", []),
    ("ledger verify", []),
]


def failed(capsys):
    """The one line of an error."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("parcomp: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(("command", "arguments"), EVERY_USE)
def test_nothing_but_init_makes_a_ledger(fresh, capsys, tmp_path, command, arguments):
    """A deleted ledger, a mistyped path or another version is not an empty ledger with a whole budget."""
    assert run(command, fresh, *arguments) == 2
    assert "there is no ledger; make it once, with parcomp init" in failed(capsys)
    assert not (tmp_path / "ledger.db").exists()
    assert run("init", fresh) == 0
    out = capsys.readouterr().out
    assert "The ledger of people, version 1, is made" in out
    assert run(command, fresh, *arguments) == 0
    capsys.readouterr()
    assert run("init", fresh) == 2
    assert "has a ledger already" in failed(capsys)


@pytest.mark.parametrize(("command", "arguments"), [*EVERY_USE, ("init", [])])
def test_a_ledger_that_is_gone_is_missed(settings, capsys, tmp_path, command, arguments):
    """Its mark says that there was one, so not even init makes another."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.9") == 0
    capsys.readouterr()
    for path in tmp_path.glob("ledger.db*"):
        path.unlink()
    assert run(command, settings, *arguments) == 2
    assert "custodian.mark marks a ledger of 'people' version '1' with 1 charge" in failed(capsys)
    text = (tmp_path / "custodian.toml").read_text()
    (tmp_path / "custodian.toml").write_text(text.replace("ledger.db", "leger.db"))
    assert run(command, settings, *arguments) == 2
    assert "ledger" in failed(capsys)
    assert list(tmp_path.glob("le*.db")) == []


@pytest.mark.parametrize(("command", "arguments"), [*EVERY_USE, ("init", [])])
def test_a_ledger_restored_from_an_older_copy_is_refused(settings, capsys, tmp_path, command, arguments):
    """What was charged since is spent, whatever the copy says."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.1") == 0
    older = (tmp_path / "ledger.db").read_bytes()
    assert run("ask", settings, MEN, "--epsilon", "0.9") == 0
    capsys.readouterr()
    (tmp_path / "ledger.db").write_bytes(older)
    assert run(command, settings, *arguments) == 2
    assert ("already" if command == "init" else "rolled back") in failed(capsys)


def test_init_makes_nothing_if_the_table_cannot_be_read(fresh, capsys, tmp_path):
    """Neither a ledger nor a mark is left behind."""
    (tmp_path / "people.csv").unlink()
    assert run("init", fresh) == 2
    assert "people.csv" in failed(capsys)
    assert not list(tmp_path.glob("*.db*"))
    assert not (tmp_path / "custodian.mark").exists()


def test_the_mark_is_where_the_settings_say(fresh, capsys, tmp_path):
    """Or beside them, under their name."""
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "custodian.toml"
    path.write_text(path.read_text().replace("[ledger]", '[ledger]\nmark = "elsewhere/head"'))
    assert run("init", fresh) == 0
    assert (tmp_path / "elsewhere" / "head").exists()
    assert not (tmp_path / "custodian.mark").exists()


@pytest.mark.parametrize(("command", "arguments"), EVERY_USE[:2])
def test_once_analysts_are_declared_every_request_names_one(capsys, tmp_path, command, arguments):
    """Without a name no quota would apply."""
    settings = str(write_custodian(tmp_path, quotas={"anna": "0.3"}))
    assert run(command, settings, *arguments) == 2
    assert 'does not say who asks (--as NAME, in Python analyst="NAME"); the settings name anna' in failed(capsys)
    assert run(command, settings, *arguments, "--as", "ben") == 2
    assert "unknown analyst 'ben'" in failed(capsys)
    assert run(command, settings, *arguments, "--as", "anna") == 0
    assert run("ask", settings, MEN, "--epsilon", "0.4", "--as", "anna") == 3


def test_a_missing_mark_is_noted_on_standard_error(settings, capsys, tmp_path):
    """Once: from then on there is one."""
    assert run("ask", settings, WOMEN, "--epsilon", "0.1") == 0
    (tmp_path / "custodian.mark").unlink()
    capsys.readouterr()
    for noted in (True, False):
        assert run("ask", settings, MEN, "--epsilon", "0.1") == 0
        assert ("parcomp: note: there is no mark custodian.mark for this ledger" in capsys.readouterr().err) == noted

"""``parcomp shell``: on a terminal, as people use it, and piped."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from parcomp.cli.shell_text import Completions, is_complete, split_pieces
from parcomp.custodian import Custodian
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, TAB, UP, Terminal
from tests.custodians import PEOPLE, write_custodian

PROMPT = "people ε 0.1>"
WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"

SLOW = """
import sys, time
from parcomp.custodian import Custodian
from parcomp.cli import main
count = Custodian._stored
def slow(*arguments):
    print("counting", flush=True)
    time.sleep(30)
    return count(*arguments)
Custodian._stored = slow
sys.exit(main())
"""
"""The program, which takes its time between the charge and the answer."""


HEARING = ["env", "--default-signal=INT", sys.executable, "-c"]
"""Whatever is started in the background of a shell ignores Ctrl-C, and so would the program."""


@pytest.fixture
def settings(tmp_path):
    return write_custodian(tmp_path / "custody", quotas={"anna": "0.5", "ben": "0.2"})


@pytest.fixture
def start(settings, tmp_path):
    """Starts a session of Anna's, and ends it whatever happens."""
    started = []

    def start(*arguments, **more):
        options = arguments or ("--epsilon", "0.1")
        started.append(Terminal(["shell", "-c", str(settings), "--as", "anna", *options], tmp_path, **more))
        return started[-1]

    yield start
    for one in started:
        one.process.close(force=True)


def charges(settings):
    with Custodian.open(settings) as custodian:
        return [charge.number for charge in custodian.charges()]


def test_a_session_completes_quotes_asks_and_is_refused(start, settings):
    """The cost stands in the prompt; each answer says what it cost and what is left on its rows."""
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type("SEL" + TAB)
    terminal.wait_for(lambda: terminal.line.endswith("> SELECT"))
    terminal.type(" COUNT(*) FROM peo" + TAB)
    terminal.wait_for(lambda: terminal.line.endswith(" FROM people"))
    terminal.type(" WHERE se" + TAB)
    terminal.wait_for(lambda: terminal.line.endswith(" WHERE sex"))
    terminal.type(" = 'f" + TAB)
    terminal.wait_for(lambda: terminal.line.endswith(" sex = 'F'"))
    terminal.type(";" + ENTER)
    shown = terminal.wait_for_prompts(2, PROMPT)
    assert "charge 1, ε = 0.1" in shown
    assert "left on these rows: ε = 0.4" in shown
    terminal.type("? SELECT COUNT(*) FROM people WHERE sex = '")
    terminal.type(TAB)
    # Both values are offered.
    terminal.wait_for(lambda: "\n'M'" in terminal.shown.replace(" ", ""))
    terminal.type("M';" + ENTER)
    assert "ε = 0 to what the dataset has spent" in terminal.wait_for_prompts(3, PROMPT)
    terminal.type("\\cost 0.45" + ENTER)
    terminal.wait_for(lambda: terminal.line == "people ε 0.45>")
    terminal.type("SELECT COUNT(*) FROM people;" + ENTER)
    refused = terminal.wait_for(lambda: terminal.shown.count("0.45>") == 2 and terminal.line == "people ε 0.45>")
    assert "leaves epsilon 0.4 on the rows of this query" in refused
    assert charges(settings) == [1]
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0


def test_a_statement_goes_on_over_lines_until_it_is_complete(start, settings):
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type("SELECT COUNT(*)" + ENTER)
    terminal.wait_for(lambda: terminal.line.strip() == ".>")
    terminal.type("FROM people WHERE" + ENTER)
    terminal.type("age < 5;" + ENTER)
    assert "charge 1, ε = 0.1" in terminal.wait_for_prompts(2, PROMPT)


def test_a_command_is_heeded_while_a_statement_goes_on(start, settings):
    """The statement waits for its end; leaving leaves it unasked."""
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type("SELECT COUNT(*)" + ENTER)
    terminal.wait_for(lambda: terminal.line.strip() == ".>")
    terminal.type("\\budget" + ENTER)
    terminal.wait_for("0 charges")
    terminal.wait_for(lambda: terminal.line.strip() == ".>")
    terminal.type("FROM people WHERE age < 5;" + ENTER)
    assert "charge 1, ε = 0.1" in terminal.wait_for("charge 1, ε = 0.1")
    terminal.wait_for(lambda: terminal.line == PROMPT.strip())
    terminal.type("SELECT COUNT(*)" + ENTER)
    terminal.wait_for(lambda: terminal.line.strip() == ".>")
    terminal.type("\\quit" + ENTER)
    assert terminal.wait_for_end() == 0


def test_long_errors_do_not_break_within_words(start, settings):
    """A terminal would break them at its width."""
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type("\\cost 2" + ENTER)
    terminal.wait_for(lambda: terminal.line == "people ε 2>")
    terminal.type("SELECT COUNT(*) FROM people;" + ENTER)
    terminal.wait_for("or less")
    message = (
        "leaves epsilon 0.5 on the rows of this query, which costs epsilon 2; the budget leaves epsilon 1; "
        "ask at epsilon 0.5 or less"
    )
    assert message in " ".join(line.strip() for line in terminal.shown.splitlines())


def test_the_books_are_looked_at_by_commands(start, settings):
    with Custodian.open(settings) as custodian:
        custodian.ask(WOMEN, epsilon="0.1", analyst="anna")
        custodian.ask("SELECT COUNT(*) FROM people WHERE age = 3", epsilon="0.1", analyst="ben")
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    for number, command in enumerate(("\\history", "\\budget", "\\domain", "\\domain sex", "\\help", "\\nonsense"), 2):
        terminal.type(command + ENTER)
        terminal.wait_for_prompts(number, PROMPT)
    shown = terminal.shown
    assert "count where sex = F" in shown
    assert "age 3" not in shown, "the charges of others are not one's own"
    assert "sequential" in shown
    assert "0 to 9" in shown
    assert "? SELECT …;" in shown
    assert "unknown command \\nonsense;" in shown
    terminal.type("\\quit" + ENTER)
    assert terminal.wait_for_end() == 0


def test_ctrl_c_clears_the_line(start, settings):
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type("SELECT COUNT(*) FROM people")
    terminal.wait_for("FROM people")
    terminal.type(CTRL_C)
    terminal.wait_for_prompts(2, PROMPT)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0
    assert charges(settings) == []


def test_ctrl_c_before_the_charge_says_that_nothing_was_charged(start, settings):
    """Another process holds the ledger, so that the charge has to wait; the session goes on afterwards."""
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    with closing(sqlite3.connect(settings.parent / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        terminal.type(WOMEN + ";" + ENTER)
        terminal.wait_for(lambda: terminal.line == "")
        terminal.type(CTRL_C)
        terminal.wait_for("interrupted; nothing was charged")
        other.execute("ROLLBACK")
    terminal.wait_for_prompts(2, PROMPT)
    terminal.type(WOMEN + ";" + ENTER)
    assert "charge 1, ε = 0.1" in terminal.wait_for_prompts(3, PROMPT)


def test_ctrl_c_after_the_charge_names_it_and_the_answer_is_free(start, settings):
    terminal = start(program=("-c", SLOW))
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type(WOMEN + ";" + ENTER)
    terminal.wait_for("counting")
    terminal.type(CTRL_C)
    terminal.wait_for("interrupted; charge 1 was made; asking the same again is free")
    terminal.wait_for_prompts(2, PROMPT)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0
    with Custodian.open(settings) as custodian:
        assert custodian.ask(WOMEN, epsilon="0.1", analyst="anna").cost == 0


def test_an_interrupt_does_not_come_again_once_it_was_heeded(start, settings):
    """It would, two seconds later, clear the line that is typed then."""
    terminal = start(program=("-c", SLOW))
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type(WOMEN + ";" + ENTER)
    terminal.wait_for("counting")
    terminal.type(CTRL_C)
    terminal.wait_for_prompts(2, PROMPT)
    terminal.type("SELECT COUNT(*)")
    with pytest.raises(AssertionError):
        terminal.wait_for(lambda: terminal.shown.count(PROMPT) > 2, seconds=3.0)
    assert terminal.line.endswith("SELECT COUNT(*)")


def test_lines_are_kept_for_their_owner_alone(start, settings, tmp_path):
    """The next session begins with what was typed in this one; the file says nothing to others."""
    terminal = start()
    terminal.wait_for_prompts(1, PROMPT)
    terminal.type(f"? {WOMEN}" + ENTER)
    terminal.wait_for_prompts(2, PROMPT)
    terminal.type(CTRL_D)
    terminal.wait_for_end()
    file = tmp_path / "state/parcomp/shell-history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = start()
    again.wait_for_prompts(1, PROMPT)
    again.type(UP)
    again.wait_for(lambda: again.line == f"{PROMPT} ? {WOMEN}")


def test_without_a_cost_one_can_look_and_must_set_one_to_ask(start, settings):
    terminal = start("--as", "anna")
    terminal.wait_for_prompts(1, "people ε ?>")
    terminal.type(WOMEN + ";" + ENTER)
    assert "\\cost X, in epsilon" in terminal.wait_for_prompts(2, "people ε ?>")
    terminal.type("\\cost 0.1" + ENTER)
    terminal.wait_for_prompts(1, PROMPT)


def piped(settings, text, *arguments):
    command = [sys.executable, "-m", "parcomp.cli", "shell", "-c", str(settings), "--as", "ben", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)


def test_piped_statements_are_answered_in_order(settings):
    """A line end does not end a statement; a semicolon, an empty line and the end do."""
    text = f"? {WOMEN};\n\\budget\n{WOMEN.replace(' WHERE', chr(10) + 'WHERE')}\n\n{WOMEN}"
    ended = piped(settings, text, "--epsilon", "0.1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.index("fits the budget") < ended.stdout.index("charge 1, ε = 0.1")
    assert "free: charge 1 paid for it" in ended.stdout
    assert charges(settings) == [1]


def test_all_that_was_bought_is_estimated_at_the_prompt(settings):
    ended = piped(settings, f"{WOMEN}\n\n\\estimate", "--epsilon", "0.1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "estimates of 1 count that you have paid for" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("1       count where sex = F")
    assert charges(settings) == [1]


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        (f"{WOMEN};\nSELECT COUNT(*)\nFROM people WHERE x = 1;\n{WOMEN}", 2, "standard input:3: column 19: unknown"),
        (f"{WOMEN}\n{WOMEN}", 2, "standard input:2: column 1: "),
        (f"{WOMEN};\n\\cost 0.3\nSELECT COUNT(*) FROM people;\n\\help", 3, "standard input:3: anna"),
        ("\\cost nothing", 2, "standard input:1: "),
        ("\\domain x", 2, "standard input:1: unknown attribute"),
    ],
    ids=["sql", "semicolon", "refused", "cost", "domain"],
)
def test_a_piped_error_names_its_line_and_ends_the_session(settings, text, code, expected):
    ended = piped(settings, text, "--epsilon", "0.1")
    assert ended.returncode == code
    assert ended.stderr.count("\n") == 1
    assert expected.replace("anna", "") in ended.stderr
    assert "Ctrl-C" not in ended.stdout
    if "column 1:" in expected:
        assert "end the one before it with ;" in ended.stderr


def test_an_interrupted_pipe_names_what_was_charged_before(settings, tmp_path):
    """The second statement waits between its charge and its answer; the first one was answered."""
    counting = SLOW.replace(
        "time.sleep(30)", "time.sleep(30 if 'again' in globals() else 0); globals().update(again=1)"
    )
    process = subprocess.Popen(
        [*HEARING, counting, "shell", "-c", str(settings), "--as", "ben", "--epsilon", "0.1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{WOMEN};\nSELECT COUNT(*) FROM people WHERE sex = 'M';\n")
    process.stdin.close()
    seen = 0
    while seen < 2:
        line = process.stdout.readline()
        assert line, "the program has ended"
        seen += line == "counting\n"
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert process.stderr is not None
    assert process.stderr.read() == "parcomp: interrupted; charges 1 and 2 were made; asking the same again is free\n"
    assert process.returncode == 130


@pytest.mark.parametrize(("option", "word"), [("--rho", "--epsilon"), ("--mu", "--epsilon")])
def test_a_cost_of_another_measure_is_an_error_that_names_the_right_option(settings, option, word):
    ended = piped(settings, "", option, "1")
    assert ended.returncode == 2
    assert f"({word} X)" in ended.stderr


def test_what_is_complete():
    """A line end never ends what an open quote, an open parenthesis or a word that asks for more has begun."""
    ended = ("SELECT 1; ", f"{WOMEN};", f"{WOMEN}\n", f"? {WOMEN}", f"? {WOMEN};", "? SELECT COUNT(*) FROM people -- (")
    for text in ("", "\\budget", "nonsense", *ended):
        assert is_complete(text), text
    # What is asked is paid for, so it may go on.
    for text in (
        "SELECT",
        WOMEN,
        "? SELECT COUNT(*)",
        "? SELECT COUNT(*) FROM",
        f"? {WOMEN} AND",
        f"? {WOMEN} AND age IN (1,",
    ):
        assert not is_complete(text), text
    for text in ("SELECT COUNT(*) FROM people WHERE sex = 'F", "SELECT COUNT(*) FROM people WHERE age <", "? SELECT"):
        assert not is_complete(text), text


def test_what_is_piped_is_split_where_statements_end():
    assert split_pieces("") == []
    assert split_pieces(";;\n ; ") == []
    assert split_pieces("a ';' b; \"c;\" -- d;\n e") == [(1, "a ';' b"), (1, '"c;" -- d;\n e')]
    assert split_pieces("a\nb\n\n\nc\n\\cost 1;\nd") == [(1, "a\nb"), (5, "c"), (6, "\\cost 1;"), (7, "d")]
    assert split_pieces("\\cost 1\n  \\budget\n'\n\n'") == [(1, "\\cost 1"), (2, "\\budget"), (3, "'\n\n'")]


def test_completions_fit_their_place():
    """Tables after FROM, values of the attribute before the quote, and names that need quotes in them."""
    known = Completions({"people"}, {"sex": ["F", "M", "it's"], "Age of death": [], "chapter": ["Neoplasms"]})
    assert known.after("SELECT COUNT(*) FROM ") == ("", ["people"])
    assert known.after("sex IN ('F', '") == ("'", ["'F'", "'M'", "'it''s'"])
    assert known.after("sex = 'F' AND chapter = 'neo") == ("'neo", ["'Neoplasms'"])
    assert known.after("sex = 'F' AND age")[1] == ['"Age of death"']
    assert known.after('"ag') == ('"ag', ['"Age of death"'])
    assert known.after("\\do") == ("\\do", ["\\domain"])
    assert known.after("\\domain s") == ("s", ["sex"])
    assert known.after("\\cost ") == ("", [])


def test_every_domain_can_be_shown(tmp_path, capsys):
    """Levels, dates, steps and bins, whatever their number."""
    attributes = {
        **PEOPLE["attributes"],
        "code": {
            "values": [f"C{number:02}" for number in range(50)],
            "levels": {"half": {"low": ["C00"], "high": "rest"}},
        },
        "born": {"low": "1990-01-01", "high": "1999-12-31", "nullable": True},
        "price": {"low": "0.00", "high": "9.99", "step": "0.01", "clip": True},
        "income": {"low": 0, "high": 100, "bins": 5},
    }
    settings = write_custodian(tmp_path, rows=[], domain={"name": "people", "attributes": attributes})
    ended = piped(settings, "\\domain\n\\domain code\n\\domain half")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "half, a level of code: 2 groups" in ended.stdout
    shown = " ".join(ended.stdout.split())
    assert "low (C00), high (C01, C02, C03, C04, … (49 in all))" in shown
    assert "low 1 C00 high 49 C01, C02, C03, C04, C05" in shown
    for text in ("… (50 in all)", "half", "by day, or null", "steps of 0.01", "5 equal bins", "C49"):
        assert text in ended.stdout, text


def test_the_shell_is_light_until_it_is_used():
    """Its library is imported by nothing else."""
    script = "import sys; from parcomp.cli import main; main(['--help']); assert 'prompt_toolkit' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL, env=os.environ)

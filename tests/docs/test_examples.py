"""What pages show is what happens: their files are read, their commands and programs run, their output compared."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from matplotlib import image
from pyarrow import parquet

from parcomp import Domain, Workload
from parcomp.cli import main
from parcomp.custodian import Custodian, Settings
from parcomp.data import check_table
from parcomp.errors import SqlError
from parcomp.samples import census_domain, census_table
from parcomp.sql.parse import parse_statement, parse_statements
from tests.docs.pages import DOCS, PAGES, ROOT, blocks, inline_code, sections
from tests.docs.stories import assert_printed, not_run, run_console, run_python, run_story
from tests.docs.test_commands import COMMANDS
from tests.mutants.entries import Mutant

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"

STORIES = [DOCS / name for name in ("install.md", "quickstart.md", "first-day.md", "analyst.md")]
"""Pages of which every block is run in its order, or says itself why it is not."""

NOT_RUN = {
    ("README.md", ""): (1, "targets of make, which test_names.py looks up"),
    ("CONTRIBUTING.md", ""): (2, "targets of make, and the layers"),
    ("docs/architecture.md", ""): (2, "the tree of directories, and the imports, which tools.import_graph draws"),
    ("docs/cli.md", ""): (len(COMMANDS) - 1, "how a command is called, which test_commands.py compares"),
    ("docs/results.md", ""): (1, "runs of hours; tests/experiments has their quick forms"),
    ("docs/ledger.md", "text"): (1, "the order of the fields of a digest, which tests/ledger recomputes"),
    ("docs/service.md", "nginx"): (1, "a proxy's settings"),
    ("docs/service.md", "sh"): (1, "needs an engine for containers; tests/docs/test_deploy.py reads the files"),
    ("docs/ledger.md", "sql"): (2, "grants, which tests/contract/test_postgres_grants.py gives"),
}
"""The blocks that the tests below do not take, by page and language: how many there are, and who looks at them."""

REASONS = {
    "what is installed differs from machine to machine",
}
"""Why a block of a story may not be run; nothing else will do."""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Runs the commands of a block in a directory of their own, 80 columns wide, and compares what is shown of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    return run_console


def texts(page, language):
    return [block.text for block in blocks(page) if block.language == language]


def test_every_block_is_run_or_has_a_reason():
    """A language that the tests below do not know on this page is a block that nobody looks at."""
    run = {("README.md", language) for language in ("json", "console", "python")} | {
        ("docs/custodian.md", language) for language in ("toml", "console", "python")
    }
    run |= {("docs/files.md", "json"), ("docs/cli.md", "json"), ("docs/sql.md", "sql"), ("docs/sql.md", "")}
    run |= {("docs/data.md", "toml"), ("docs/data.md", "console"), ("CONTRIBUTING.md", "toml")}
    run |= {("docs/renewing-budget.md", language) for language in ("json", "toml", "python", "console")}
    # By tests/service/test_page.py.
    run |= {("docs/service.md", language) for language in ("console", "python", "toml")}
    # By tests/system/test_ten_lines.py.
    run |= {("docs/frames.md", "python")}
    # By tests/test_api_page.py.
    run |= {(f"docs/{page}.md", "python") for page in ("api", "error", "strategies")}
    there = Counter(
        (str(page.relative_to(ROOT)), block.language) for page in PAGES if page not in STORIES for block in blocks(page)
    )
    assert set(there) == run | set(NOT_RUN)
    assert {key: there[key] for key in NOT_RUN} == {key: count for key, (count, _) in NOT_RUN.items()}
    assert not run & set(NOT_RUN)


def test_few_blocks_of_stories_are_not_run():
    """Each says why, the reasons are known, and they do not become many."""
    reasons = [reason for page in STORIES for block in blocks(page) if (reason := not_run(block)) is not None]
    assert set(reasons) == REASONS
    assert len(reasons) <= 4


@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.stem)
def test_a_story_runs_from_its_first_block_to_its_last(page, tmp_path, monkeypatch):
    """Files, commands and programs as a reader would go through them, with what they print."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    run_story(page, tmp_path)


@pytest.mark.parametrize(
    ("shown", "expected", "same"),
    [
        ("a 1 b\nc\n", "a … b\nc\n", True),
        ("a 1 b\nc\n", "a … c\n", False),
        ("a\nb\nc\n", "a\n…\nc\n", True),
        ("a\nb\nd\n", "a\n…\nc\n", False),
        ("took 1.23 s  \n", "took 9.1 s\n", True),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
    ],
)
def test_what_is_printed_is_compared(shown, expected, same):
    """The comparison that all examples rest on finds what differs."""
    with nullcontext() if same else pytest.raises(AssertionError):
        assert_printed(shown, expected, "it")


def test_an_error_that_is_shown_must_come_and_no_other():
    for text in ("$ parcomp --version\nparcomp: nothing\n", "$ parcomp nonsense\n", "$ parcomp --version\nparcomp 0\n"):
        with pytest.raises(AssertionError):
            run_console(text)
    run_console("$ parcomp nonsense\nparcomp: No such command 'nonsense'.\n")


def test_the_readme(shell, tmp_path):
    """Its files, its commands on them, its program, and its questions to the custodian of the demonstration."""
    domain, asked = texts(README, "json")
    (tmp_path / "people.json").write_text(domain, encoding="utf-8")
    (tmp_path / "asked.jsonl").write_text(asked, encoding="utf-8")
    example, proof, custodian = texts(README, "console")
    shell(example)
    (program,) = texts(README, "python")
    run_python(program)
    shell(proof)
    shell("$ parcomp demo\n")
    assert {path.name for path in (tmp_path / "out/demo").glob("*.png")} == {"paper.png", "census.png", "errors.png"}
    shell(custodian)


@pytest.fixture
def census(tmp_path):
    """The files that the page of the custodian speaks of, with its own settings."""
    columns = census_table(1_000, 1)
    parquet.write_table(
        pa.table({name: np.asarray(column) for name, column in columns.items()}), tmp_path / "census.parquet"
    )
    census_domain().save(tmp_path / "census-domain.json")
    (settings,) = texts(DOCS / "custodian.md", "toml")
    (tmp_path / "custodian.toml").write_text(settings, encoding="utf-8")
    report = ("COUNT(*) FROM census WHERE age >= 60", "gender, COUNT(*) FROM census WHERE age >= 60 GROUP BY gender")
    (tmp_path / "report.sql").write_text("".join(f"SELECT {one};\n" for one in report), encoding="utf-8")
    return tmp_path


def test_the_custodian(shell, census):
    """Its settings, its commands in their order, and its program."""
    for block in texts(DOCS / "custodian.md", "console"):
        shell(block)
    (program,) = texts(DOCS / "custodian.md", "python")
    run_python(program)
    with Custodian.open(census / "custodian.toml") as custodian:
        assert custodian.charges()


def test_the_page_of_tables(shell, tmp_path):
    """Its settings of a source and of persons, on a file that is written as they say."""
    source, persons, drafted = texts(DOCS / "data.md", "toml")
    (tmp_path / "draft.toml").write_text(drafted, encoding="utf-8")
    assert Domain.load(tmp_path / "draft.toml").names == ("sex",)
    rows = ["patient;born;städte;höhe", "1;1990-05-01;Köln;1,5", "1;NA;Wien;-99", "1;1990-05-02;Wien;2"]
    with gzip.open(tmp_path / "people.csv", "wb") as file:
        file.write("\n".join(rows).encode("cp1252"))
    described = {
        "born": {"low": "1990-01-01", "high": "1999-12-31", "nullable": True},
        "städte": {"values": ["Köln", "Wien"]},
        "höhe": {"low": 0, "high": 9, "nullable": True},
    }
    (tmp_path / "domain.json").write_text(json.dumps({"attributes": described}), encoding="utf-8")
    dataset = '[dataset]\nname = "people"\nversion = "1"\nsource = "people.csv"\ndomain = "domain.json"\n'
    privacy = persons.replace("[privacy]", '[privacy]\nmeasure = "pure"\nbudget = "1"')
    (tmp_path / "custodian.toml").write_text(
        f'{dataset}{privacy}[ledger]\nurl = "sqlite:///ledger.db"\n{source}', encoding="utf-8"
    )
    (looked,) = texts(DOCS / "data.md", "console")
    shell(looked)
    report = check_table(Settings.load(tmp_path / "custodian.toml").place)
    assert (report.rows, report.inside, report.persons, report.rows_left_out) == (3, 2, 1, 0)
    assert report.attributes["höhe"].wrong_type == 1


def test_the_budget_that_renews_itself(shell, tmp_path):
    """Its files, commands and programs in their order; a load of rows that have changed is refused in its words."""
    files = {"json": tmp_path / "visits.json", "toml": tmp_path / "custodian.toml"}
    names: dict[str, object] = {}
    for block in blocks(DOCS / "renewing-budget.md"):
        if block.language in files:
            files[block.language].write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(block.text, names)
        else:
            shell(block.text)
    drawn, shown = (image.imread(path / "renewing-budget.png") for path in (tmp_path, DOCS / "images"))
    assert drawn.shape == shown.shape
    assert np.abs(drawn - shown).mean() < 0.02


ASKED = ["-c", "custodian.toml", "--epsilon", "0.01", "--as", "anna"]
GROUPED = "SELECT gender, COUNT(*) FROM census GROUP BY gender"


def test_json_has_the_keys_that_the_page_of_commands_lists(shell, census, capsys):
    """In their order, for every command that prints JSON; a key in a list of groups too."""
    (census / "people.json").write_text(texts(README, "json")[0], encoding="utf-8")
    (census / "asked.jsonl").write_text(texts(README, "json")[1], encoding="utf-8")
    answers = ({"id": name, "value": 5, "scale": 2} for name in ("women", "men", "young", "rest"))
    (census / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    shell("$ parcomp init -c custodian.toml\n")
    workload = ["--domain", "people.json", "asked.jsonl"]
    error, line = texts(DOCS / "cli.md", "json")
    assert main(["ask", "SELECT COUNT(*) FROM census", *ASKED[:2], "--epsilon", "9", "--as", "anna", "--json"]) == 3
    refused = json.loads(capsys.readouterr().err)["error"]
    assert list(json.loads(error)["error"]) == list(refused)
    assert main(["overlap", *workload, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) | {"seconds": 0} == json.loads(line) | {"seconds": 0}
    calls = {
        "parcomp overlap": [["overlap", *workload]],
        "parcomp loss": [["loss", *workload, "--measure", "zcdp"]],
        "parcomp plan": [["plan", *workload, "--measure", "gdp", "--budget", "1"]],
        "parcomp estimate": [["estimate", *workload, "answers.jsonl"]],
        "parcomp check": [["check", "-c", "custodian.toml"]],
        "parcomp quote": [["quote", GROUPED, *ASKED]],
        "parcomp ask": [["ask", "SELECT COUNT(*) FROM census", *ASKED], ["ask", GROUPED, *ASKED]],
        "parcomp budget": [["budget", "-c", "custodian.toml"]],
        "parcomp keys add": [["keys", "add", "anna", "-c", "custodian.toml"]],
        "parcomp keys list": [["keys", "list", "-c", "custodian.toml"]],
        "parcomp keys revoke": [["keys", "revoke", "anna", "-c", "custodian.toml"]],
        "parcomp ledger show": [["ledger", "show", "-c", "custodian.toml"]],
        "parcomp ledger verify": [["ledger", "verify", "-c", "custodian.toml"]],
    }
    page = sections(DOCS / "cli.md")
    described = {name: [code for code in inline_code(page[name]) if code.startswith('{"')] for name in page}
    assert {name for name, shapes in described.items() if shapes} == set(calls)
    for name, commands in calls.items():
        shapes = [re.findall(r'"(\w+)"', shape) for shape in described[name]]
        printed = []
        for command in commands:
            assert main([*command, "--json"]) == 0
            printed += [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        if name == "parcomp ask":
            # With groups they stand in the place of the number and its interval.
            single, grouped = printed
            assert list(grouped) == ["charge", "groups", *shapes[0][3:]]
            printed = [single, grouped["groups"][0]]
        if name == "parcomp check":
            # The keys of each attribute stand within those of the whole.
            (report,) = printed
            within = next(iter(report["attributes"].values()))
            printed = [dict.fromkeys((*list(report)[:4], *within, *list(report)[4:]), 0)]
        if name == "parcomp budget":
            (balance,) = printed
            printed = [[*balance, *balance["analysts"]["anna"]]]
        # A plan's last lines are one of a query and the one of the whole.
        assert [list(one) for one in printed[-len(shapes) :]] == shapes, name


def test_the_files_of_the_page_of_formats_are_read(tmp_path):
    """A domain, and a query over it."""
    domain, query = texts(DOCS / "files.md", "json")
    (tmp_path / "census.json").write_text(domain, encoding="utf-8")
    (tmp_path / "asked.jsonl").write_text(query, encoding="utf-8")
    assert len(Workload.load(Domain.load(tmp_path / "census.json"), tmp_path / "asked.jsonl")) == 1


def test_the_statements_of_the_page_of_sql_are_read(tmp_path):
    """Over the domain of the page of formats; and the error that it shows is the one for MAX at that place."""
    (statements,) = texts(DOCS / "sql.md", "sql")
    described = json.loads(texts(DOCS / "files.md", "json")[0])
    described["attributes"]["married"] = {"values": [True, False]}
    (tmp_path / "census.json").write_text(json.dumps(described), encoding="utf-8")
    domain = Domain.load(tmp_path / "census.json")
    assert len(parse_statements(domain, statements)) == statements.count(";")
    (error,) = texts(DOCS / "sql.md", "")
    with pytest.raises(SqlError, match=re.escape(error.strip())):
        parse_statement(domain, "SELECT MAX(age) FROM census")


def test_the_mutant_of_the_page_for_contributors_is_one():
    """Its keys are those that the list takes, and its file is there."""
    (block,) = texts(CONTRIBUTING, "toml")
    (entry,) = tomllib.loads(block)["mutant"]
    mutant = Mutant(**{**entry, "tests": tuple(entry["tests"])})
    assert mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8")) is not None

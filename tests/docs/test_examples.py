"""What pages show is what happens: their files are read, their commands and programs run, their output compared."""

from __future__ import annotations

import io
import json
import re
import shlex
import tomllib
from contextlib import redirect_stdout

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from parcomp import Domain, Workload
from parcomp.cli import main
from parcomp.errors import SqlError
from parcomp.samples import census_domain, census_table
from parcomp.sql.parse import parse_statement, parse_statements
from tests.docs.pages import DOCS, PAGES, ROOT, blocks, inline_code, sections
from tests.mutants.entries import Mutant

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"

NOT_RUN = {
    ("README.md", ""): "targets of make, which test_names.py looks up",
    ("CONTRIBUTING.md", ""): "targets of make, and the layers",
    ("docs/architecture.md", ""): "the tree of directories",
    ("docs/cli.md", ""): "how a command is called, which test_commands.py compares",
    ("docs/ledger.md", "text"): "the order of the fields of a digest, which tests/ledger recomputes",
    ("docs/ledger.md", "sql"): "grants, which tests/contract/test_postgres_ledger.py gives",
}
"""The blocks that the tests below do not take, by page and language, and who looks at them."""


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Runs the commands of a block in a directory of their own, 80 columns wide, and compares what is shown of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(text):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            program, *arguments = shlex.split(command, comments=True)
            assert program.removeprefix(".venv/bin/") == "parcomp"
            assert main(arguments) == 0, command
            if expected:
                assert plain(capsys.readouterr().out) == plain(expected), command
            capsys.readouterr()

    return run


def plain(text: str) -> str:
    """Output without what differs from run to run (seconds) and without the blanks at the ends of lines."""
    return re.sub(r"\d+\.\d+ s\b", "… s", "\n".join(line.rstrip() for line in text.splitlines()))


def texts(page, language):
    return [block.text for block in blocks(page) if block.language == language]


def run_python(text: str) -> None:
    """Run a program; where a print has a comment behind it, that is what is printed."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(text, "a block of the documentation", "exec"), {})
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", text, re.MULTILINE)
    if expected:
        assert printed.getvalue().splitlines() == expected


def test_every_block_is_run_or_has_a_reason():
    """A language that the tests below do not know on this page is a block that nobody looks at."""
    run = {("README.md", language) for language in ("json", "console", "python")} | {
        ("docs/custodian.md", language) for language in ("toml", "console", "python")
    }
    run |= {("docs/files.md", "json"), ("docs/cli.md", "json"), ("docs/sql.md", "sql"), ("docs/sql.md", "")}
    run |= {("CONTRIBUTING.md", "toml")}
    # By tests/test_api_page.py.
    run |= {("docs/api.md", "python")}
    there = {(str(page.relative_to(ROOT)), block.language) for page in PAGES for block in blocks(page)}
    assert there == run | set(NOT_RUN)


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
    assert {path.name for path in (tmp_path / "out/demo").glob("*.png")} == {"paper.png", "census.png"}
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


ASKED = ["-c", "custodian.toml", "--epsilon", "0.01", "--as", "anna"]
GROUPED = "SELECT gender, COUNT(*) FROM census GROUP BY gender"


def test_json_has_the_keys_that_the_page_of_commands_lists(shell, census, capsys):
    """In their order, for every command that prints JSON; a key in a list of groups too."""
    (census / "people.json").write_text(texts(README, "json")[0], encoding="utf-8")
    (census / "asked.jsonl").write_text(texts(README, "json")[1], encoding="utf-8")
    shell("$ parcomp init -c custodian.toml\n")
    workload = ["--domain", "people.json", "asked.jsonl"]
    (line,) = texts(DOCS / "cli.md", "json")
    assert main(["overlap", *workload, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) | {"seconds": 0} == json.loads(line) | {"seconds": 0}
    calls = {
        "parcomp overlap": [["overlap", *workload]],
        "parcomp loss": [["loss", *workload, "--measure", "zcdp"]],
        "parcomp plan": [["plan", *workload, "--measure", "gdp", "--budget", "1"]],
        "parcomp quote": [["quote", GROUPED, *ASKED]],
        "parcomp ask": [["ask", "SELECT COUNT(*) FROM census", *ASKED], ["ask", GROUPED, *ASKED]],
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
        # A plan's last lines are one of a query and the one of the whole.
        assert [list(one) for one in printed[-len(shapes) :]] == shapes, name


def test_the_files_of_the_page_of_formats_are_read(tmp_path):
    """A domain, and a query over it."""
    domain, query = texts(DOCS / "files.md", "json")
    (tmp_path / "census.json").write_text(domain, encoding="utf-8")
    (tmp_path / "asked.jsonl").write_text(query, encoding="utf-8")
    assert len(Workload.load(Domain.load(tmp_path / "census.json"), tmp_path / "asked.jsonl")) == 1


def test_the_statements_of_the_page_of_sql_are_read(tmp_path):
    """Over the domain of the page of formats; and the error that it shows is the one for LIKE at that place."""
    (statements,) = texts(DOCS / "sql.md", "sql")
    described = json.loads(texts(DOCS / "files.md", "json")[0])
    described["attributes"]["married"] = {"values": [True, False]}
    (tmp_path / "census.json").write_text(json.dumps(described), encoding="utf-8")
    domain = Domain.load(tmp_path / "census.json")
    assert len(parse_statements(domain, statements)) == statements.count(";")
    (error,) = texts(DOCS / "sql.md", "")
    with pytest.raises(SqlError, match=re.escape(error.strip())):
        parse_statement(domain, "SELECT COUNT(*) FROM census WHERE sex LIKE 'F%'")


def test_the_mutant_of_the_page_for_contributors_is_one():
    """Its keys are those that the list takes, and its file is there."""
    (block,) = texts(CONTRIBUTING, "toml")
    (entry,) = tomllib.loads(block)["mutant"]
    mutant = Mutant(**{**entry, "tests": tuple(entry["tests"])})
    assert mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8")) is not None

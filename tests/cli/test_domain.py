"""``parcomp domain suggest`` prints a domain file and says what is left to do."""

import json

import pytest
from typer.testing import CliRunner

from parcomp.cli import main
from parcomp.cli.domain import domain
from parcomp.model import Categorical, Domain, Integer

SEX = Categorical(["F", "M"])


def suggest(*arguments):
    return CliRunner().invoke(domain, ["suggest", *map(str, arguments)])


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "people.sql"
    path.write_text(
        "CREATE TABLE people (id serial PRIMARY KEY, sex text NOT NULL CHECK (sex IN ('F', 'M')), income real NOT NULL)"
    )
    return path


def test_the_draft_is_a_domain_file_with_a_line_for_each_column(schema, tmp_path):
    """On standard output or in a file, the same; a line on standard error says how to complete it."""
    printed = suggest(schema)
    assert printed.exit_code == 0
    assert printed.stdout == (
        'name = "people"\n\n[attributes]\n'
        "# id is left out: no two rows share a value (PRIMARY KEY or UNIQUE), as in an identifier\n"
        'sex = { values = ["F", "M"] }\n'
        "# income = { low = ?, high = ?, step = ? }  # numbers; give low, high and step, or bins in its place\n"
    )
    assert printed.stderr == (
        "parcomp: note: 1 of 3 columns is to be completed: give what stands for ? in its line and take the # away, "
        "or delete it\n"
    )
    out = tmp_path / "domain.toml"
    written = suggest(schema, "--out", out)
    assert (written.exit_code, written.stdout, written.stderr) == (0, "", printed.stderr)
    assert out.read_text() == printed.stdout
    assert Domain.load(out) == Domain({"sex": SEX}, name="people")


def test_json_has_what_is_complete_and_the_rest_is_named(schema, tmp_path):
    out = tmp_path / "domain.json"
    result = suggest(schema, "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert Domain.load(out) == Domain({"sex": SEX}, name="people")
    assert result.stderr == (
        "parcomp: declare yourself: income (numbers; give low, high and step, or bins in its place)\n"
        "parcomp: left out: id (no two rows share a value (PRIMARY KEY or UNIQUE), as in an identifier)\n"
    )


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_hand_is_never_empty(tmp_path, form):
    """Where nothing is declared, the skeleton is all there is, and the exit code is 0."""
    path, out = tmp_path / "t.csv", tmp_path / f"d.{form}"
    path.write_text("weight,epsilon\n7,secret\n")
    result = suggest(path, "--out", out)
    assert result.exit_code == 0
    said = out.read_text() if form == "toml" else result.stderr
    assert "weight" in said
    assert "epsilon" in said
    assert "secret" not in said
    assert result.stderr


def test_reading_values_is_warned_of(tmp_path):
    """Only with --from-data are values read, and then a warning says what that means."""
    path, out = tmp_path / "t.csv", tmp_path / "d.toml"
    path.write_text("sex,age\nF,7\nM,NA\n")
    result = suggest(path, "--from-data", "--out", out)
    assert Domain.load(out).attributes == {"sex": SEX, "age": Integer(7, 7, nullable=True)}
    warning, nulls = result.stderr.splitlines()
    assert warning.startswith("parcomp: note: --from-data copies values of the data into the domain")
    assert nulls == (
        'parcomp: note: some texts seem to stand for null; put nulls = ["NA"] into [source] of the settings'
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.sql"], "gone.sql"),
        (["gone.csv"], "there is no such file"),
        (["gone.duckdb"], "there is no such file"),
        (["people.txt"], "a file with data ends in"),
        (["people.sql", "--out", "d.yaml"], "a draft is written as .toml, or as .json"),
        (["postgresql://nobody@localhost:1/none"], "name one with --table"),
    ],
)
def test_what_cannot_be_drafted_is_a_line(schema, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(schema.parent)
    assert main(["domain", "suggest", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not list(schema.parent.glob("d.*"))


def test_a_name_that_has_to_be_quoted_is_noted(tmp_path):
    path = tmp_path / "export 2024.csv"
    path.write_text("sex,age\nF,3\n")
    said = suggest(path).stderr
    assert 'note: statements have to say FROM "export 2024"; a plainer name' in said
    assert "FROM" not in suggest(path.rename(tmp_path / "people.csv")).stderr


def test_the_group_alone_prints_its_help(capsys):
    assert main(["domain"]) == 0
    said = capsys.readouterr()
    assert "suggest" in said.out
    assert said.err == ""


def test_json_of_nothing_is_still_json(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "d.json"
    path.write_text("a\n1\n")
    suggest(path, "--out", out)
    assert json.loads(out.read_text()) == {"name": "t", "attributes": {}}

"""``parcomp domain suggest`` prints a domain file and says what it leaves out."""

import json

import pytest
from typer.testing import CliRunner

from parcomp.cli.domain import domain
from parcomp.errors import DataError
from parcomp.model.attribute import Categorical
from parcomp.model.domain import Domain


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "people.sql"
    path.write_text("CREATE TABLE people (sex text NOT NULL CHECK (sex IN ('F', 'M')), income real)")
    return path


def test_the_draft_is_a_domain_file(schema, tmp_path):
    """On standard output or in a file, the same; what is left out goes to standard error."""
    result = CliRunner().invoke(domain, ["suggest", str(schema)])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}}}
    assert result.stderr == "parcomp: declare yourself: income (numbers; give low, high and bins)\n"
    out = tmp_path / "domain.json"
    result = CliRunner().invoke(domain, ["suggest", str(schema), "--out", str(out)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert Domain.load(out) == Domain({"sex": Categorical(["F", "M"])}, name="people")


def test_reading_values_is_warned_of(tmp_path):
    """Only with --from-data are values read, and then a warning says what that means."""
    path = tmp_path / "t.csv"
    path.write_text("sex\nF\nM\n")
    result = CliRunner().invoke(domain, ["suggest", str(path)])
    assert isinstance(result.exception, DataError)
    result = CliRunner().invoke(domain, ["suggest", str(path), "--from-data"])
    assert json.loads(result.stdout)["attributes"] == {"sex": {"values": ["F", "M"]}}
    assert result.stderr.startswith("parcomp: warning: --from-data copies values of the data into the domain")

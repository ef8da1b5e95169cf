"""What first users and an attack met on tables: drafts, infinite moments, names that could pass for others."""

from __future__ import annotations

import duckdb
import pytest

from parcomp.cli import main
from parcomp.data.encoding import TableEncoder
from parcomp.data.sources.duckdb_source import DuckDBSource
from parcomp.model import Dated, Domain
from tests.custodians import load_settings, write_custodian


def test_a_draft_is_not_written_over_a_file(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("sex,age\nF,3\n")
    kept = tmp_path / "kept.toml"
    kept.write_text("mine")
    assert main(["domain", "suggest", str(tmp_path / "t.csv"), "--out", str(kept)]) == 2
    assert "there is such a file already" in capsys.readouterr().err
    assert kept.read_text() == "mine"


def test_a_draft_reads_files_of_other_forms(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;sex\n3;F\n".encode("cp1252"))
    assert main(["domain", "suggest", str(path), "--encoding", "cp1252"]) == 2
    assert "give --delimiter" in capsys.readouterr().err
    assert main(["domain", "suggest", str(path), "--delimiter", ";", "--encoding", "cp1252"]) == 0
    assert "größe" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NS"])
def test_an_infinite_moment_is_outside_whatever_its_type(tmp_path, kind):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute(f"CREATE TABLE t (a {kind})")
        made.execute("INSERT INTO t VALUES ('infinity'), ('-infinity'), ('2200-01-01')")
    domain = Domain({"a": Dated("1600-01-01", "2300-12-31")})
    encoder = TableEncoder(domain, (), "UTC")
    with DuckDBSource(str(tmp_path / "t.duckdb"), "t") as source:
        codes = [code for batch in encoder.encoded(source.batches(["a"])) for code in batch.to_pydict()["c0"]]
    assert sum(code == domain.attributes["a"].size for code in codes) == 2


def test_a_table_by_persons_is_bound_by_a_name_that_no_other_can_have(tmp_path):
    settings = load_settings(tmp_path)
    text = (tmp_path / "custodian.toml").read_text()
    (tmp_path / "custodian.toml").write_text(
        text.replace('source = "people.csv"', 'source = "people.csv"\ntable = "a\\nb"')
    )
    assert main(["check", "-c", str(tmp_path / "custodian.toml")]) == 2
    assert "\n" not in settings.binding.source


def test_a_load_says_how_many_of_the_added_rows_were_taken(tmp_path, capsys):
    path = write_custodian(tmp_path)
    with (tmp_path / "people.csv").open("a") as file:
        file.write("F,3\r\nM,4\r\n")
    assert main(["load", "-c", str(path)]) == 0
    assert "2 rows were added, of which 2 are taken." in capsys.readouterr().out

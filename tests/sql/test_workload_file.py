"""Workload files in SQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parcomp.cli import main
from parcomp.errors import FileError
from parcomp.model.workload import Workload
from tests.sql.bad_statements import CENSUS

TWO = """-- by sex
SELECT COUNT(*) FROM census WHERE sex = 'F';
SELECT COUNT(*)
FROM census WHERE sex = 'M' OR sex = 'F' AND 1 > age
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "asked.sql"
    path.write_text(text, encoding="utf-8")
    return path


def test_statements_become_queries_with_their_lines_as_ids(tmp_path: Path) -> None:
    workload = Workload.load(CENSUS, write(tmp_path, TWO))
    assert workload.ids == [2, 3]
    # Whoever has another sex, or none, is in neither.
    assert [workload[0], workload[1]] == [CENSUS.query(sex="F"), CENSUS.query(sex=["F", "M"])]
    assert (workload.kind, workload.total) == ("weight", 2)


def test_an_empty_file_is_an_empty_workload(tmp_path: Path) -> None:
    assert len(Workload.load(CENSUS, write(tmp_path, "-- nothing asked\n"))) == 0


def test_a_workload_of_sql_is_the_same_as_one_in_json_lines(tmp_path: Path) -> None:
    workload = Workload.load(CENSUS, write(tmp_path, TWO))
    workload.save(tmp_path / "asked.jsonl")
    again = Workload.load(CENSUS, tmp_path / "asked.jsonl")
    assert (list(again), again.ids) == (list(workload), workload.ids)


def test_an_error_names_file_line_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, TWO + ";\n\n  SELECT COUNT(*) FROM census WHERE sex SIMILAR TO 'F'")
    with pytest.raises(FileError) as caught:
        Workload.load(CENSUS, path)
    assert str(caught.value).startswith(f"{path}:7: sql: column 41: SIMILAR TO is not supported")


def test_two_statements_on_one_line_have_no_ids_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "\nSELECT COUNT(*) FROM census; SELECT COUNT(*) FROM census")
    with pytest.raises(FileError, match=r":2: sql: .*line of its own"):
        Workload.load(CENSUS, path)


def test_other_suffixes_are_refused_and_the_known_ones_listed(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"ends in \.jsonl or \.sql"):
        Workload.load(CENSUS, tmp_path / "asked.csv")
    with pytest.raises(FileError, match=r"saved as \.jsonl"):
        Workload(CENSUS).save(tmp_path / "asked.sql")


def test_the_commands_take_sql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    CENSUS.save(tmp_path / "census.json")
    assert main(["overlap", "--domain", str(tmp_path / "census.json"), str(write(tmp_path, TWO)), "--json"]) == 0
    assert '"members": [2, 3]' in capsys.readouterr().out
    assert main(["overlap", "--domain", str(tmp_path / "census.json"), str(write(tmp_path, "SELECT 1"))]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_parser_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, parcomp; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0

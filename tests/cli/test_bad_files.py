"""``parcomp overlap`` refuses a bad file: exit code 2, one line on standard error, nothing on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parcomp.cli import main
from tests.bad_files import BAD_FILES, BadFile


@pytest.mark.timeout(20)
@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_a_bad_file_is_refused_with_one_line(case: BadFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain, workload = case.write(tmp_path)
    code = main(["overlap", "--domain", str(domain), str(workload), "--json"])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    message = json.loads(captured.err)["error"]["message"]
    assert case.place(domain if case.bad == "domain" else workload) in message
    assert case.says in message
    # The same line, for people.
    assert main(["overlap", "--domain", str(domain), str(workload)]) == 2
    assert capsys.readouterr().err == f"parcomp: {message}\n"


IN_A_PROCESS = {
    "domain truncated",
    "domain nested too deeply",
    "domain yaml duplicate key",
    "domain values with a lone surrogate",
    "workload not UTF-8",
    "workload id a lone surrogate",
    "workload line end in an unknown key",
    "workload weight NaN",
}


@pytest.mark.parametrize("case", [case for case in BAD_FILES if case.name in IN_A_PROCESS], ids=lambda case: case.name)
def test_so_it_is_in_a_process_of_its_own(case: BadFile, tmp_path: Path) -> None:
    domain, workload = case.write(tmp_path)
    command = [sys.executable, "-m", "parcomp.cli", "overlap", "--domain", str(domain), str(workload)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert case.place(domain if case.bad == "domain" else workload) in done.stderr


def test_the_cases_run_in_a_process_are_in_the_table() -> None:
    assert {case.name for case in BAD_FILES} >= IN_A_PROCESS

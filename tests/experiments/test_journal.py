"""The journal of a run: durable line by line, and whole whatever happened to the file."""

from __future__ import annotations

import json

import pytest

from parcomp.errors import FileError
from parcomp.experiments.journal import Journal


def test_an_entry_is_in_the_file_once_it_is_entered(tmp_path):
    """Not in a buffer of the process, which -9 would take with it."""
    path = tmp_path / "deep" / "a.journal.jsonl"
    with Journal(path) as journal:
        journal.enter({"t": 1}, {"rows": [1]})
        assert json.loads(path.read_text()) == {"key": {"t": 1}, "rows": [1]}
    with Journal(path) as journal:
        assert journal.get({"t": 1})["rows"] == [1]
        assert journal.get({"t": 2}) is None


def test_a_line_that_was_cut_off_is_forgotten_and_the_next_is_not_lost_with_it(tmp_path):
    path = tmp_path / "a.journal.jsonl"
    whole = '{"key": {"t": 1}, "rows": []}\n'
    for cut in ('{"key": {"t": 2}, "ro', '{"key": {"t": 2}, "rows": []}', "\0" * 20):
        path.write_text(whole + cut)
        with Journal(path) as journal:
            assert journal.get({"t": 2}) is None
            journal.enter({"t": 3}, {"rows": []})
        with Journal(path) as journal:
            assert [journal.get({"t": t}) is not None for t in (1, 2, 3)] == [True, False, True]


def test_a_line_of_nonsense_hides_no_other(tmp_path):
    path = tmp_path / "a.journal.jsonl"
    path.write_text('\0\0\0\n[]\n{"rows": []}\n{"key": {"t": 4}, "rows": []}\n')
    with Journal(path) as journal:
        assert journal.get({"t": 4}) is not None


def test_one_run_at_a_time(tmp_path):
    path = tmp_path / "a.journal.jsonl"
    with Journal(path), pytest.raises(FileError, match="another run is writing it"):
        Journal(path)
    Journal(path).__exit__(None, None, None)

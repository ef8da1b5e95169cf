"""A bad file is refused with one line that names file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcomp.errors import FileError
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
from tests.bad_files import BAD_FILES, GOOD_DOMAIN, GOOD_QUERY, BadFile


def load(domain: Path, workload: Path) -> Workload:
    return Workload.load(Domain.load(domain), workload)


def test_the_good_files_of_the_table_are_good(tmp_path: Path) -> None:
    domain, workload = tmp_path / "domain.json", tmp_path / "workload.jsonl"
    domain.write_text(GOOD_DOMAIN, encoding="utf-8")
    workload.write_text(GOOD_QUERY + "\n", encoding="utf-8")
    assert load(domain, workload).ids == ["first"]


def test_each_case_has_its_own_name() -> None:
    assert len({case.name for case in BAD_FILES}) == len(BAD_FILES) >= 45


@pytest.mark.timeout(20)
@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_refusal_names_file_line_and_field(case: BadFile, tmp_path: Path) -> None:
    domain, workload = case.write(tmp_path)
    with pytest.raises(FileError) as caught:
        load(domain, workload)
    message = str(caught.value)
    assert message.startswith(case.place(domain if case.bad == "domain" else workload))
    assert case.says in message
    assert message.isprintable()
    assert len(message) < 500
    assert caught.value.line == case.line


@pytest.mark.parametrize("opening", ["[", '{"not": '])
def test_nesting_of_any_depth_is_read_or_refused(opening: str, tmp_path: Path) -> None:
    closing = "]" if opening == "[" else "}"
    domain, workload = tmp_path / "domain.json", tmp_path / "workload.jsonl"
    domain.write_text(GOOD_DOMAIN, encoding="utf-8")
    refused = 0
    # Among these are depths that the parser of JSON just takes and the reader of predicates does not.
    for depth in range(2, 1200, 6):
        workload.write_text(f'{{"where": {{"age": {opening * depth}1{closing * depth}}}}}', encoding="utf-8")
        try:
            read = load(domain, workload)[0]
        except FileError:
            refused += 1
        else:
            assert opening != "["
            assert read == Domain.load(domain).query(age=1)
    assert refused

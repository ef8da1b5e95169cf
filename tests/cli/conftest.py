"""Files that several commands are tried on."""

import pytest

from parcomp.samples import paper_example


@pytest.fixture
def paper(tmp_path):
    """The paper's example as files."""
    workload = paper_example()
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "six.jsonl")
    return tmp_path

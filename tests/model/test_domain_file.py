"""Domain files: what is saved is loaded, and the three forms say the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given

from parcomp.errors import FileError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from tests.property.strategies import domains, many

JSON = """{"name": "census", "attributes": {
  "sex": {"values": ["F", "M"]},
  "native": {"values": [true, false], "nullable": true},
  "code": {"values": [3, 1, 2]},
  "age": {"low": 0, "high": 119},
  "income": {"low": 0, "high": 750000, "bins": 5000},
  "share": {"low": 0.1, "high": 0.7, "bins": 7, "nullable": false}}}"""

TOML = """name = "census"
[attributes]
sex = {values = ["F", "M"]}
native = {values = [true, false], nullable = true}
code.values = [3, 1, 2]
[attributes.age]
low = 0
high = 119
[attributes.income]
low = 0
high = 750_000
bins = 5_000
[attributes.share]
low = 0.1
high = 0.7
bins = 7
nullable = false
"""

YAML = """name: census
attributes:
  sex: {values: [F, M]}
  native: {values: [yes, no], nullable: true}
  code:
    values:
    - 3
    - 1
    - 2
  age: {low: 0, high: 119}
  income: {low: 0, high: 750000, bins: 5000}
  share: {low: 0.1, high: 0.7, bins: 7, nullable: false}
"""

CENSUS = Domain(
    {
        "sex": Categorical(["F", "M"]),
        "native": Categorical([True, False], nullable=True),
        "code": Categorical([3, 1, 2]),
        "age": Integer(0, 119),
        "income": Binned(0, 750_000, 5_000),
        "share": Binned(0.1, 0.7, 7),
    },
    name="census",
)


@pytest.mark.parametrize(("suffix", "text"), [(".json", JSON), (".toml", TOML), (".yaml", YAML), (".yml", YAML)])
def test_the_three_forms_say_the_same(suffix: str, text: str, tmp_path: Path) -> None:
    path = (tmp_path / "domain").with_suffix(suffix)
    path.write_text(text, encoding="utf-8")
    assert Domain.load(path) == CENSUS


@many
@given(domains())
def test_what_is_saved_is_loaded(domain: Domain) -> None:
    with tempfile.TemporaryDirectory() as directory:
        saved, as_yaml = Path(directory, "d.json"), Path(directory, "d.yaml")
        domain.save(saved)
        assert Domain.load(saved) == domain
        as_yaml.write_text(yaml.safe_dump(json.loads(saved.read_text("utf-8")), sort_keys=False), encoding="utf-8")
        assert Domain.load(as_yaml) == domain


def test_the_name_is_that_of_the_file_where_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text('{"attributes": {"a": {"low": 0, "high": 1}}}', encoding="utf-8")
    assert Domain.load(str(path)).name == "people"


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"\xef\xbb\xbf" + JSON.encode())
    assert Domain.load(path) == CENSUS


def test_a_domain_is_saved_as_json_only(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"\.json"):
        CENSUS.save(tmp_path / "domain.toml")

"""Domain files: what is saved is loaded, and the three forms say the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given

from parcomp.errors import FileError
from parcomp.model.attribute import Binned, Categorical, Dated, Integer, Stepped
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


KINDS_JSON = """{"name": "clinic", "attributes": {
  "kappa": {"low": "0.00", "high": 20, "step": 0.01, "clip": true, "nullable": true},
  "visit": {"low": "1990-01-01", "high": "2029-12-31"},
  "hour": {"low": "2020-01-01", "high": "2020-01-02", "unit": "hour"},
  "month": {"low": "1990-01-01", "high": "2029-12", "unit": "month"},
  "year": {"low": 1990, "high": "2029", "unit": "year", "nullable": true},
  "age": {"low": 0, "high": 119, "clip": true},
  "pay": {"low": 0, "high": 100, "bins": 10, "clip": true},
  "icd": {"values": ["C00", "C01", "I10"], "levels": {"chapter": {"Neoplasms": ["C00", "C01"], "Other": "rest"}}}}}"""

KINDS_TOML = """name = "clinic"
[attributes]
kappa = {low = 0, high = 20.00, step = "0.01", clip = true, nullable = true}
visit = {low = 1990-01-01, high = 2029-12-31}
hour = {low = 2020-01-01T00:00:00, high = 2020-01-02, unit = "hour"}
month = {low = 1990-01-17, high = 2029-12-31, unit = "month"}
year = {low = 1990, high = 2029-06-01, unit = "year", nullable = true}
age = {low = 0, high = 119, clip = true}
pay = {low = 0, high = 100, bins = 10, clip = true}
[attributes.icd]
values = ["C00", "C01", "I10"]
levels.chapter.Neoplasms = ["C00", "C01"]
levels.chapter.Other = "rest"
"""

KINDS_YAML = """name: clinic
attributes:
  kappa: {low: 0, high: 20.0, step: 0.01, clip: yes, nullable: yes}
  visit: {low: 1990-01-01, high: 2029-12-31, unit: day}
  hour: {low: 2020-01-01T00, high: 2020-01-02, unit: hour}
  month: {low: 1990-01, high: 2029-12, unit: month}
  year: {low: 1990, high: 2029, unit: year, nullable: true}
  age: {low: 0, high: 119, clip: true}
  pay: {low: 0, high: 100, bins: 10, clip: true}
  icd:
    values: [C00, C01, I10]
    levels:
      chapter:
        Neoplasms: [C00, C01]
        Other: rest
"""

CLINIC = Domain(
    {
        "kappa": Stepped("0", "20", "0.01", nullable=True, clip=True),
        "visit": Dated("1990-01-01", "2029-12-31"),
        "hour": Dated("2020-01-01T00", "2020-01-02T23", "hour"),
        "month": Dated("1990-01", "2029-12", "month"),
        "year": Dated("1990", "2029", "year", nullable=True),
        "age": Integer(0, 119, clip=True),
        "pay": Binned(0, 100, 10, clip=True),
        "icd": Categorical(["C00", "C01", "I10"], levels={"chapter": {"Neoplasms": ["C00", "C01"], "Other": ["I10"]}}),
    },
    name="clinic",
)


@pytest.mark.parametrize(("suffix", "text"), [(".json", KINDS_JSON), (".toml", KINDS_TOML), (".yaml", KINDS_YAML)])
def test_decimals_dates_levels_and_clipping_are_the_same_in_every_form(suffix: str, text: str, tmp_path: Path) -> None:
    path, again = (tmp_path / "domain").with_suffix(suffix), tmp_path / "again.json"
    path.write_text(text, encoding="utf-8")
    domain = Domain.load(path)
    assert domain == CLINIC
    assert json.dumps(domain.describe()) == json.dumps(CLINIC.describe())
    domain.save(again)
    assert Domain.load(again) == CLINIC
    as_yaml = again.with_suffix(".yaml")
    as_yaml.write_text(yaml.safe_dump(domain.describe(), sort_keys=False), encoding="utf-8")
    assert Domain.load(as_yaml) == CLINIC

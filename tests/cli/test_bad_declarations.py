"""Declarations that cannot be meant: exit 2, one line that names file and field, and nothing is made."""

from __future__ import annotations

import json
import re

import pytest

from parcomp.cli import main
from tests.custodians import PEOPLE, write_custodian

ATTRIBUTES = {
    "step 0": ({"low": "0", "high": "1", "step": "0"}, "step"),
    "a negative step": ({"low": "0", "high": "1", "step": "-0.1"}, "step"),
    "a step that does not divide": ({"low": "0", "high": "1", "step": "0.3"}, "high"),
    "NaN": ({"low": "NaN", "high": "1", "step": "0.1"}, "low"),
    "an infinity": ({"low": "0", "high": "Infinity", "step": "0.1"}, "high"),
    "reversed decimals": ({"low": "1", "high": "0", "step": "0.1"}, "age"),
    "reversed dates": ({"low": "2026-02-01", "high": "2026-01-01"}, "low"),
    "no date": ({"low": "2026-02-30", "high": "2026-03-01"}, "low"),
    "an unknown unit": ({"low": "2026-01-01", "high": "2026-02-01", "unit": "week"}, "unit"),
    "clipped names": ({"values": ["a"], "clip": True}, "age"),
    "overlapping levels": ({"values": ["a", "b"], "levels": {"l": {"x": ["a", "b"], "y": ["b"]}}}, "levels"),
    "an incomplete level": ({"values": ["a", "b"], "levels": {"l": {"x": ["a"]}}}, "levels"),
    "a level of unknown values": ({"values": ["a"], "levels": {"l": {"x": ["a", "c"]}}}, "levels"),
    "a level called like an attribute": ({"values": ["a"], "levels": {"sex": {"x": ["a"]}}}, "sex"),
}

SOURCES = {
    'timezone = "Mars/Olympus"': "timezone",
    'timezone = "../../etc/passwd"': "timezone",
    'timezone = ""': "timezone",
    'encoding = "utf-99"': "encoding",
    'encoding = "base64"': "encoding",
    'encoding = "unicode_escape"': "encoding",
    'encoding = "raw-unicode-escape"': "encoding",
    'encoding = "IDNA"': "encoding",
    'encoding = "punycode"': "encoding",
    'encoding = "undefined"': "encoding",
    'encoding = "charmap"': "encoding",
    'encoding = "utf\\u0000"': "encoding",
    'timezone = "posixrules"': "timezone",
    'timezone = "localtime"': "timezone",
    'timezone = "right/Europe/Vienna"': "timezone",
    'delimiter = ";;"': "delimiter",
    "delimiter = '\"'": "delimiter",
    'delimiter = "ä"': "delimiter",
    'compression = "zip"': "compression",
    'nulls = "NA"': "nulls",
    "nulls = [1]": "nulls",
    'nul = ["NA"]': "nul",
}


def made(directory):
    """What is there beside what was written."""
    written = {"people.csv", "domain.json", "custodian.toml"}
    return {path.name for path in directory.iterdir()} - written


def refused(settings, capsys, field):
    for command in ("check", "init", "load"):
        assert main([command, "-c", str(settings)]) == 2
        captured = capsys.readouterr()
        assert re.match(r"parcomp: .*(custodian\.toml|domain\.json):[0-9]+: [a-z]+[.:]", captured.err), captured.err
        assert captured.err.count("\n") == 1
        assert field in captured.err
        assert captured.out == ""
    assert made(settings.parent) == set()


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_bad_attributes(name, tmp_path, capsys):
    attribute, field = ATTRIBUTES[name]
    domain = {"name": "people", "attributes": {**PEOPLE["attributes"], "age": attribute}}
    settings = write_custodian(tmp_path, init=False)
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    refused(settings, capsys, field)


@pytest.mark.parametrize("line", SOURCES)
def test_bad_sources(line, tmp_path, capsys):
    settings = write_custodian(tmp_path, init=False)
    settings.write_text(settings.read_text() + f"\n[source]\n{line}\n")
    refused(settings, capsys, SOURCES[line])


def test_a_person_that_is_no_column(tmp_path, capsys):
    settings = write_custodian(tmp_path, init=False)
    settings.write_text(settings.read_text().replace("rows_per_person = 1", 'rows_per_person = 1\nperson = "patient"'))
    refused(settings, capsys, "custodian.toml:12: privacy.person: patient: no column has this name; the columns are")


def test_values_of_several_types(tmp_path, capsys):
    """A domain may have them, and no column."""
    settings = write_custodian(tmp_path, init=False)
    domain = {"name": "people", "attributes": {**PEOPLE["attributes"], "age": {"values": ["a", 1]}}}
    (tmp_path / "domain.json").write_text(json.dumps(domain, indent=1))
    refused(settings, capsys, "attributes.age.values: the domain declares values of several types")

"""Files that must be refused, and what the refusal must name.

One table for the readers of files and for the commands: each case is a domain file and a workload file of which exactly
one is bad, with the line and the field that the message has to name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["BAD_FILES", "GOOD_DOMAIN", "GOOD_QUERY", "BadFile"]

GOOD_DOMAIN = """{
  "name": "people",
  "attributes": {
    "sex": {"values": ["F", "M", "age"]},
    "age": {"low": 0, "high": 119},
    "income": {"low": 0, "high": 750000, "bins": 5000},
    "married": {"values": [true, false], "nullable": true}
  }
}
"""
GOOD_QUERY = '{"id": "first", "where": {"sex": "F"}, "weight": 1}'

_ABSENT = object()
_DIRECTORY = object()


@dataclass(frozen=True, slots=True)
class BadFile:
    """A domain and a workload of which one is bad; ``line`` and ``field`` are None where there is none to name."""

    name: str
    bad: Literal["domain", "workload"]
    content: object
    suffix: str
    line: int | None
    field: str | None
    says: str = ""

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Write both files; returns the paths of the domain and of the workload."""
        domain, workload = directory / "domain.json", directory / "workload.jsonl"
        if self.bad == "domain":
            domain = domain.with_suffix(self.suffix)
        else:
            domain.write_text(GOOD_DOMAIN, encoding="utf-8")
            workload = workload.with_suffix(self.suffix)
        if self.bad == "workload":
            _write(workload, self.content)
        else:
            _write(domain, self.content)
            workload.write_text(GOOD_QUERY + "\n", encoding="utf-8")
        return domain, workload

    def place(self, path: Path) -> str:
        """How the message about the file at ``path`` must begin."""
        place = str(path) if self.line is None else f"{path}:{self.line}"
        return f"{place}: " if self.field is None else f"{place}: {self.field}: "


def _write(path: Path, content: object) -> None:
    if content is _DIRECTORY:
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not _ABSENT:
        path.write_bytes(str(content).encode("utf-8"))


def _domain(
    name: str, content: object, line: int | None, field: str | None = None, says: str = "", suffix: str = ".json"
) -> BadFile:
    return BadFile(f"domain {name}", "domain", content, suffix, line, field, says)


def _attribute(name: str, written: str, key: str | None = None, says: str = "") -> BadFile:
    """A domain whose attribute ``bad`` is at fault; it stands on line 4."""
    content = f'{{"attributes": {{\n  "good": {{"values": ["bad", "low", "bins"]}},\n\n  "bad": {written}\n}}}}\n'
    return _domain(name, content, 4, "attributes.bad" + (f".{key}" if key else ""), says)


def _workload(name: str, content: object, line: int | None, field: str | None = None, says: str = "") -> BadFile:
    return BadFile(f"workload {name}", "workload", content, ".jsonl", line, field, says)


def _query(name: str, query: str, field: str | None = None, says: str = "") -> BadFile:
    """A workload whose third line is at fault; the second one is empty."""
    return _workload(name, f"{GOOD_QUERY}\n\n{query}\n{GOOD_QUERY}\n", 3, field, says)


def _where(name: str, attribute: str, written: str, says: str = "") -> BadFile:
    return _query(name, f'{{"where": {{"{attribute}": {written}}}}}', f"where.{attribute}", says)


def _cost(name: str, costs: str, field: str = "weight", says: str = "") -> BadFile:
    return _query(name, f'{{"where": {{}}, {costs}}}', field, says)


def _toml(name: str, content: str, line: int, field: str | None = None, says: str = "") -> BadFile:
    return _domain(f"toml {name}", content, line, field, says, ".toml")


def _yaml(name: str, content: str, line: int, field: str | None = None, says: str = "") -> BadFile:
    return _domain(f"yaml {name}", content, line, field, says, ".yaml")


_FIVE_THOUSAND_DIGITS = "9" * 5_000
_DEEP = 100_000

_BAD_DOMAIN_FILES = [
    _domain("missing", _ABSENT, None, says="No such file"),
    _domain("is a directory", _DIRECTORY, None, says="directory"),
    _domain("wrong suffix", GOOD_DOMAIN, None, says=".json", suffix=".txt"),
    _domain("no suffix", GOOD_DOMAIN, None, says=".json", suffix=""),
    _domain("empty", "", 1, says="not valid JSON"),
    _domain("truncated", GOOD_DOMAIN[:-20], 7, says="not valid JSON"),
    _domain("trailing text", GOOD_DOMAIN + "}", 10, says="not valid JSON"),
    _domain("not UTF-8", b'{"attributes":\n {"caf\xe9": {"values": [1]}}}', 2, says="UTF-8"),
    _domain("UTF-16", GOOD_DOMAIN.encode("utf-16"), 1, says="UTF-8"),
    _domain("list", "[]", 1, says="object"),
    _domain("null", "null", 1, says="object"),
    _domain("string", '"people"', 1, says="object"),
    _domain(
        "unknown key", '{"attributes":\n {"a": {"low": 0, "high": 1}},\n"version": 1}', 3, "version", "unknown key"
    ),
    _domain("without attributes", '{"name": "people"}', 1, "attributes", "missing"),
    _domain("attributes empty", '{\n"attributes": {}}', 2, "attributes", "empty"),
    _domain("attributes a list", '{\n\n"attributes": []}', 3, "attributes", "object"),
    _domain("attributes null", '{"attributes": null}', 1, "attributes", "object"),
    _domain("name a number", '{"attributes": {"a": {"low": 0, "high": 1}},\n"name": 5}', 2, "name", "string"),
    _domain("name empty", '{"name": "",\n"attributes": {"a": {"low": 0, "high": 1}}}', 1, "name", "string"),
    _domain("attribute without name", '{"attributes": {\n"": {"low": 0, "high": 1}}}', 2, "attributes.", "name"),
    _domain(
        "lone surrogate in a name", '{"attributes": {"\\ud800": {"low": 0, "high": 1}}}', 1, says="not valid Unicode"
    ),
    _domain(
        "line end in an unknown key", '{"attributes": {"a": {"low": 0, "high": 1}}, "x\\ny": 1}', 1, "x\\ny", "unknown"
    ),
    _domain(
        "duplicate key", '{"attributes": {"a": {"low": 0, "high": 1}},\n"name": "x",\n"name": "y"}', 3, "name", "dupl"
    ),
    _domain(
        "duplicate attribute",
        '{"attributes": {\n"a": {"low": 0, "high": 1},\n"b": {"values": ["a"]},\n"a": {"low": 0, "high": 2}}}',
        4,
        "a",
        "duplicate",
    ),
    _domain(
        "duplicate key before the same key of another attribute",
        '{"attributes": {\n"a": {"low": 0,\n"low": 1, "high": 3},\n"b": {"low": 0,\n"high": 2}}}',
        3,
        "low",
        "duplicate",
    ),
    _domain("nested too deeply", '{"attributes":\n' + "[" * _DEEP + "]" * _DEEP + "}", 2, says="deep"),
    _domain(
        "field on a line of its own",
        '{"attributes": {\n"a": {"low": 0, "high": 9, "bins": 1},\n"b": {\n"low": 0,\n"high": 9,\n"bins": 0}}}',
        6,
        "attributes.b.bins",
    ),
    _attribute("attribute a list", '["F", "M"]', says="object"),
    _attribute("attribute a number", "5", says="object"),
    _attribute("attribute null", "null", says="object"),
    _attribute("attribute empty", "{}", says="values"),
    _attribute("attribute with unknown key", '{"low": 0, "high": 5, "steps": 2}', "steps", "unknown key"),
    _attribute("values empty", '{"values": []}', "values", "empty"),
    _attribute("values a string", '{"values": "FM"}', "values", "list"),
    _attribute("values an object", '{"values": {"F": 1}}', "values", "list"),
    _attribute("values a number", '{"values": 3}', "values", "list"),
    _attribute("values null", '{"values": null}', "values", "list"),
    _attribute("duplicate values", '{"values": ["F", "M", "F"]}', "values", "twice"),
    _attribute("duplicate integers", '{"values": [1, 2, 1]}', "values", "twice"),
    _attribute("values with a fraction", '{"values": [1, 1.5]}', "values", "strings"),
    _attribute("values with null", '{"values": ["F", null]}', "values", "strings"),
    _attribute("values with a list", '{"values": ["F", ["M"]]}', "values", "strings"),
    _attribute("values with an object", '{"values": [{}]}', "values", "strings"),
    _attribute("values with NaN", '{"values": [NaN]}', "values", "strings"),
    _attribute("values with a lone surrogate", '{"values": ["\\udc00"]}', "values", "Unicode"),
    _attribute("values of 5,000 digits", f'{{"values": [{_FIVE_THOUSAND_DIGITS}]}}', "values", "5000 digits"),
    _attribute("values and low", '{"values": [1, 2], "low": 0}', says="values stands without"),
    _attribute("values and bins", '{"values": [1, 2], "bins": 2}', says="values stands without"),
    _attribute("without high", '{"low": 0}', says="missing high"),
    _attribute("without low", '{"high": 0}', says="missing low"),
    _attribute("bins alone", '{"bins": 5}', says="missing low"),
    _attribute("low above high", '{"low": 5, "high": 4}', says="above"),
    _attribute("low a string", '{"low": "0", "high": 4}', "low", "integer"),
    _attribute("low a fraction", '{"low": 0.5, "high": 4}', "low", "integer"),
    _attribute("low a whole fraction", '{"low": 0.0, "high": 4}', "low", "integer"),
    _attribute("high a boolean", '{"low": 0, "high": true}', "high", "integer"),
    _attribute("high null", '{"low": 0, "high": null}', "high", "integer"),
    _attribute("high NaN", '{"low": 0, "high": NaN}', "high", "integer"),
    _attribute("high of 5,000 digits", f'{{"low": 0, "high": {_FIVE_THOUSAND_DIGITS}}}', "high", "5000 digits"),
    _attribute("too many integers", f'{{"low": 0, "high": {10**400}}}', says="at most"),
    _attribute("bins zero", '{"low": 0, "high": 4, "bins": 0}', "bins", "positive"),
    _attribute("bins negative", '{"low": 0, "high": 4, "bins": -2}', "bins", "positive"),
    _attribute("bins a boolean", '{"low": 0, "high": 4, "bins": true}', "bins", "positive"),
    _attribute("bins a fraction", '{"low": 0, "high": 4, "bins": 2.0}', "bins", "positive"),
    _attribute("bins null", '{"low": 0, "high": 4, "bins": null}', "bins", "positive"),
    _attribute("bins a string", '{"low": 0, "high": 4, "bins": "2"}', "bins", "positive"),
    _attribute("too many bins", '{"low": 0, "high": 4, "bins": 3000000000}', says="at most"),
    _attribute("binned low equals high", '{"low": 4, "high": 4, "bins": 2}', says="not below"),
    _attribute("binned low a string", '{"low": "0", "high": 4, "bins": 2}', "low", "number"),
    _attribute("binned low a boolean", '{"low": false, "high": 4, "bins": 2}', "low", "number"),
    _attribute("binned high NaN", '{"low": 0, "high": NaN, "bins": 2}', "high", "number"),
    _attribute("binned high infinite", '{"low": 0, "high": Infinity, "bins": 2}', "high", "number"),
    _attribute("binned low infinite", '{"low": -Infinity, "high": 0, "bins": 2}', "low", "number"),
    _attribute("binned high 1e400", '{"low": 0, "high": 1e400, "bins": 2}', "high", "ordinary size"),
    _attribute("binned high of 400 digits", f'{{"low": 0, "high": {10**400}, "bins": 2}}', "high", "ordinary size"),
    _attribute(
        "binned high of any exponent", '{"low": 0, "high": 1e99999999999999999999, "bins": 2}', "high", "number"
    ),
    _attribute("binned high of 40 digits", f'{{"low": 0, "high": 0.{"123" * 13}, "bins": 2}}', "high", "digits"),
    _attribute("bins narrower than floats", '{"low": 1e15, "high": 1000000000000001, "bins": 1000}', "bins", "narrow"),
    _attribute("nullable a number", '{"values": [1], "nullable": 1}', "nullable", "true or false"),
    _attribute("nullable a string", '{"low": 0, "high": 1, "nullable": "yes"}', "nullable", "true or false"),
    _attribute("nullable null", '{"low": 0, "high": 1, "bins": 1, "nullable": null}', "nullable", "true or false"),
]

_STEPS = [
    _attribute("step zero", '{"low": 0, "high": 5, "step": 0}', "step", "above 0"),
    _attribute("step negative", '{"low": 0, "high": 5, "step": "-0.01"}', "step", "above 0"),
    _attribute("step NaN", '{"low": 0, "high": 5, "step": NaN}', "step", "number"),
    _attribute("step the string NaN", '{"low": 0, "high": 5, "step": "NaN"}', "step", "decimal number"),
    _attribute("step the string of an infinity", '{"low": 0, "high": 5, "step": "inf"}', "step", "decimal number"),
    _attribute("step in other digits", '{"low": 0, "high": 5, "step": "\u0661"}', "step", "decimal number"),
    _attribute("step with underscores", '{"low": 0, "high": 5, "step": "1_0"}', "step", "decimal number"),
    _attribute("step empty", '{"low": 0, "high": 5, "step": ""}', "step", "decimal number"),
    _attribute("step null", '{"low": 0, "high": 5, "step": null}', "step", "number"),
    _attribute("step a boolean", '{"low": 0, "high": 5, "step": true}', "step", "number"),
    _attribute("step that does not divide low", '{"low": "0.005", "high": 5, "step": "0.01"}', "low", "multiple"),
    _attribute("step that does not divide high", '{"low": 0, "high": 5, "step": 2}', "high", "multiple"),
    _attribute("stepped low NaN", '{"low": NaN, "high": 5, "step": 1}', "low", "number"),
    _attribute("stepped high infinite", '{"low": 0, "high": Infinity, "step": 1}', "high", "number"),
    _attribute("stepped high 1e400", '{"low": 0, "high": 1e400, "step": 1}', "high", "ordinary size"),
    _attribute("step of any exponent", '{"low": 0, "high": 1, "step": "1e-999999999"}', "step", "ordinary size"),
    _attribute("step of 20 exponent digits", '{"low": 0, "high": 1, "step": "1e-99999999999999999999"}', "step"),
    _attribute("stepped low a date", '{"low": "2020-01-01", "high": 5, "step": 1}', "low", "decimal number"),
    _attribute("stepped low above high", '{"low": 5, "high": 4, "step": 1}', says="above"),
    _attribute("too many steps", '{"low": 0, "high": 3000000000, "step": 1}', says="at most"),
    _attribute("steps that floats cannot tell apart", '{"low": 0, "high": "1e9", "step": "1e-6"}', "high", "15 digits"),
    _attribute("step of 40 digits", f'{{"low": 0, "high": 0, "step": 0.{"123" * 13}}}', "step", "15 digits"),
    _attribute("step and bins", '{"low": 0, "high": 4, "step": 1, "bins": 4}', "step", "one of"),
    _attribute("step and unit", '{"low": 0, "high": 4, "unit": "day", "step": 1}', "unit", "one of"),
    _attribute("step and values", '{"values": [1, 2], "step": 1}', says="values stands without"),
]

_DATES = [
    _attribute("unknown unit", '{"low": "2020-01-01", "high": "2020-12-31", "unit": "week"}', "unit", "day, hour, mon"),
    _attribute("unit in capitals", '{"low": "2020-01-01", "high": "2020-12-31", "unit": "Day"}', "unit", "day, hour"),
    _attribute("unit a list", '{"low": "2020-01-01", "high": "2020-12-31", "unit": []}', "unit", "one of"),
    _attribute("unit null", '{"low": "2020-01-01", "high": "2020-12-31", "unit": null}', "unit", "one of"),
    _attribute("dates reversed", '{"low": "2020-12-31", "high": "2020-12-30"}', "low", "after"),
    _attribute("months reversed", '{"low": "2020-12", "high": "2020-11", "unit": "month"}', "low", "after"),
    _attribute("impossible day", '{"low": "2020-02-30", "high": "2020-12-31"}', "low", "calendar"),
    _attribute("year 0", '{"low": "0000", "high": "2020", "unit": "year"}', "low", "calendar"),
    _attribute("year 10000", '{"low": "2000", "high": 10000, "unit": "year"}', "high", "calendar"),
    _attribute("date without zeros", '{"low": "2020-1-1", "high": "2020-12-31"}', "low", "2020-12-31"),
    _attribute("date without dashes", '{"low": "20200101", "high": "2020-12-31"}', "low", "2020-12-31"),
    _attribute("date in words", '{"low": "2020-01-01", "high": "today"}', "high", "2020-12-31"),
    _attribute("date a number", '{"low": 5, "high": 7, "unit": "day"}', "low", "2020-12-31"),
    _attribute("date null", '{"low": "2020-01-01", "high": null, "unit": "day"}', "high", "not a date"),
    _attribute("numbers in quotes", '{"low": "0", "high": "5"}', "low", "not a date"),
    _attribute("month for a day", '{"low": "2020-01", "high": "2020-12-31"}', "low", "2020-12-31"),
    _attribute("year for a month", '{"low": "2020-01", "high": "2020", "unit": "month"}', "high", "2020-12"),
    _attribute("half an hour", '{"low": "2020-01-01T05:30", "high": "2020-12-31", "unit": "hour"}', "low", "T05"),
    _attribute("time zone", '{"low": "2020-01-01T05:00:00+02:00", "high": "2021-01-01", "unit": "hour"}', "low", "ISO"),
    _attribute("unit and bins", '{"low": "2020-01-01", "high": "2020-12-31", "unit": "day", "bins": 4}', "unit"),
    _attribute("clip of dates", '{"low": "2020-01-01", "high": "2020-12-31", "clip": true}', "clip", "only numbers"),
    _attribute("clip of categories", '{"values": ["F", "M"], "clip": true}', "clip", "only numbers"),
    _attribute("clip of categories is false", '{"values": ["F", "M"], "clip": false}', "clip", "only numbers"),
    _attribute("clip a number", '{"low": 0, "high": 5, "clip": 1}', "clip", "true or false"),
    _attribute("clip of bins null", '{"low": 0, "high": 5, "bins": 5, "clip": null}', "clip", "true or false"),
    _attribute("clip of steps a string", '{"low": 0, "high": 5, "step": 1, "clip": "no"}', "clip", "true or false"),
]


def _levels(name: str, levels: str, says: str) -> BadFile:
    return _attribute(f"levels {name}", f'{{"values": ["a", "b", 3], "levels": {levels}}}', "levels", says)


_LEVELS = [
    _levels("a list", "[]", "object"),
    _levels("null", "null", "object"),
    _levels("without a name", '{"": {"x": ["a", "b", 3]}}', "non-empty"),
    _levels("with half a letter for a name", '{"\\ud800": {"x": ["a", "b", 3]}}', "Unicode"),
    _levels("without groups", '{"l": {}}', "groups"),
    _levels("with a list for groups", '{"l": ["a", "b", 3]}', "groups"),
    _levels("with a group in half a letter", '{"l": {"\\udc00": ["a", "b", 3]}}', "string"),
    _levels("overlapping", '{"l": {"x": ["a", "b"], "y": ["b", 3]}}', "'b' is listed twice, in 'x' and 'y'"),
    _levels("listing a value twice", '{"l": {"x": ["a", "b", 3, "a"]}}', "'a' is listed twice"),
    _levels("incomplete", '{"l": {"x": ["a"], "y": ["b"]}}', "1 of 3 values are in no group"),
    _levels("with an unknown value", '{"l": {"x": ["a", "b", 3, "c"]}}', "'c', which is no value"),
    _levels("with a value of another type", '{"l": {"x": ["a", "b", true]}}', "True, which is no value"),
    _levels("with null", '{"l": {"x": ["a", "b", 3, null]}}', "None, which is no value"),
    _levels("with a string for a list", '{"l": {"x": ["a", "b"], "y": "others"}}', "list of values"),
    _levels("with an object for a list", '{"l": {"x": ["a", "b"], "y": {"z": [3]}}}', "list of values"),
    _levels("with an empty group", '{"l": {"x": ["a", "b", 3], "y": []}}', "list of values"),
    _levels("with two rests", '{"l": {"x": ["a"], "y": "rest", "z": "rest"}}', "both the rest"),
    _levels("with nothing for the rest", '{"l": {"x": ["a", "b", 3], "y": "rest"}}', "nothing is left"),
    _attribute("levels of numbers", '{"low": 0, "high": 3, "levels": {"l": {"x": "rest"}}}', "levels", "only values"),
    _domain(
        "level named as an attribute",
        '{\n"attributes": {\n"a": {"values": [1], "levels": {"b": {"x": "rest"}}},\n"b": {"low": 0, "high": 1}}}',
        2,
        "attributes",
        "the name of an attribute",
    ),
    _domain(
        "level named as its own attribute",
        '{"attributes": {"a": {"values": [1], "levels": {"a": {"x": "rest"}}}}}',
        1,
        "attributes",
        "the name of an attribute",
    ),
    _domain(
        "levels of one name",
        '{"attributes": {"a": {"values": [1], "levels": {"l": {"x": "rest"}}},'
        ' "b": {"values": [1], "levels": {"l": {"x": "rest"}}}}}',
        1,
        "attributes",
        "both have a level 'l'",
    ),
]

_BAD_TOML_AND_YAML_FILES = [
    _toml("syntax", '[attributes]\nsex = {values = ["F"]\n', 2, says="not valid TOML"),
    _toml("truncated", '[attributes.sex]\nvalues = ["F",', 2, says="not valid TOML"),
    _toml("duplicate key", "[attributes.age]\nlow = 0\nlow = 1\nhigh = 2\n", 3, says="not valid TOML"),
    _toml(
        "duplicate table", "[attributes.age]\nlow = 0\nhigh = 2\n[attributes.age]\nlow = 1\n", 4, says="not valid TOML"
    ),
    _toml("date as a value", "[attributes.day]\nvalues = [2020-01-01]\n", 2, "attributes.day.values", "strings"),
    _toml("date as a bound", "[attributes.day]\nlow = 2020-01-01\nhigh = 5\n", 2, "attributes.day.low", "integer"),
    _toml("unknown key", "[attributes.age]\nlow = 0\nhigh = 2\nsteps = 2\n", 4, "attributes.age.steps", "unknown key"),
    _toml("other table", "[attributes.age]\nlow = 0\nhigh = 2\n[other]\nx = 2\n", 4, "other", "unknown key"),
    _toml(
        "value named as the attribute",
        '[attributes.a]\nvalues = ["b"]\n[attributes.b]\nlow = 0\nhigh = 2\nbins = 0\n',
        6,
        "attributes.b.bins",
    ),
    _toml(
        "inline table", "[attributes]\na = {low = 0, high = 1}\nb = {low = 3, high = 2}\n", 3, "attributes.b", "above"
    ),
    _toml("dotted keys", "attributes.a.low = 0\nattributes.a.high = 1.5\n", 2, "attributes.a.high", "integer"),
    _toml("infinite bound", "[attributes.a]\nlow = 0\nhigh = inf\nbins = 5\n", 3, "attributes.a.high", "number"),
    _toml("NaN bound", "[attributes.a]\nlow = nan\nhigh = 1\nbins = 5\n", 2, "attributes.a.low", "number"),
    _toml("exponent", "[attributes.a]\nlow = 0\nhigh = 1e99999999999999999999\nbins = 5\n", 3, "attributes.a.high"),
    _toml("5,000 digits", f"[attributes.a]\nlow = 0\nhigh = {_FIVE_THOUSAND_DIGITS}\n", 3, says="not valid TOML"),
    _toml("hexadecimal", f"[attributes.a]\nlow = 0\nhigh = 0x{'f' * 5_000}\n", 1, "attributes.a", "at most"),
    _toml("nested too deeply", "attributes = " + "[" * _DEEP + "]" * _DEEP, 1, says="deep"),
    _toml("empty", "", 1, "attributes", "missing"),
    _yaml("syntax", "attributes:\n  sex: {values: [F, M}\n", 2, says="not valid YAML"),
    _yaml("tab", "attributes:\n\tsex:\n", 2, says="not valid YAML"),
    _yaml("control character", "attributes:\n  sex: \x01\n", 2, says="not valid YAML"),
    _yaml("empty", "", 1, says="object"),
    _yaml("two documents", "attributes: {a: {low: 0, high: 1}}\n---\nname: x\n", 2, says="not valid YAML"),
    _yaml("duplicate key", "attributes:\n  age:\n    low: 0\n    high: 1\n    low: 2\n", 5, says="duplicate key 'low'"),
    _yaml("duplicate attribute", "attributes:\n  a: {low: 0, high: 1}\n  a: {low: 0, high: 2}\n", 3, says="duplicate"),
    _yaml("date as a value", "attributes:\n  day:\n    values: [2020-01-01]\n", 3, "attributes.day.values", "strings"),
    _yaml("impossible date", "attributes:\n  day:\n    values:\n    - 2020-13-01\n", 4, says="not valid YAML"),
    _yaml("number as a name", "attributes:\n  1: {low: 0, high: 1}\n", 1, "attributes", "strings"),
    _yaml("boolean as a name", "attributes:\n  no: {low: 0, high: 1}\n", 1, "attributes", "strings"),
    _yaml("list as a name", "attributes:\n  ? [a]\n  : {low: 0, high: 1}\n", 2, says="not valid YAML"),
    _yaml(
        "value with exponent is text",
        "attributes:\n  a: {low: 0,\n      high: 1e3}\n",
        3,
        "attributes.a.high",
        "integer",
    ),
    _yaml("infinite bound", "attributes:\n  a: {low: 0, high: .inf, bins: 2}\n", 2, "attributes.a.high", "number"),
    _yaml("NaN bound", "attributes:\n  a: {low: .nan, high: 1, bins: 2}\n", 2, "attributes.a.low", "number"),
    _yaml(
        "unknown key",
        "attributes:\n  a:\n    low: 0\n    high: 1\n    units: m\n",
        5,
        "attributes.a.units",
        "unknown key",
    ),
    _yaml("unknown tag", "attributes: !!python/object:os.system {}\n", 1, says="not valid YAML"),
    _yaml("tag that does not fit", "attributes:\n  a:\n    low: !!bool maybe\n", 3, says="not valid YAML"),
    _yaml("5,000 digits", f"attributes:\n  a:\n    low: {_FIVE_THOUSAND_DIGITS}\n", 3, says="not valid YAML"),
    _yaml("hexadecimal", f"attributes:\n  a:\n    low: 0\n    high: 0x{'f' * 5_000}\n", 2, "attributes.a", "at most"),
    _yaml("lone surrogate", 'attributes:\n  a:\n    values: ["\\ud800"]\n', 3, "attributes.a.values", "Unicode"),
    _yaml("alias within itself", "attributes:\n  a: {values: &v [*v]}\n", 2, "attributes.a.values", "strings"),
    _yaml(
        "aliases that multiply",
        "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
        + "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 12))
        + "attributes: {a: {values: *x11}}\n",
        1,
        "x0",
    ),
    _yaml(
        "aliases that multiply in values",
        "attributes:\n  a:\n    values:\n    - &x0 [a, a, a, a, a, a, a, a, a, a]\n"
        + "".join(f"    - &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 12)),
        3,
        "attributes.a.values",
        "strings",
    ),
    _yaml("nested too deeply", "attributes: " + "[" * 1_000 + "]" * 1_000, 1, says="deep"),
]

_BAD_WORKLOAD_FILES = [
    _workload("missing", _ABSENT, None, says="No such file"),
    _workload("is a directory", _DIRECTORY, None, says="directory"),
    BadFile("workload wrong suffix", "workload", GOOD_QUERY, ".json", None, None, ".jsonl"),
    BadFile("workload no suffix", "workload", GOOD_QUERY, "", None, None, ".jsonl"),
    _workload("not UTF-8", GOOD_QUERY.encode() + b'\n\n{"where": {"sex": "\xff"}}\n', 3, says="UTF-8"),
    _workload("one JSON document", '[\n{"where": {}}\n]', 1, says="not valid JSON"),
    _query("truncated", '{"where": {"sex": "F"}', says="not valid JSON"),
    _query("two on one line", '{"where": {}} {"where": {}}', says="not valid JSON"),
    _query("single quotes", "{'where': {}}", says="not valid JSON"),
    _query("list", '["F"]', says="object"),
    _query("null", "null", says="object"),
    _query("number", "5", says="object"),
    _query("without where", '{"id": "q"}', "where", "missing"),
    _query("empty object", "{}", "where", "missing"),
    _query("where null", '{"where": null}', "where", "object"),
    _query("where a list", '{"where": [{"sex": "F"}]}', "where", "object"),
    _query("where a string", '{"where": "sex = 1"}', "where", "object"),
    _query("unknown key", '{"where": {}, "wieght": 1}', "wieght", "unknown key"),
    _query("line end in an unknown key", '{"where": {}, "a\\r\\nb": 1}', "a\\r\\nb", "unknown key"),
    _query("line end in an unknown attribute", '{"where": {"a\\nb": 1}}', "where.a\\nb", "unknown attribute"),
    _query("duplicate key", '{"where": {}, "weight": 1, "weight": 1}', "weight", "duplicate key"),
    _query("duplicate attribute", '{"where": {"sex": "F", "sex": "M"}}', "sex", "duplicate key"),
    _query("duplicate key in a range", '{"where": {"age": {"from": 1, "from": 2, "to": 3}}}', "from", "duplicate key"),
    _query("duplicate id", '{"id": "first", "where": {}}', "id", "twice"),
    _workload("id of a later line", '{"id": 2, "where": {}}\n{"where": {}}', 2, "id", "twice"),
    _workload("id that is the text of a line", '{"id": "3", "where": {}}\n\n{"where": {}}', 3, "id", "twice"),
    _workload("id that is the text of another", '{"id": 7, "where": {}}\n{"id": "7", "where": {}}', 2, "id", "twice"),
    _query("id empty", '{"id": "", "where": {}}', "id", "non-empty"),
    _query("id null", '{"id": null, "where": {}}', "id", "string"),
    _query("id a boolean", '{"id": true, "where": {}}', "id", "string"),
    _query("id a fraction", '{"id": 1.0, "where": {}}', "id", "string"),
    _query("id a list", '{"id": ["q"], "where": {}}', "id", "string"),
    _query("id an object", '{"id": {}, "where": {}}', "id", "string"),
    _query("id a lone surrogate", '{"id": "\\ud83d", "where": {}}', "id", "Unicode"),
    _query("id of 5,000 digits", f'{{"id": {_FIVE_THOUSAND_DIGITS}, "where": {{}}}}', "id", "5000 digits"),
    _where("unknown attribute", "height", "1", "unknown attribute"),
    _where("attribute in other case", "Sex", '"F"', "unknown attribute"),
    _where("integer for a string", "sex", "1", "not a string"),
    _where("boolean for a string", "sex", "true", "not a string"),
    _where("string for an integer", "age", '"20"', "not an integer"),
    _where("boolean for an integer", "age", "true", "not an integer"),
    _where("fraction for an integer", "age", "20.0", "not an integer"),
    _where("NaN for an integer", "age", "NaN", "not an integer"),
    _where("5,000 digits for an integer", "age", _FIVE_THOUSAND_DIGITS, "not an integer"),
    _where("null for an integer", "age", "null", "null"),
    _where("null in a list", "sex", '["F", null]', "null"),
    _where("null under not", "sex", '{"not": null}', "null"),
    _where("string for a boolean", "married", '"true"', "not a boolean"),
    _where("integer for a boolean", "married", "1", "not a boolean"),
    _where("string for a bin", "income", '"0"', "not a number"),
    _where("boolean for a bin", "income", "true", "not a number"),
    _where("Infinity for a bin", "income", "Infinity", "number"),
    _where("exponent for a bin", "income", "1e99999999999999999999", "number"),
    _where("wrong type in a list", "age", '[1, "2"]', "not an integer"),
    _where("wrong type under not", "age", '{"not": ["2"]}', "not an integer"),
    _where("list in a list", "age", "[1, [2]]", "list within a list"),
    _where("not in a list", "age", '[1, {"not": 2}]', "not"),
    _where("not beside other keys", "age", '{"not": 2, "from": 1, "to": 3}', "unknown key"),
    _where("range empty", "age", "{}", "from"),
    _where("range without an end", "age", '{"from": 1}', "to"),
    _where("range without a start", "age", '{"to": 1}', "from"),
    _where("range with an unknown key", "age", '{"from": 1, "to": 2, "step": 1}', "unknown key"),
    _where("range in a list with an unknown key", "age", '[{"from": 1, "upto": 2}]', "unknown key"),
    _where("range reversed", "age", '{"from": 9, "to": 1}', "reversed"),
    _where("range reversed outside the domain", "age", '{"from": 999, "to": 500}', "reversed"),
    _where("range of strings", "age", '{"from": "1", "to": "2"}', "not an integer"),
    _where("range of fractions", "age", '{"from": 1.5, "to": 2}', "not an integer"),
    _where("range of booleans", "age", '{"from": false, "to": true}', "not an integer"),
    _where("range from null", "age", '{"from": null, "to": 2}', "not an integer"),
    _where("range of a list", "age", '{"from": [1], "to": 2}', "not an integer"),
    _where("below on integers", "age", '{"from": 1, "below": 2}', "unknown key"),
    _where("to on bins", "income", '{"from": 0, "to": 150}', "unknown key"),
    _where("start off the bin edges", "income", '{"from": 1, "below": 150}', "bin edge"),
    _where("end off the bin edges", "income", '{"from": 0, "below": 150.5}', "bin edge"),
    _where("value off the bin edges", "income", "75", "bin edge"),
    _where("empty range of bins", "income", '{"from": 150, "below": 150}', "reversed"),
    _where("reversed range of bins", "income", '{"from": 300, "below": 150}', "reversed"),
    _where("range of named values reversed", "sex", '{"from": "M", "to": "F"}', "reversed"),
    _where("range to an unknown value", "sex", '{"from": "F", "to": "X"}', "runs between"),
    _where("range to null", "married", '{"from": true, "to": null}', "runs between"),
    _query("nested too deeply", '{"where": {"age": ' + "[" * _DEEP + "]" * _DEEP + "}}", says="deep"),
    _query("not nested too deeply", '{"where": {"age": ' + '{"not": ' * _DEEP + "1" + "}" * _DEEP + "}}", says="deep"),
    _cost("weight NaN", '"weight": NaN', says="finite"),
    _cost("weight Infinity", '"weight": Infinity', says="finite"),
    _cost("weight -Infinity", '"weight": -Infinity', says="finite"),
    _cost("weight 1e400", '"weight": 1e400', says="too large"),
    _cost("weight 1e-400", '"weight": 1e-400', says="below one unit"),
    _cost("weight of any exponent", '"weight": 1e99999999999999999999'),
    _cost("weight of any negative exponent", '"weight": 1e-99999999999999999999'),
    _cost("weight of 5,000 digits", f'"weight": {_FIVE_THOUSAND_DIGITS}', says="too large"),
    _cost("weight above the largest", '"weight": 4611686018.5', says="too large"),
    _cost("weight negative", '"weight": -1', says="above 0"),
    _cost("weight zero", '"weight": 0', says="above 0"),
    _cost("weight negative zero", '"weight": -0.0', says="above 0"),
    _cost("weight a boolean", '"weight": true', says="number"),
    _cost("weight text", '"weight": "1"', says="number"),
    _cost("weight null", '"weight": null', says="number"),
    _cost("weight a list", '"weight": [1]', says="number"),
    _cost("weight an object", '"weight": {"epsilon": 1}', says="number"),
    _cost("epsilon zero", '"epsilon": 0.0', "epsilon", "above 0"),
    _cost("rho negative", '"rho": -0.5', "rho", "above 0"),
    _cost("mu NaN", '"mu": NaN', "mu", "finite"),
    _cost("two costs", '"weight": 1, "epsilon": 1', "epsilon", "one cost"),
    _cost("two privacy costs", '"rho": 1, "mu": 1', "mu", "one cost"),
    _cost("delta", '"delta": 1e-6', "delta", "unknown key"),
]

BAD_FILES = [
    *_BAD_DOMAIN_FILES,
    *_STEPS,
    *_DATES,
    *_LEVELS,
    *_BAD_TOML_AND_YAML_FILES,
    *_BAD_WORKLOAD_FILES,
]

"""The page of the service: its settings, commands and programs, run against a server on the demonstration's table."""

from __future__ import annotations

import io
import json
import re
import shlex
import tomllib

import pytest

from parcomp.cli import main
from parcomp.cli.demo_session import write_census
from parcomp.custodian import Custodian
from parcomp.custodian.serving import Serving
from parcomp.service.problems import _TITLES
from tests.docs.pages import DOCS, blocks
from tests.service.served import serving

PAGE = DOCS / "service.md"
ADDRESS = "http://127.0.0.1:8000"


def texts(language):
    return [block.text for block in blocks(PAGE) if block.language == language]


def commands(text):
    return [shlex.split(line.removeprefix("$ "))[1:] for line in text.splitlines()]


@pytest.fixture
def census(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_census(tmp_path)
    Custodian.create(path).close()
    return path


def test_the_commands_and_programs(census, monkeypatch, capsys):
    keys, serve, asking = texts("console")
    made = []
    for command in commands(keys):
        assert main(command) == 0
        made.append(json.loads(capsys.readouterr().out))
    assert [one["role"] for one in made] == ["analyst", "custodian"]
    (words,) = commands(serve)
    assert words[:3] == ["serve", "-c", "custodian.toml"]
    monkeypatch.setenv("PARCOMP_KEY", made[0]["key"])
    with serving(census) as served:
        for command in commands(asking.replace(ADDRESS, served.url)):
            monkeypatch.setattr("sys.stdin", io.StringIO("SELECT COUNT(*) FROM census;\n"))
            assert main(command) == 0
        (program,) = texts("python")
        names: dict[str, object] = {}
        exec(compile(program.replace(ADDRESS, served.url), "a block of the page", "exec"), names)
    assert names["low"] < names["answer"].value < names["high"]
    assert [row[0] for row in names["rows"]] == ["F", "M"]


def test_the_settings_are_the_defaults_but_for_the_delay():
    (text,) = texts("toml")
    written = tomllib.loads(text)["service"]
    assert Serving(**written) == Serving(answer_delay="0.5", proxies=["10.0.0.5"])
    assert set(written) == set(Serving.__dataclass_fields__)


def test_every_kind_of_problem_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+)`", page))
    assert set(_TITLES) - {"internal"} <= named

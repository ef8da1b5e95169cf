"""The files of ``deploy/`` say what systemd and a builder of containers understand, and what the command line takes."""

from __future__ import annotations

import configparser
import json
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer

from parcomp.cli.app import app

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "parcomp.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
INSTRUCTIONS = {"CMD", "COPY", "EXPOSE", "FROM", "HEALTHCHECK", "RUN", "USER", "VOLUME", "WORKDIR"}


def check_serves(words):
    """The words after the program are options of ``serve``."""
    assert words[0] == "serve"
    command = typer.main.get_command(app).commands["serve"]
    command.make_context("serve", words[1:])


def test_the_unit_starts_the_server():
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str
    unit.read_string(UNIT.read_text())
    assert set(unit) - {"DEFAULT"} == {"Unit", "Service", "Install"}
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/parcomp")
    check_serves(words)
    assert int(unit["Service"]["TimeoutStopSec"]) > 35, "a deadline of 30 s, and what the server adds to it"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_unit(tmp_path):
    local = tmp_path / "parcomp.service"
    local.write_text(UNIT.read_text().replace("/srv/parcomp/.venv/bin/parcomp", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(local)], capture_output=True, text=True, check=False)
    assert "Unknown" not in done.stderr


def test_the_container_file_builds_what_there_is():
    lines = [line for line in CONTAINER.read_text().splitlines() if line and not line.startswith("#")]
    found = [line.partition(" ")[::2] for line in lines]
    assert {name for name, _ in found} <= INSTRUCTIONS
    assert found[0][0] == "FROM"
    assert [name for name, _ in found].count("CMD") == 1
    for name, rest in found:
        if name == "COPY":
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources), rest
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"service", "postgres"} <= set(extras)
    program, *words = json.loads(dict(found)["CMD"])
    assert program == "parcomp"
    check_serves(words)
    check = json.loads(dict(found)["HEALTHCHECK"].removeprefix("CMD "))
    compile(check[2], "healthcheck", "exec")
    # The account that serves owns nothing but the volume.
    assert [name for name, _ in found].index("USER") < [name for name, _ in found].index("CMD")

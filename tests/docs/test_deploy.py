"""The files of ``deploy/`` say what systemd and a builder of containers understand, and what the command line takes."""

from __future__ import annotations

import configparser
import json
import re
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

WORDS = r"\S.*"
PATHS = r"/\S*( /\S*)*"
TRUTH = "true|false"
DIRECTIVES = {
    "Unit": {"Description": WORDS, "After": r"[\w.-]+\.target", "Wants": r"[\w.-]+\.target"},
    "Service": {
        "User": r"[a-z_][a-z0-9_-]*",
        "WorkingDirectory": r"/\S*",
        "ExecStart": r"/\S+( \S+)*",
        "CacheDirectory": r"[\w-]+",
        "Environment": r"[A-Z_]+=\S+",
        "KillSignal": "SIG(TERM|INT|QUIT)",
        "TimeoutStopSec": "[0-9]+",
        "Restart": "no|on-success|on-failure|on-abnormal|on-watchdog|on-abort|always",
        "RestartPreventExitStatus": "[0-9]+( [0-9]+)*",
        "NoNewPrivileges": TRUTH,
        "ProtectSystem": f"{TRUTH}|full|strict",
        "ProtectHome": f"{TRUTH}|read-only|tmpfs",
        "ReadWritePaths": PATHS,
        "PrivateTmp": f"{TRUTH}|disconnected",
    },
    "Install": {"WantedBy": r"[\w.-]+\.target"},
}
"""What systemd.unit(5), systemd.service(5), systemd.exec(5) and systemd.kill(5) say of the lines that are used."""


def unit_faults(text):
    """The lines of a unit that systemd would ignore or refuse."""
    section, faults = "", []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line.strip("[]")
            known = section in DIRECTIVES
        else:
            name, _, value = line.partition("=")
            known = re.fullmatch(DIRECTIVES.get(section, {}).get(name, "(?!)"), value) is not None
        faults += [] if known else [line]
    return faults


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


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("Restart=on-failure", True),
        ("Restrat=on-failure", False),
        ("Restart=sometimes", False),
        ("TimeoutStopSec=60", True),
        ("TimeoutStopSec=soon", False),
        ("User=", False),
        ("ReadWritePaths=srv/parcomp", False),
        ("[Services]", False),
    ],
)
def test_the_check_of_units_finds_faults(line, right):
    assert (unit_faults(f"[Service]\n{line}\n") == []) is right


def test_systemd_takes_the_unit(tmp_path):
    """Every line is one that systemd knows; where systemd is, it is asked too."""
    assert unit_faults(UNIT.read_text()) == []
    if shutil.which("systemd-analyze"):
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
    # As the account that serves, which finds what is compiled in its own directory.
    assert found.index(("USER", "parcomp")) < found.index(("RUN", "parcomp warm-up"))
    program, *words = json.loads(dict(found)["CMD"])
    assert program == "parcomp"
    check_serves(words)
    check = json.loads(dict(found)["HEALTHCHECK"].removeprefix("CMD "))
    compile(check[2], "healthcheck", "exec")
    # The account that serves owns nothing but the volume.
    assert [name for name, _ in found].index("USER") < [name for name, _ in found].index("CMD")

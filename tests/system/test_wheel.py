"""The wheel: what is in it, what it says of itself, and that it works where nothing else is installed."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree, built by the backend itself, which needs no network."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = directory.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    information = f"parcomp-{PROJECT['version']}.dist-info/"
    source = ROOT / "src"
    modules = {str(path.relative_to(source)) for path in (source / "parcomp").rglob("*.py")}
    assets = {str(path.relative_to(source)) for path in (source / "parcomp/service/console/assets").iterdir()}
    # What the environments of other tools are made from, for `parcomp experiment peers`.
    pins = {str(path.relative_to(source)) for path in (source / "parcomp/experiments/peer_tools").glob("*.txt")}
    held = modules | assets | pins | {"parcomp/py.typed"}
    assert {name for name in names if not name.startswith(information)} == held
    assert "parcomp/service/console/assets/index.html" in assets
    assert f"{information}licenses/LICENSE" in names


def test_the_wheel_says_what_it_needs(wheel):
    """Pythons, what is always installed, the extras, and the command; heavy libraries are extras."""
    with zipfile.ZipFile(wheel) as opened:
        information = f"parcomp-{PROJECT['version']}.dist-info"
        metadata = email.message_from_bytes(opened.read(f"{information}/METADATA"))
        scripts = opened.read(f"{information}/entry_points.txt").decode()
    assert metadata["Requires-Python"] == ">=3.11"
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in metadata.get_all("Classifier")
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    always = {one.split(">")[0].split("<")[0] for one in metadata.get_all("Requires-Dist") if "extra ==" not in one}
    assert not always & {"matplotlib", "networkx", "pandas", "psycopg", "pyspark", "ibis-framework", "pytest"}
    assert "parcomp = parcomp.cli:main" in scripts


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_the_wheel_runs_in_an_environment_of_its_own(wheel, tmp_path):
    """Without extras: the demonstration runs through, without pictures, and so does a piped session."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True, env=environment)
    program = tmp_path / "env/bin"
    install = [program / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, env=environment, timeout=1_200)
    demo = subprocess.run(
        [program / "parcomp", "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert demo.stdout.startswith("Without pictures")
    assert "What all that cost" in demo.stdout
    assert not list(tmp_path.glob("out/demo/*.png"))
    asked = ["shell", "-c", "out/demo/custodian.toml", "--as", "ben", "--epsilon", "0.01"]
    piped = subprocess.run(
        [program / "parcomp", *asked],
        input="SELECT COUNT(*) FROM census;",
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "charge 9, ε = 0.01" in piped.stdout
    size = sum(path.stat().st_size for path in (tmp_path / "env").rglob("*") if path.is_file())
    assert size < 1.1e9

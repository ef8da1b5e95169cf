"""Packages offer their names without loading what is slow to load, until it is used."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from tests.custodians import write_custodian

PACKAGES = ["parcomp", "parcomp.custodian", "parcomp.data", "parcomp.ledger", "parcomp.noise", "parcomp.sql"]
# Numba loads SciPy's linear algebra by itself.
SLOW = {"duckdb", "ibis", "opendp", "psycopg", "pyarrow", "pyspark", "scipy.optimize", "scipy.special"}


def loaded_after(code: str) -> set[str]:
    """What of all that is slow a fresh process has loaded after running some code."""
    ended = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", ended], capture_output=True, text=True, check=True)
    return {*SLOW, "sqlglot"} & set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_the_names_that_it_lists_and_no_others(name):
    package = importlib.import_module(name)
    assert list(package.__all__) == sorted(package.__all__)
    for one in package.__all__:
        assert getattr(package, one) is not None
        assert one in dir(package)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        package.nonsense  # noqa: B018  asked for, to see that it is not there


def test_importing_packages_and_asking_for_help_load_nothing_slow():
    assert loaded_after(f"import {', '.join(PACKAGES)}\nfrom parcomp.cli import main\nmain(['--help'])") == set()


def test_a_quote_loads_the_reader_of_sql_alone(tmp_path):
    settings = str(write_custodian(tmp_path))
    arguments = ["quote", "-c", settings, "SELECT COUNT(*) FROM people WHERE age < 5", "--epsilon", "0.1"]
    assert loaded_after(f"from parcomp.cli import main\nassert main({arguments!r}) == 0") == {"sqlglot"}

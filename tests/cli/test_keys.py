"""``parcomp keys``: made, listed and revoked; a key is shown once."""

from __future__ import annotations

import json

import pytest

from parcomp.cli import main
from parcomp.custodian import Access, Settings
from tests.custodians import write_custodian


@pytest.fixture
def settings(tmp_path):
    return str(write_custodian(tmp_path, quotas={"anna": "0.5"}))


def test_a_key_is_made_listed_and_revoked(settings, capsys):
    assert main(["keys", "add", "anna", "--role", "analyst", "-c", settings, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert set(made) == {"name", "role", "key"}
    assert (made["name"], made["role"], made["key"][:3]) == ("anna", "analyst", "pc_")
    with Access(Settings.load(settings)) as access:
        assert access.find(made["key"]).name == "anna"
    assert main(["keys", "list", "-c", settings, "--json"]) == 0
    listed = capsys.readouterr().out
    assert made["key"] not in listed
    assert {"name": "anna", "role": "analyst", "revoked": None}.items() <= json.loads(listed).items()
    assert main(["keys", "revoke", "anna", "-c", settings, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "anna", "revoked": [1]}
    with Access(Settings.load(settings)) as access:
        assert access.find(made["key"]) is None
    assert main(["keys", "list", "-c", settings]) == 0
    assert "anna" in capsys.readouterr().out


def test_a_custodian_has_any_name_and_an_analyst_a_declared_one(settings, capsys):
    assert main(["keys", "add", "boss", "--role", "custodian", "-c", settings]) == 0
    assert capsys.readouterr().out.startswith("pc_")
    assert main(["keys", "add", "carl", "--role", "analyst", "-c", settings]) == 2
    assert "the settings name anna" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["add", "anna", "--role", "king"], "analyst and custodian"),
        (["revoke", "anna"], "no key in the name"),
        (["add", ""], "unknown analyst"),
    ],
)
def test_what_is_wrong_is_a_line(settings, capsys, command, said):
    assert main(["keys", *command, "-c", settings]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1

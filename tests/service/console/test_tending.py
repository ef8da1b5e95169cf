"""What custodians are shown of the ledger: its head, its course, why a charge added what it did, parts of its graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcomp.custodian import Custodian
from parcomp.custodian.settings import Settings
from tests.custodians import audited, write_custodian
from tests.service.console.conftest import BY_SEX
from tests.service.served import EVERYONE, MEN, WOMEN, Served, serving

OLD = "SELECT COUNT(*) FROM people WHERE age >= 5"


def test_the_head_is_that_of_the_chain_with_its_loads(tmp_path: Path):
    path = write_custodian(tmp_path)
    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
        with (tmp_path / "people.csv").open("a", newline="") as file:
            file.write("F,3\r\n")
        custodian.load()
    with serving(path, boss="custodian") as served:
        shown = served.get("/console/overview", "boss").json()
        verified = served.call("POST", "/console/audits", "boss", json={}).json()
        assert shown["head"] == verified["head"] == audited(Settings.load(path)).head
        assert (shown["number"], shown["loads"], shown["loaded_last"]) == (2, 1, True)
        assert [one["number"] for one in shown["points"]] == [1]
        # A charge after the load is the head again, and stands in a chain that goes on from the load.
        with Custodian.open(path) as custodian:
            custodian.ask(MEN, epsilon="0.1")
        shown = served.get("/console/overview", "boss").json()
        assert shown["head"] == audited(Settings.load(path)).head
        assert (shown["number"], shown["loads"], shown["loaded_last"]) == (3, 1, False)
        assert served.get("/console/charges/3", "boss").json()["adds"] == 0


def test_without_charges_the_head_is_the_beginning_of_the_chain(shared: Served):
    shown = shared.get("/console/overview", "boss").json()
    assert (shown["number"], shown["points"]) == (0, [])
    verified = shared.call("POST", "/console/audits", "boss", json={}).json()
    assert shown["head"] == verified["head"] == audited(Settings.load(shared.path)).head


def test_against_replacing_a_row_the_loss_is_shown(tmp_path: Path):
    """Replacing a row takes one away and adds another, so that a row's spending counts twice."""
    path = write_custodian(tmp_path, neighbours="replace-one", budget="2.0")
    with Custodian.open(path) as custodian:
        for sql in (BY_SEX, OLD, "SELECT COUNT(*) FROM people WHERE age < 2"):
            custodian.ask(sql, epsilon="0.2")
        balance = custodian.balance().as_json()
    with serving(path, boss="custodian") as served:
        points = served.get("/console/overview", "boss").json()["points"]
        assert [one["spent"] for one in points] == [0.4, 0.6, 0.8]
        assert (points[-1]["spent"], points[-1]["sequential"]) == (balance["spent"], balance["sequential"])
        assert served.get("/console/charges/2", "boss").json()["adds"] == 0.2
        region = served.call("POST", "/console/region", "boss", json={"where": {"age": [9]}}).json()
        assert region["left"] == 0.6
        with Custodian.open(path) as custodian:
            left = custodian.quote("SELECT COUNT(*) FROM people WHERE age = 9", epsilon="0.1").remaining
        assert region["left"] <= left


def test_why_a_charge_added_what_it_added(asked: Served):
    """Women 0.1, men 0.1, by sex 0.1, by sex and age 0.1: the third meets both, of which a row pays for one."""
    why = asked.get("/console/charges/3/reason", "boss").json()
    assert (why["meets"], why["exact"], why["upper"], why["with_it"]) == (2, True, 0.1, 0.2)
    assert (why["most_before"], why["most_after"]) == (0.1, 0.2)
    (earlier,) = why["charges"]
    assert earlier["number"] in (1, 2)
    assert why["witness"]["sex"] == ("F" if earlier["number"] == 1 else "M")
    second = asked.get("/console/charges/2/reason", "boss").json()
    assert (second["meets"], second["with_it"], second["most_before"], second["most_after"]) == (0, 0.1, 0.1, 0.1)
    assert asked.get("/console/charges/9/reason", "boss").status_code == 404
    # It tells what others have asked.
    assert asked.get("/console/charges/3/reason", "anna").status_code == 403


def test_the_graph_of_some_charges(asked: Served):
    def numbers(who: str = "boss", **chosen: str) -> list[int]:
        return [one["number"] for one in asked.get("/console/graph", who, params=chosen).json()["nodes"]]

    times = {one["number"]: one["time"] for one in asked.charges()}
    assert numbers() == [1, 2, 3, 4]
    assert numbers(analyst="ben") == [2, 4]
    assert numbers(unnamed="true") == []
    assert numbers(since=times[2]) == [2, 3, 4]
    assert numbers(since=times[2], until=times[4]) == [2, 3]
    assert numbers("anna") == [1, 3]
    assert asked.get("/console/graph", "anna").json()["analysts"] == ["anna"]
    assert asked.get("/console/graph", "boss", params={"since": "yesterday"}).status_code == 400
    assert asked.get("/console/graph", "boss", params={"analyst": "ben"}).json()["maximum"]["upper"] == 0.2


@pytest.mark.parametrize("path", ["/console/charges", "/console/graph"])
def test_charges_in_nobodys_name_are_told_from_everyones(tmp_path: Path, path: str):
    settings = write_custodian(tmp_path)
    with Custodian.open(settings) as custodian:
        custodian.ask(WOMEN, epsilon="0.1")
        custodian.ask(EVERYONE, epsilon="0.1", analyst="anna")
    with serving(settings, boss="custodian") as served:

        def numbers(**chosen: str) -> list[int]:
            found = served.get(path, "boss", params=chosen).json()
            return sorted(one["number"] for one in found.get("nodes", found.get("charges")))

        assert numbers() == [1, 2]
        assert numbers(unnamed="true") == [1]
        assert numbers(analyst="anna") == [2]

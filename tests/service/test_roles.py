"""Who may do what: every role at every endpoint, keys that are wrong, revoked or many, and limits on all of them."""

from __future__ import annotations

import time

import pytest

from parcomp.custodian import Access, Settings
from parcomp.service.guard import Limits
from tests.service.served import EVERYONE, MEN, WOMEN, Served, add_keys, people


@pytest.mark.parametrize("header", ["", "Bearer", "Basic YTpi", "Bearer a b", "Bearer \xff"])
def test_odd_authorizations_are_401(shared: Served, header):
    response = shared.http.get(f"{shared.url}/v1/domain", headers={"Authorization": header.encode("latin-1")})
    assert response.status_code == 401


def test_the_role_is_looked_at_before_the_body(shared: Served):
    """Whoever may not ask learns nothing of what is wrong with the body."""
    for who, status in ((None, 401), ("boss", 403)):
        assert shared.call("POST", "/v1/answers", who, content=b"{").status_code == status


def test_analysts_see_their_own_charges_only(served: Served):
    served.ask(WOMEN)
    served.ask(MEN, who="ben")
    assert [one["analyst"] for one in served.get("/v1/ledger", "anna").json()["charges"]] == ["anna"]
    assert [one["analyst"] for one in served.get("/v1/graph", "ben").json()["nodes"]] == ["ben"]
    assert [one["analyst"] for one in served.get("/v1/ledger", "boss").json()["charges"]] == ["anna", "ben"]


def test_analysts_see_no_digests_on_which_charges_of_others_could_be_tried(served: Served):
    """Each digest speaks for the charge before it, of which all but a few fields are known or easily guessed."""
    served.ask(WOMEN)
    served.ask(MEN, who="ben")
    served.ask(EVERYONE)
    [first, second, third] = served.charges()
    seen = served.get("/v1/ledger", "anna").text + served.get("/console/charges/3", "anna").text
    seen += served.get("/v1/graph", "anna").text + served.get("/console/charges", "anna").text
    for charge in (first, second, third):
        assert charge["digest"] not in seen
        assert charge["previous"] not in seen
    assert served.get("/console/charges/3", "boss").json()["digest"] == third["digest"]


def test_quotas_belong_to_the_keys_analyst(served: Served):
    """Whatever key of the analyst is used."""
    served.keys["second"] = add_keys(served.path, anna="analyst")["anna"]
    assert served.ask(EVERYONE, "0.4").status_code == 200
    refused = served.ask("SELECT COUNT(*) FROM people WHERE age < 9", "0.2", who="second")
    assert refused.status_code == 403
    assert refused.json()["remaining"] == pytest.approx(0.1)


def test_without_declared_analysts_every_analyst_asks_and_no_custodian(tmp_path):
    with people(tmp_path / "open", quotas={}) as served:
        assert served.ask(WOMEN).status_code == 200
        refused = served.ask(WOMEN, who="boss")
        assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (403, "role")


def test_an_analyst_is_not_told_who_else_asks(shared: Served):
    assert shared.get("/console/session", "anna").json()["analysts"] == ["anna"]
    assert shared.get("/console/session", "boss").json()["analysts"] == ["anna", "ben"]


def test_a_revoked_key_stops_within_a_second(served: Served):
    assert served.get("/v1/domain").status_code == 200
    with Access(Settings.load(served.path)) as access:
        access.revoke("anna")
    time.sleep(1)
    assert served.get("/v1/domain").status_code == 401
    assert served.get("/v1/domain", "ben").status_code == 200


def test_guessing_is_slowed_and_does_not_lock_out_who_has_a_key(served: Served):
    statuses = [served.get("/v1/domain", f"pc_guess{number}").status_code for number in range(110)]
    assert statuses[:100] == [401] * 100
    assert statuses[-1] == 429
    assert served.get("/v1/domain").status_code == 200
    assert served.get("/v1/domain", None).status_code == 401


@pytest.mark.parametrize(("workers", "most"), [(1, 100), (4, 25), (1_000, 1)])
def test_guesses_are_shared_out_among_workers(workers, most):
    limits = Limits(5, workers)
    assert [limits.wrong_key("10.0.0.1").status for _ in range(most + 1)] == [401] * most + [429]
    assert limits.wrong_key("10.0.0.2").status == 401


def test_a_key_that_comes_too_often_is_told_to_wait(tmp_path):
    with people(tmp_path / "limited", service="rate = 5") as served:
        responses = [served.get("/v1/domain") for _ in range(20)]
        assert responses[0].status_code == 200
        last = responses[-1]
        assert last.status_code == 429
        assert int(last.headers["retry-after"]) >= 1
        assert last.json()["type"].endswith("rate")
        assert served.get("/v1/domain", "ben").status_code == 200

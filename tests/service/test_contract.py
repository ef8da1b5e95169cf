"""Every endpoint as the contract has it, good and bad requests; a problem charges nothing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from parcomp.custodian import BatchQuote, Custodian
from tests.service.served import EVERYONE, MEN, WOMEN, Served

PROBLEM = "application/problem+json"


def check_problem(response, status, kind):
    """The members of every problem, and its type."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    body = response.json()
    assert {"type", "title", "status", "detail"} <= set(body)
    assert body["status"] == status
    assert body["type"].endswith(kind)
    assert body["detail"]
    return body


def test_quote_ask_and_ask_again(served: Served):
    quote = served.call("POST", "/v1/quotes", json={"sql": WOMEN, "epsilon": "0.1"})
    assert quote.status_code == 200
    assert {"cost", "adds", "remaining", "fits", "expected_error"} <= set(quote.json())
    assert (quote.json()["cost"], quote.json()["adds"], quote.json()["fits"]) == (0.1, 0.1, True)
    assert served.charges() == []
    first = served.ask(WOMEN).json()
    assert {"charge", "value", "cost", "expected_error", "cached"} <= set(first)
    assert (first["charge"], first["cost"], first["cached"]) == (1, 0.1, False)
    again = served.ask(WOMEN, who="ben").json()
    assert (again["charge"], again["value"], again["cost"], again["cached"]) == (1, first["value"], 0, True)
    adds = served.call("POST", "/v1/quotes", json={"sql": MEN, "epsilon": "0.1"}).json()
    assert adds["adds"] == 0


@pytest.mark.parametrize(
    "sql",
    [
        WOMEN,
        "SELECT sex, COUNT(*) FROM people GROUP BY sex",
        "SELECT COUNT(*), AVG(age) AS mean FROM people WHERE age > 2",
        "SELECT COUNT(*) FROM people WHERE sex = 'F' AND sex = 'M'",
    ],
)
def test_what_is_told_is_what_the_command_line_prints(served: Served, sql):
    """Quotes, answers and the budget; an answer that is asked for again is free."""
    body = {"sql": sql, "epsilon": "0.1"}
    with Custodian.open(served.path) as custodian:
        quoted = custodian.quote(sql, epsilon="0.1", analyst="anna").as_json()
        assert served.call("POST", "/v1/quotes", json=body).json() == as_sent(quoted)
        bought = served.ask(sql).json()
        again = custodian.ask(sql, epsilon="0.1", analyst="anna").as_json()
        assert served.ask(sql).json() == as_sent(again) == bought | {"cost": 0, "cached": again["cached"]}
        assert served.get("/v1/budget", "boss").json() == as_sent(custodian.balance().document())
        assert served.get("/v1/budget").json() == as_sent(custodian.balance("anna").document())
        assert set(custodian.balance().as_json()) < set(custodian.balance().document())
        assert served.get("/v1/domain").json() == as_sent(custodian.settings.domain.describe())
        told = custodian.estimates(analyst="anna")
        assert served.get("/v1/estimates").json() == as_sent(told.document())
        assert len(told) == (sql.startswith("SELECT COUNT(*) FROM people WHERE sex = 'F'") and "AND" not in sql) + 2 * (
            "GROUP" in sql
        )


def as_sent(document):
    return json.loads(json.dumps(document))


def test_groups_and_batches(served: Served):
    groups = served.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex").json()["groups"]
    assert [one["group"] for one in groups] == [{"sex": "F"}, {"sex": "M"}]
    statements = [{"sql": f"SELECT COUNT(*) FROM people WHERE age = {age}", "epsilon": "0.1"} for age in range(3)]
    answers = served.call("POST", "/v1/batches", json={"statements": statements}).json()["answers"]
    assert [one["charge"] for one in answers] == [2, 3, 4]
    shared = [{"sql": f"SELECT COUNT(*) FROM people WHERE age = {age}"} for age in range(5, 8)]
    answers = served.call("POST", "/v1/batches", json={"statements": shared, "budget": "0.1"}).json()["answers"]
    assert [one["charge"] for one in answers] == [5, 6, 7]
    assert served.get("/v1/budget", "boss").json()["spent"] == pytest.approx(0.2)


def test_a_batch_is_all_or_nothing(served: Served):
    statements = [{"sql": WOMEN, "epsilon": "0.1"}, {"sql": EVERYONE, "epsilon": "0.5"}]
    refused = check_problem(served.call("POST", "/v1/batches", json={"statements": statements}), 403, "refused")
    assert refused["statement"] == 2
    assert served.charges() == []


@pytest.mark.parametrize("budget", [None, "0.3"])
def test_a_batch_is_quoted_as_a_custodian_quotes_it(served: Served, budget):
    """Each statement after those before it, and all together, which is less than their sum; nothing is charged."""
    texts = [WOMEN, MEN, EVERYONE]
    cost = {} if budget else {"epsilon": "0.3"}
    body = {"statements": [{"sql": sql, **cost} for sql in texts], **({"budget": budget} if budget else {})}
    told = served.call("POST", "/v1/batches/quotes", json=body).json()
    with Custodian.open(served.path) as custodian:
        quoted = custodian.quote_batch(texts, analyst="anna", budget=budget, **cost)
    assert told == as_sent(quoted.as_json())
    assert BatchQuote.read(told) == quoted
    assert told["fits"] == (budget is not None)
    assert told["adds"] < sum(one["cost"] for one in told["quotes"])
    assert served.charges() == []


@pytest.mark.parametrize("amount", ["0.1", 0.1, "1e-1", 1e-2 * 10, "0.10"])
def test_amounts_are_decimals(served: Served, amount):
    assert served.ask(WOMEN, amount).json()["cost"] == 0.1


@pytest.mark.parametrize(
    "amount",
    [True, False, None, "", "NaN", "Infinity", "-0.1", -0.1, 0, "0", " 0.1", "0.1 ", "1_0", "\u0660.\u0661", [0.1], {}],
)
def test_what_is_no_amount_is_a_bad_request(shared: Served, amount):
    check_problem(shared.ask(WOMEN, amount), 400, "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": NaN}',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": Infinity}',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": 1e999}',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": ' + b"9" * 5000 + b"}",
        b'{"sql": "SELECT COUNT(*) FROM people"}',
        b'{"epsilon": "0.1"}',
        b'{"sql": 7, "epsilon": "0.1"}',
        b'{"sql": "", "epsilon": "0.1"}',
        b'{"sql": "\\ud800", "epsilon": "0.1"}',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "rho": "0.1"}',
        b'{"sql": "SELECT COUNT(*) FROM people", "rho": "0.1"}',
        b'{"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "analyst": "ben"}',
        b"\xff\xfe",
        b'{"sql": "\xff", "epsilon": "0.1"}',
        b"[" * 100_000,
    ],
    ids=range(20),
)
@pytest.mark.parametrize("path", ["/v1/quotes", "/v1/answers", "/v1/batches"])
def test_a_bad_body_is_400_and_never_422(shared: Served, path, body):
    response = shared.call("POST", path, headers={"Content-Type": "application/json"}, content=body)
    check_problem(response, 400, "")


def test_bad_sql_says_where(shared: Served):
    body = check_problem(shared.ask("SELECT COUNT(*)\nFROM people WHERE sexx = 'F'"), 400, "sql")
    assert (body["line"], body["column"]) == (2, 19)
    assert "sexx" in body["detail"]


def test_a_refusal_says_what_remains_and_charges_nothing(shared: Served):
    body = check_problem(shared.ask(EVERYONE, "0.6"), 403, "refused")
    assert body["remaining"] == 0.5
    assert (body["cost"], body["limit"]) == (0.6, "quota of anna")
    assert body["left"] == {"budget": 1, "quota of anna": 0.5}
    assert "statement" not in body
    told = shared.get("/openapi.json", None).json()["components"]["schemas"]["ProblemBody"]
    assert set(body) <= set(told["properties"])
    assert told["required"] == ["type", "title", "status", "detail"]
    assert shared.charges() == []


@pytest.mark.parametrize(
    ("statements", "more"),
    [
        ([], {}),
        ([{"sql": WOMEN}], {}),
        ([{"sql": WOMEN, "epsilon": "0.1"}, {"sql": MEN}], {}),
        ([{"sql": WOMEN, "epsilon": "0.1"}, {"sql": MEN, "rho": "0.1"}], {}),
        ([{"sql": WOMEN, "epsilon": "0.1"}], {"budget": "0.1"}),
        ([{"sql": WOMEN}], {"budget": True}),
        ([{"sql": WOMEN}], {"budget": "0.1", "strategy": "magic"}),
        ("x", {}),
    ],
)
def test_bad_batches(shared: Served, statements, more):
    check_problem(shared.call("POST", "/v1/batches", json={"statements": statements, **more}), 400, "")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"strategy": "atoms"}, "give the batch a budget"),
        ({"estimate": 0}, "estimate"),
        ({"estimate": None}, "estimate"),
        ({"strategy": "best"}, "strategy"),
    ],
)
def test_what_batches_do_not_offer_is_refused_plainly(shared: Served, more, said):
    body = {"statements": [{"sql": WOMEN, "epsilon": "0.1"}], **more}
    assert said in check_problem(shared.call("POST", "/v1/batches", json=body), 400, "body")["detail"]


def test_a_batch_may_be_measured_together_and_estimated(served: Served):
    """One charge for all of it, which a quote tells before; the same on the spot."""
    statements = [EVERYONE, WOMEN, "SELECT sex, COUNT(*) FROM people GROUP BY sex"]
    body = {"statements": [{"sql": sql} for sql in statements], "budget": "0.2", "strategy": "atoms"}
    quoted = served.call("POST", "/v1/batches/quotes", json=body).json()
    assert [quote["cost"] for quote in quoted["quotes"]] == [0.2, 0, 0]
    assert (quoted["adds"], quoted["fits"]) == (0.2, True)
    assert "measured together" in quoted["notes"][0]
    response = served.call("POST", "/v1/batches", json={**body, "estimate": True})
    assert response.status_code == 200, response.text
    answers = response.json()["answers"]
    assert [one["cost"] for one in answers] == [0.2, 0, 0]
    assert {(one["charge"], one["strategy"], one["cached"]) for one in answers} == {(1, "atoms", False)}
    assert [one["expected_error"] for one in answers] == [quote["expected_error"] for quote in quoted["quotes"]]
    assert len(answers[2]["estimates"][1]) == 2
    assert answers[0]["estimate"] == answers[0]["estimates"][0][0][0]
    [charge] = served.charges()
    assert json.loads(charge["statement"])["kind"] == "strategy"
    with Custodian.open(served.path) as custodian:
        again = custodian.ask_batch(statements, budget="0.2", strategy="atoms", estimate=True, analyst="anna")
        assert [as_sent(one.as_json()) | {"cost": 0} for one in again] == [
            one | {"cost": 0, "cached": True} for one in answers
        ]
    check_problem(served.call("POST", "/v1/batches", json={**body, "strategy": "correlated"}), 400, "")
    told = check_problem(served.call("POST", "/v1/batches", json={**body, "budget": "0.6"}), 403, "refused")
    assert told["limit"] == "quota of anna"
    assert len(served.charges()) == 1


def test_replay_and_conflict(served: Served):
    first = served.ask(WOMEN, key="k1").json()
    again = served.ask(WOMEN, key="k1").json()
    assert again == first
    check_problem(served.ask(MEN, key="k1"), 409, "conflict")
    check_problem(served.ask(WOMEN, "0.2", key="k1"), 409, "conflict")
    # A key is the analyst's own.
    assert served.ask(MEN, key="k1", who="ben").json()["charge"] == 2
    assert len(served.charges()) == 2
    batch = {"statements": [{"sql": "SELECT COUNT(*) FROM people WHERE age = 1", "epsilon": "0.1"}]}
    one, two = (
        served.call("POST", "/v1/batches", headers={"Idempotency-Key": "k2"}, json=batch).json() for _ in range(2)
    )
    assert one == two
    assert len(served.charges()) == 3


def test_a_batch_of_one_is_another_request_than_its_statement(served: Served):
    batch = {"statements": [{"sql": WOMEN, "epsilon": "0.1"}]}
    assert served.ask(WOMEN, key="k1").status_code == 200
    check_problem(served.call("POST", "/v1/batches", headers={"Idempotency-Key": "k1"}, json=batch), 409, "conflict")
    assert served.call("POST", "/v1/batches", headers={"Idempotency-Key": "k2"}, json=batch).status_code == 200
    check_problem(served.ask(WOMEN, key="k2"), 409, "conflict")


def test_bad_sql_in_a_batch_says_which_statement(shared: Served):
    statements = [{"sql": sql, "epsilon": "0.1"} for sql in (WOMEN, MEN, "SELECT COUNT(*) FROM people WHERE x = 1")]
    body = check_problem(shared.call("POST", "/v1/batches", json={"statements": statements}), 400, "sql")
    assert (body["statement"], body["line"], body["column"]) == (3, 1, 35)
    assert body["detail"].startswith("statement 3 of 3, line 1, column 35: ")
    assert "statement" not in check_problem(shared.ask("SELECT"), 400, "sql")


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_head_is_answered_where_watchers_ask(shared: Served, path):
    asked = shared.call("HEAD", path, None)
    assert (asked.status_code, asked.content) == (200, b"")


@pytest.mark.parametrize("key", ["x" * 201, "a b"])
def test_an_odd_idempotency_key_is_a_bad_request(shared: Served, key):
    check_problem(shared.ask(WOMEN, key=key), 400, "")


def test_domain_and_budget(served: Served):
    assert served.get("/v1/domain").json()["attributes"]["sex"] == {"values": ["F", "M"]}
    served.ask(WOMEN)
    served.ask(MEN, "0.2", who="ben")
    told = served.get("/v1/budget", "boss").json()
    assert {"measure", "budget", "spent", "sequential", "charges", "analysts"} <= set(told)
    assert (told["measure"], told["budget"], told["charges"]) == ("pure", 1, 2)
    assert told["spent"] == pytest.approx(0.2)
    assert told["sequential"] == pytest.approx(0.3)
    assert {name: one["quota"] for name, one in told["analysts"].items()} == {"anna": 0.5, "ben": 0.8}
    assert told["analysts"]["ben"]["spent"] == pytest.approx(0.2)
    mine = served.get("/v1/budget").json()
    assert set(mine["analysts"]) == {"anna"}
    assert mine["spent"] == told["spent"]


def test_the_ledger_in_pages(served: Served):
    for age in range(5):
        served.ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", who="ben")
    page = served.get("/v1/ledger?limit=2", "boss").json()
    assert [one["number"] for one in page["charges"]] == [1, 2]
    rest = served.get(f"/v1/ledger?after={page['next']}", "boss").json()
    assert [one["number"] for one in rest["charges"]] == [3, 4, 5]
    assert rest["next"] is None
    assert served.get("/v1/ledger").json()["charges"] == []


def test_the_graph_has_classes_edges_and_the_maximum(served: Served):
    empty = served.get("/v1/graph", "boss").json()
    assert (empty["nodes"], empty["edges"], empty["maximum"]["members"]) == ([], [], [])
    served.ask(WOMEN)
    served.ask(MEN)
    served.ask("SELECT COUNT(*) FROM people WHERE age < 5", "0.2", who="ben")
    found = served.get("/v1/graph", "boss").json()
    assert [one["number"] for one in found["nodes"]] == [1, 2, 3]
    assert sorted(map(tuple, found["edges"])) == [(1, 3), (2, 3)]
    colors = [one["color"] for one in found["nodes"]]
    assert colors[0] == colors[1] != colors[2]
    maximum = found["maximum"]
    assert maximum["upper"] == pytest.approx(0.3)
    assert 3 in maximum["members"]
    assert maximum["witness"]["age"] < 5
    assert [one["maximum"] for one in found["nodes"]].count(True) == 2
    own = served.get("/v1/graph", "ben").json()
    assert [one["number"] for one in own["nodes"]] == [3]
    assert served.get("/v1/graph?limit=1", "boss").json()["left_out"] == 2


def test_the_map_has_the_most_spent_on_any_row_of_each_cell(served: Served):
    served.ask(WOMEN)
    served.ask("SELECT COUNT(*) FROM people WHERE age < 5", "0.2", who="ben")
    found = served.get("/v1/budget/map?x=sex&y=age", "boss").json()
    assert (found["x"], found["y"]) == ("sex", "age")
    assert found["x_labels"] == ["F", "M"]
    assert found["cells"] == [[pytest.approx(0.3)] * 5 + [0.1] * 5, [0.2] * 5 + [0] * 5]
    for bad in ("?x=sex", "?x=sex&y=sex", "?x=sex&y=nothing", "?x=sex&y=age&bands=0", "?x=sex&y=age&bands=x"):
        check_problem(served.get(f"/v1/budget/map{bad}", "boss"), 400, "")


def test_paths_and_methods_that_are_not_there(shared: Served):
    for path in ("/v1", "/v1/nothing", "/v2/quotes", "/v1/quotes/", "/docs", "/%00", "/v1/../etc"):
        check_problem(shared.get(path, None), 404, "missing")
    for method, path in (("GET", "/v1/answers"), ("POST", "/v1/domain"), ("DELETE", "/v1/ledger"), ("PUT", "/healthz")):
        response = shared.call(method, path, None)
        check_problem(response, 405, "method")
        assert response.headers["allow"]


def test_a_large_body_is_413(shared: Served):
    large = json.dumps({"sql": "x" * (1 << 20), "epsilon": "0.1"}).encode()
    headers = {"Content-Type": "application/json"}
    check_problem(shared.call("POST", "/v1/answers", headers=headers, content=large), 413, "size")
    # In pieces, so that no header says how large it is.
    pieces = (large[at : at + 1000] for at in range(0, len(large), 1000))
    check_problem(shared.call("POST", "/v1/answers", headers=headers, content=pieces), 413, "size")


def test_a_form_of_another_site_is_not_taken(shared: Served):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        body = json.dumps({"sql": WOMEN, "epsilon": "0.1"}).encode()
        check_problem(shared.call("POST", "/v1/answers", headers={"Content-Type": kind}, content=body), 400, "body")


def test_probes_need_no_key(shared: Served):
    assert shared.get("/healthz", None).json() == {"status": "ok"}
    assert shared.get("/readyz", None).json() == {"status": "ready"}
    assert "parcomp_requests_total" in shared.get("/metrics", None).text
    front = shared.get("/", None)
    assert front.status_code == 200
    assert front.headers["content-type"].startswith("text/html")
    assert "http://" not in front.text


def test_security_headers_are_on_every_response(shared: Served):
    for response in (shared.get("/", None), shared.get("/nothing", None), shared.get("/v1/domain")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in response.headers)
        assert "server" not in response.headers


def test_the_document_is_openapi_3_1_without_422(shared: Served):
    document = shared.get("/openapi.json", None).json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/v1/quotes", "/v1/answers", "/v1/batches", "/v1/batches/quotes", "/v1/estimates", "/v1/domain", "/v1/budget",
        "/v1/ledger", "/v1/graph", "/v1/budget/map", "/healthz", "/readyz", "/metrics",
    }  # fmt: skip
    assert "422" not in json.dumps(document)


@pytest.mark.parametrize("path", ["/v1/quotes", "/v1/answers", "/v1/batches"])
@pytest.mark.parametrize("amount", ["1" + "0" * 310, "1" + "0" * 400, "1e400", "-1", "0", "true", "NaN", '"1_0"'])
def test_amounts_beyond_all_measure_are_bad_requests(shared: Served, path, amount):
    """Also whole numbers that no float holds."""
    statement = f'{{"sql": "{EVERYONE}", "epsilon": {amount}}}'
    body = f'{{"statements": [{statement}]}}' if path == "/v1/batches" else statement
    check_problem(shared.call("POST", path, content=body.encode()), 400, "body")


def test_a_body_of_many_members_is_one_error(shared: Served):
    """Each member by itself would be worked out on the event loop, which serves everybody."""
    body = {"sql": EVERYONE, "epsilon": "0.1", **dict.fromkeys(map(str, range(50_000)), 1)}
    told = check_problem(shared.call("POST", "/v1/quotes", json=body), 400, "body")
    assert len(json.dumps(told)) < 2_000


def test_statements_of_a_request_share_what_may_be_worked_out(shared: Served):
    """A megabyte of SQL would take all threads for a minute."""
    long = " OR ".join(["LENGTH(sex) + LENGTH(sex) > 9"] * 400)
    statements = [{"sql": f"SELECT COUNT(*) FROM people WHERE {long}", "epsilon": "0.1"}] * 45
    body = check_problem(shared.call("POST", "/v1/batches", json={"statements": statements}), 400, "body")
    assert "several batches" in body["detail"]


def test_a_key_has_one_batch_in_work_at_a_time(served: Served):
    statements = [{"sql": f"SELECT COUNT(*) FROM people WHERE age <> {n}", "epsilon": "0.0001"} for n in range(300)]
    with ThreadPoolExecutor(4) as threads:
        sent = [threads.submit(served.call, "POST", "/v1/batches", json={"statements": statements}) for _ in range(4)]
        statuses = sorted(one.result().status_code for one in sent)
    assert set(statuses) == {200, 429}
    assert served.call("POST", "/v1/batches", json={"statements": statements[:1]}).status_code == 200


def test_headers_are_bounded(shared: Served):
    response = shared.http.get(f"{shared.url}/healthz", headers={"X-Long": "a" * 2**21})
    assert response.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        '{"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "epsilon": "0.9"}',
        '{"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "epsil\\u006fn": "0.1"}',
        '{"statements": [{"sql": "SELECT COUNT(*) FROM people", "sql": "x", "epsilon": "0.1"}]}',
        '{"key": "a", "key": "b"}',
    ],
)
def test_a_member_that_is_there_twice_is_an_error(served: Served, body):
    for path in ("/v1/answers", "/v1/batches", "/console/session"):
        response = served.call("POST", path, "anna", {"Content-Type": "application/json"}, content=body)
        assert "twice" in check_problem(response, 400, "body")["detail"]
    assert served.charges() == []


def test_a_header_or_a_parameter_that_is_there_twice_is_an_error(served: Served):
    key = ("Authorization", f"Bearer {served.keys['anna']}")
    for path, twice in (
        ("/v1/answers", ("authorization", "Bearer nobody")),
        ("/v1/answers", ("Idempotency-Key", "a")),
        ("/v1/answers", ("Content-Type", "text/plain")),
        ("/console/session", ("Content-Type", "application/json")),
    ):
        headers = [key, ("Content-Type", "application/json"), ("Idempotency-Key", "a"), twice]
        body = json.dumps({"sql": WOMEN, "epsilon": "0.1"})
        response = served.http.post(served.url + path, headers=headers, content=body)
        assert "twice" in check_problem(response, 400, "request")["detail"]
    for who, path in (("anna", "/v1/ledger?after=1&after=0"), ("boss", "/v1/budget/map?x=sex&y=age&%78=sex")):
        assert "twice" in check_problem(served.get(path, who), 400, "request")["detail"]
    assert served.charges() == []

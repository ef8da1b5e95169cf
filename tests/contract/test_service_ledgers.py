"""Two servers on one ledger, in each database: one budget, one set of keys, one answer to a request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from parcomp.custodian import Custodian
from tests.contract.ledger_places import Place
from tests.custodians import audited, write_custodian
from tests.service.served import Served, serving


@pytest.fixture
def path(place: Place, tmp_path):
    return write_custodian(tmp_path / "shared", ledger=place.url, quotas={"anna": "1.0"})


def test_servers_on_one_ledger_never_overspend(path):
    """Requests to both at once, of which the budget bears a part; a row of age 4 and 5 pays for each."""
    with serving(path, anna="analyst", boss="custodian") as one, serving(path) as two:
        both = [one, Served(two.url, path, one.keys)]
        statements = [
            f"SELECT COUNT(*) FROM people WHERE age BETWEEN {a} AND {b}" for a in range(5) for b in range(5, 10)
        ]

        def ask(number):
            return both[number % 2].ask(statements[number], "0.05", key=f"k{number}")

        with ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(ask, range(25)))
        statuses = [response.status_code for response in responses]
        assert (statuses.count(200), statuses.count(403)) == (20, 5)
        # The other server has the answer under the same key.
        for number in (0, 1, 2):
            if statuses[number] == 200:
                again = both[1 - number % 2].ask(statements[number], "0.05", key=f"k{number}")
                assert again.json() == responses[number].json()
        budgets = [server.get("/v1/budget").json() for server in both]
        assert budgets[0] == budgets[1]
        assert budgets[0]["spent"] == pytest.approx(1.0)
        both[1].http.close()
    with Custodian.open(path) as custodian:
        assert audited(custodian.settings).ok

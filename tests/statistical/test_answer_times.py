"""With ``answer_delay``, how long an answer takes does not tell whether it matches no rows or all of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from tests.service.served import people
from tests.soak import soaked

DELAY = 0.2
ROWS = 20_000
DOMAIN = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9999}}}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Everybody is a woman of the lower ages, so that a statement matches all rows or none."""
    rows = [{"sex": "F", "age": number % 5_000} for number in range(ROWS)]
    service = f'answer_delay = "{DELAY}"\nrate = 100000'
    with people(
        tmp_path_factory.mktemp("timed"),
        service,
        rows=rows,
        domain=DOMAIN,
        budget="1000",
        quotas={"anna": "1000", "ben": "1"},
    ) as served:
        yield served


@pytest.mark.parametrize("pairs", [25, soaked(1_000)])
def test_none_and_all_take_the_same_time(served, pairs):
    """Times between multiples of the delay are noise of the network and of this machine; which multiple is compared."""
    draw, times = random.Random(pairs), {"F": [], "M": []}
    for number in range(pairs):
        for sex in draw.sample("FM", 2):
            sql = f"SELECT COUNT(*) FROM people WHERE sex = '{sex}' AND age <= {9_999 - number}"
            response = served.ask(sql, "0.01")
            assert response.status_code == 200
            times[sex].append(response.elapsed.total_seconds())
    assert min(times["F"] + times["M"]) >= DELAY
    # A test of ranks finds a shift of a fifth of the spread in a thousand pairs.
    assert stats.mannwhitneyu(times["F"], times["M"]).pvalue > 1e-4
    assert abs(np.median(times["F"]) - np.median(times["M"])) < 0.01

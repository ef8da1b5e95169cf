"""Nothing but the noisy numbers depends on the data: the same session on neighboring tables looks the same."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import compress, product

from parcomp.custodian import Custodian
from parcomp.errors import ParcompError
from parcomp.model import Bands, Condition, Domain, Grouping, Item, Predicate, Statement
from tests.custodians import write_custodian

ROWS = [
    {"sex": "F", "age": 0},
    {"sex": "M", "age": 3},
    {"sex": "", "age": 1},
    {"sex": "F", "age": 2},
    {"sex": "X", "age": 2},
    {"sex": "f", "age": ""},
    {"sex": "M", "age": 9},
    {"sex": "F", "age": "old"},
]
"""Rows within the domain and outside it; the tables are all sets of them."""

REQUESTS = 12
DOMAIN = {
    "name": "people",
    "attributes": {"sex": {"values": ["F", "M"], "nullable": True}, "age": {"low": 0, "high": 3}},
}
CONDITIONS = ["sex = 'F'", "sex <> 'F'", "sex IS NULL", "age < 2", "age = 3", "sex = 'M' OR age = 0", "age > 7", "TRUE"]
SELECTS = [
    *("COUNT(*)", "SUM(age)", "AVG(age)", "sex, COUNT(*)", "COUNT(DISTINCT age)", "MEDIAN(age)"),
    *("sex, COUNT(*), VARIANCE(age), AVG(age)", "COUNT(*), SUM(age), STDDEV(age)"),
]
ROUGH = ("AVG(age)", "MEDIAN(age)")
WRONG = ["SELECT COUNT(*) FROM people WHERE color = 1", "SELECT MAX(age) FROM people", "SELECT"]


def session(path, draw):
    """What an analyst sees of a random session except for the numbers, and the ledger's entries after it.

    The digests of the chain stand on a salted seal of the rows, and are others each time.
    """
    seen = []
    with Custodian.create(path) as custodian:
        custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="0.01")
        for _ in range(REQUESTS):
            select, condition = draw.choice(SELECTS), draw.choice(CONDITIONS)
            group = " GROUP BY sex" if select.startswith("sex") else ""
            sql = f"SELECT {select} FROM people WHERE {condition}{group}"
            if draw.random() < 0.1:
                sql = draw.choice(WRONG)
            cost = draw.choice(["0.2", "0.3", "0.4", "nan"])
            try:
                quote = custodian.quote(sql, epsilon=cost)
                if quote.derivable:
                    derived = custodian.ask(sql, derive=True)
                    seen.append((derived.charge, derived.cost, derived.expected_error, derived.notes, len(derived)))
                answer = custodian.ask(sql, epsilon=cost)
            except ParcompError as error:
                seen.append((type(error).__name__, str(error)))
                continue
            # The error of an average is estimated from its noisy count.
            error = None if select in ROUGH else answer.expected_error
            rows = [group.row for group in answer.groups]
            seen.append((quote, answer.charge, answer.cost, answer.cached, error, rows, answer.notes))
        derived = custodian.ask("SELECT COUNT(*) FROM people WHERE sex <> 'F'", derive=True)
        seen.append((derived.charge, derived.cost, derived.expected_error, derived.notes, len(derived)))
        return seen, [charge.entry for charge in custodian.charges()], custodian.balance()


def test_accept_refuse_cost_messages_and_chain_are_the_same_on_neighboring_tables(tmp_path, monkeypatch):
    """On all 1,024 pairs of tables that differ in one of eight rows; noise and the clock stand still."""
    monkeypatch.setattr("parcomp.noise.add_noise", lambda mechanism, values: list(values))
    monkeypatch.setattr("parcomp.custodian.request.utc_now", lambda: "2026-01-01T00:00:00Z")
    seen = {}
    for chosen in product((False, True), repeat=len(ROWS)):
        rows = list(compress(ROWS, chosen))
        path = write_custodian(tmp_path / "".join("01"[one] for one in chosen), rows=rows, domain=DOMAIN, init=False)
        seen[chosen] = session(path, random.Random(8))
    pairs = [(one, (*one[:i], True, *one[i + 1 :])) for one in seen for i in range(len(ROWS)) if not one[i]]
    assert len(pairs) == 1_024
    for table, neighbor in pairs:
        assert seen[table] == seen[neighbor]
    events, charges, _ = seen[(False,) * len(ROWS)]
    kinds = {event[0] for event in events if isinstance(event[0], str)}
    assert {"RefusedError", "CostError", "SqlError"} <= kinds
    assert any(event[3] and event[3][0].startswith("derived, free") for event in events if event[0] is None)
    assert len(charges) >= 3


ITEMS = [
    (Item("count"), Item("average", "age"), Item("deviation", "age")),
    (Item("quantile", "age", Fraction(1, 2)), Item("quantile", "age", Fraction(1, 4)), Item("distinct", "sex")),
    (Item("variance", "age", sample=False),),
    (Item("sum", "age"), Item("count", "sex"), Item("distinct", "age")),
]


def asked_for(domain: Domain) -> list[Statement]:
    """Items of every kind, for the whole, by values and by bands."""
    bands = Bands(("young", 3), tuple(Predicate.from_codes(4, codes) for codes in ([0, 1], [3])))
    keys = [(), (Grouping(0),), (Grouping(1, bands),), (Grouping(0), Grouping(1, bands))]
    wheres = [{}, {"sex": ["F", None]}, {"age": [0, 3]}, {"age": 2}]
    pairs = list(zip(ITEMS, keys, strict=True))
    return [
        Statement(Condition.of(domain.query(where)), items, groups) for where in wheres for items, groups in pairs
    ] + [Statement(Condition.of(domain.query(where)), ITEMS[i], keys[i - 1]) for i, where in enumerate(wheres)]


def items_session(path):
    seen = []
    with Custodian.create(path) as custodian:
        for statement in asked_for(custodian.settings.domain):
            quote = custodian.quote(statement, epsilon="0.2")
            try:
                answer = custodian.ask(statement, epsilon="0.2")
            except ParcompError as error:
                seen.append((quote, type(error).__name__, str(error)))
                continue
            shown = [
                (column.name, column.values if column.figures is None else [one.approximate for one in column.figures])
                for column in answer.columns
            ]
            seen.append((quote, answer.charge, answer.cost, answer.cached, answer.notes, shown))
        return seen, [charge.entry for charge in custodian.charges()], custodian.balance()


def test_items_and_bands_look_the_same_on_neighboring_tables(tmp_path, monkeypatch):
    """On all 80 pairs of tables that differ in one of five rows."""
    monkeypatch.setattr("parcomp.noise.add_noise", lambda mechanism, values: list(values))
    monkeypatch.setattr("parcomp.custodian.request.utc_now", lambda: "2026-01-01T00:00:00Z")
    rows = ROWS[1:6]
    seen = {}
    for chosen in product((False, True), repeat=len(rows)):
        some = list(compress(rows, chosen))
        path = write_custodian(tmp_path / "".join("01"[one] for one in chosen), rows=some, domain=DOMAIN, init=False)
        seen[chosen] = items_session(path)
    pairs = [(one, (*one[:i], True, *one[i + 1 :])) for one in seen for i in range(len(rows)) if not one[i]]
    assert len(pairs) == 80
    for table, neighbor in pairs:
        assert seen[table] == seen[neighbor]
    events, charges, _ = seen[(False,) * len(rows)]
    assert len(charges) >= 4
    assert any("RefusedError" in event for event in events)

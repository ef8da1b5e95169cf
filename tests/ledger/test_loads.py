"""Loads as an audit sees them, and as entries of a chain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from parcomp import Categorical, Domain, Integer
from parcomp.errors import LedgerError
from parcomp.ledger import Charge, Entry, Load, audit_charges, chain, domain_text, is_sealed, read_domain_text
from parcomp.model import Binned, Condition, Statement
from tests.ledger.entries import BINDING, DOMAIN

GROWN = Domain({"sex": Categorical(["F", "M", "X"]), "age": Integer(0, 19)}, name="people")
LOAD = Load.of(GROWN, "the digest of the rows")


def chained(*entries: Entry) -> list[Charge]:
    charges: list[Charge] = []
    for number, entry in enumerate(entries, 1):
        charges.append(chain(charges[-1].digest if charges else BINDING.digest, number, entry))
    return charges


def counted(domain: Domain, units: int, upper: int, groups: Sequence[int] = (), **where: Any) -> Entry:
    statement = Statement.one("count", Condition.of(domain.query(where)), groups=tuple(groups))
    written = json.dumps(statement.query.where(), ensure_ascii=False)
    return Entry("2026-01-31T12:00:00Z", "anna", statement.text, written, units, upper)


def problems(*entries: Entry, domain: Domain = GROWN) -> str:
    return "\n".join(audit_charges(chained(*entries), BINDING, domain).problems)


def test_a_load_is_an_entry_of_the_chain() -> None:
    [charge] = chained(LOAD.entry(7))
    assert charge.is_load
    assert (charge.units, charge.upper, charge.where, charge.analyst, charge.batch) == (0, 7, "{}", "", "")
    assert json.loads(charge.statement) == {"kind": "load", "domain": domain_text(GROWN), "rows": LOAD.rows}
    assert is_sealed("the digest of the rows", LOAD.rows)
    assert Load.read(charge) == LOAD
    assert charge.entry == LOAD.entry(7).__class__(**{f: getattr(charge, f) for f in Entry.__dataclass_fields__})


@pytest.mark.parametrize("changes", [{"units": 1}, {"where": '{"sex":"F"}'}, {"units": -1}, {"units": None}])
def test_a_load_charges_nothing(changes: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="a load charges 0 units"):
        replace(LOAD.entry(0), **changes)
    [sound] = chained(LOAD.entry(0))
    found = audit_charges([replace(sound, **changes)], BINDING, GROWN).problems
    assert any("a load charges 0 units" in problem for problem in found)


@pytest.mark.parametrize(
    "statement", ['{"kind":"count","where":[{"sex":"load"}]}', '"load"', '{"kind": "load"', '["load"]', None, 3]
)
def test_what_only_speaks_of_loads_is_none(statement: Any) -> None:
    [sound] = chained(LOAD.entry(0))
    assert not replace(sound, statement=statement).is_load
    with pytest.raises(LedgerError, match="no load of the table either"):
        Load.read(replace(sound, statement=statement if isinstance(statement, str) else ""))


@pytest.mark.parametrize("rows", ["", None, 3])
def test_a_load_has_the_digest_of_its_rows(rows: Any) -> None:
    with pytest.raises(LedgerError, match="the rows of a load must be a text"):
        Load.of(GROWN, rows)


@pytest.mark.parametrize(
    "domain",
    [
        DOMAIN,
        Domain({"größe": Binned(0.1, 0.7, 7, nullable=True), "a b": Categorical([True, False]), "c": Integer(-3, 3)}),
        Domain({"x": Categorical([10**30, -1, 0]), "y": Integer(10**20, 10**20 + 5), "z": Binned(-1e300, 1e300, 2)}),
    ],
)
def test_a_domain_is_read_back_from_its_text(domain: Domain) -> None:
    assert read_domain_text(domain_text(domain)) == domain
    assert read_domain_text(domain_text(domain), domain) is domain
    assert read_domain_text(domain_text(domain), GROWN) == domain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"name":"a","attributes":3}',
        '{"name":"a","attributes":[]}',
        '{"name":"a","attributes":[["b",{"low":0,"high":1}],["b",{"low":0,"high":1}]]}',
        '{"name":"a","attributes":[["b",{"low":0,"high":1,"more":2}]]}',
        '{"name":"a","attributes":[["b",{"low":0,"high":1}]],"more":2}',
        '{"name":"a","attributes":[["b",3]]}',
    ],
)
def test_a_text_that_is_no_domain_is_an_error(text: str) -> None:
    with pytest.raises(LedgerError, match="a domain that cannot be read"):
        read_domain_text(text)


def test_charges_keep_the_values_that_they_counted() -> None:
    """Everyone but women, every declared sex, and no sex at all: three sets, of which only the last one grows."""
    entries = [
        counted(DOMAIN, 5, 5, sex={"not": "F"}),
        counted(DOMAIN, 3, 8, sex={"not": []}),
        counted(DOMAIN, 2, 10, age={"not": 3}),
        LOAD.entry(10),
        counted(GROWN, 6, 10, sex="X"),
        counted(GROWN, 1, 11, sex={"not": "F"}),
    ]
    found = audit_charges(chained(*entries), BINDING, GROWN)
    assert found.ok, found.problems
    # Men: 5 + 3 + 2 + 1.
    assert (found.lower, found.loss, found.sequential) == (11, 11, 17)
    assert (found.charges, found.loads) == (5, 1)
    # On X: 2 + 6 + 1, of which one more tips the balance.
    assert problems(*entries, counted(GROWN, 3, 12, sex="X")) == ""
    assert "says that the maximum overlap is at most 11 units, it is 12" in problems(
        *entries, counted(GROWN, 3, 11, sex="X")
    )


def test_a_load_under_a_domain_that_is_no_extension_is_named() -> None:
    other = Domain({"sex": Categorical(["M", "F"]), "age": Integer(0, 9)}, name="people")
    assert "charge 2: the load is under a domain that does not extend the one before (attribute 'sex'" in problems(
        counted(DOMAIN, 5, 5), Load.of(other, "rows").entry(5), domain=DOMAIN
    )
    assert "charge 2: the load is under a domain that does not extend" in problems(
        LOAD.entry(0), Load.of(DOMAIN, "rows").entry(0)
    )
    unreadable = Load("{}", "rows").entry(0)
    assert "charge 1: the ledger has a domain that cannot be read" in problems(unreadable, domain=DOMAIN)


def test_the_settings_have_the_domain_of_the_last_load() -> None:
    assert problems(LOAD.entry(0), domain=DOMAIN) == "the last load: is for another domain"
    assert problems(domain=GROWN) == "the binding: is for another domain"


def test_a_binding_that_cannot_be_read_is_named() -> None:
    [found] = audit_charges([], replace(BINDING, domain="{}"), DOMAIN).problems
    assert found.startswith("the binding: the ledger has a domain that cannot be read")


def test_a_charge_is_read_under_the_domain_of_its_time() -> None:
    # "All but 3" is of the ages that were declared then.
    entries = [counted(DOMAIN, 5, 5, age={"not": 3}), LOAD.entry(5), counted(GROWN, 4, 5, age=15)]
    assert json.loads(entries[0].where) == {"age": {"not": 3}}
    found = audit_charges(chained(*entries), BINDING, GROWN)
    assert (found.ok, found.loss) == (True, 5)
    assert "charge 1: where: does not cover" in problems(
        replace(counted(DOMAIN, 5, 5, groups=(0,)), where='{"sex":"F"}'), LOAD.entry(5)
    )
    # Nobody could ask about age 15 by then; a value that is not declared is never satisfied.
    early = replace(counted(GROWN, 5, 5, age=15))
    found = audit_charges(chained(early, LOAD.entry(5)), BINDING, GROWN)
    assert (found.ok, found.loss) == (True, 0)


def test_a_bound_does_not_shrink_at_a_load() -> None:
    assert problems(counted(DOMAIN, 5, 5), LOAD.entry(4)) == (
        "charge 2: bounds the maximum overlap by 4 units, it is 5\n"
        "charge 2: says that the maximum overlap is at most 4 units, it is 5 or more"
    )


def test_an_answer_belongs_to_a_charge_and_not_to_a_load() -> None:
    charges = chained(counted(DOMAIN, 5, 5), LOAD.entry(5))
    ties = [("answer 1", charges[0].digest), ("answer 2", charges[1].digest)]
    found = audit_charges(charges, BINDING, GROWN, ties=ties, noted_head=charges[1].digest).problems
    assert found == ("answer 2: belongs to no charge of the chain",)

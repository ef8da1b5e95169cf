"""Entries check themselves, and digests are what the documentation says they are."""

from __future__ import annotations

from dataclasses import astuple, fields, replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcomp import Binned, Categorical, Domain
from parcomp.costs import MAX_UNITS
from parcomp.errors import LedgerError
from parcomp.ledger.binding import Binding, domain_text
from parcomp.ledger.charge import Charge, chain, chain_problems, trail_after, utc_now
from tests.ledger.entries import BINDING, entry

GOOD = entry(5)


@pytest.mark.parametrize(
    "changes",
    [
        {"time": "2026-01-31T12:00:00"},
        {"time": "2026-01-31T12:00:00+01:00"},
        {"time": "yesterday"},
        {"units": 0},
        {"units": -1},
        {"units": MAX_UNITS + 1},
        {"units": 1.0},
        {"units": True},
        {"upper": -1},
        {"upper": None},
        {"where": "[]"},
        {"where": "{"},
        {"statement": "SELECT 1"},
        {"statement": "[" * 10**5},
        {"analyst": None},
        {"batch": "\0"},
    ],
)
def test_an_entry_that_cannot_be_charged_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(LedgerError):
        replace(GOOD, **changes)


def test_times_in_utc_are_taken_in_either_notation() -> None:
    for time in (utc_now(), "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123+00:00"):
        assert replace(GOOD, time=time).time == time


def by_the_book(*parts: object) -> str:
    """The digest as docs/ledger.md describes it, written anew."""
    text = b""
    for part in parts:
        data = str(part).encode("utf-8")
        text += str(len(data)).encode() + b":" + data + b"\n"
    return sha256(text).hexdigest()


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(texts, texts, st.integers(1, MAX_UNITS))
def test_digests_can_be_recomputed_from_the_documentation(analyst: str, note: str, units: int) -> None:
    one = chain(BINDING.digest, 1, entry(units, analyst=analyst, note=note, batch=note))
    assert one.previous == by_the_book("parcomp binding 2", *astuple(BINDING)[:-1])
    unbound = replace(BINDING, source="")
    assert unbound.digest == by_the_book("parcomp binding 1", *astuple(unbound)[:-2])
    made = replace(BINDING, first_rows="0f")
    assert made.digest == by_the_book("parcomp binding 3", *astuple(made))
    assert one.digest == by_the_book(
        "parcomp charge 1", one.previous, 1, one.time, analyst, one.statement, one.where, units, units, note
    )


def test_fields_cannot_borrow_from_their_neighbors() -> None:
    """Without lengths, ("ab", "c") and ("a", "bc") would have one digest."""
    one, other = (replace(GOOD, analyst=a, batch=b) for a, b in (("ab", "c"), ("a", "bc")))
    assert chain("", 1, one).digest != chain("", 1, other).digest


@st.composite
def chains(draw: st.DrawFn) -> list[Charge]:
    charges: list[Charge] = []
    for number in range(1, draw(st.integers(2, 6)) + 1):
        previous = charges[-1].digest if charges else BINDING.digest
        charges.append(chain(previous, number, entry(draw(st.integers(1, 9)), note=draw(texts))))
    return charges


@given(chains())
def test_a_whole_chain_has_no_problems_nor_has_its_continuation(charges: list[Charge]) -> None:
    assert chain_problems(charges, BINDING.digest) == []
    assert chain_problems(charges[1:], charges[0].digest, after=1) == []


@given(chains(), st.data())
def test_whatever_is_changed_in_a_chain_is_found(charges: list[Charge], data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(charges) - 1))
    old = charges[position]
    name = data.draw(st.sampled_from([field.name for field in fields(Charge)]))
    value = getattr(old, name)
    charges[position] = replace(old, **{name: value + 1 if isinstance(value, int) else value + "x"})
    problems = chain_problems(charges, BINDING.digest)
    assert problems
    # Also where the digest of the changed charge was computed anew, unless it is the last one.
    if position < len(charges) - 1 and name not in ("number", "previous", "digest"):
        charges[position] = chain(old.previous, old.number, replace(old.entry, units=old.units + 1))
        assert any(f"charge {position + 2}" in problem for problem in chain_problems(charges, BINDING.digest))


@given(chains(), st.data())
def test_dropped_swapped_and_inserted_charges_are_found(charges: list[Charge], data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(charges) - 2))
    dropped = charges[:position] + charges[position + 1 :]
    swapped = [*charges[:position], charges[position + 1], charges[position], *charges[position + 2 :]]
    inserted = [*charges[: position + 1], charges[position], *charges[position + 1 :]]
    for changed in (dropped, swapped, inserted):
        assert chain_problems(changed, BINDING.digest)


def test_a_chain_belongs_to_its_binding() -> None:
    charges = [chain(BINDING.digest, 1, GOOD)]
    assert chain_problems(charges, replace(BINDING, budget_units=2_000_000).digest) == [
        "charge 1: does not follow the digest before it"
    ]


def test_damaged_charges_are_told_and_not_raised() -> None:
    good = chain(BINDING.digest, 1, GOOD)
    for damage in ({"units": "lots"}, {"number": None}, {"analyst": b"\xff"}, {"statement": "\ud800"}, {"digest": 0}):
        assert chain_problems([replace(good, **damage)], BINDING.digest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"measure": "approx"},
        {"neighbours": "none"},
        {"rows_per_person": 0},
        {"budget_units": 0},
        {"budget_units": 0.5},
        {"dataset": "\0"},
    ],
)
def test_a_binding_that_means_nothing_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(LedgerError):
        replace(BINDING, **changes)


def test_the_domain_of_a_binding_keeps_order_types_and_names() -> None:
    one = {"a": Categorical([1, 0]), "b": Binned(0, 0.5, 10)}
    domains = [
        Domain(one),
        Domain(one, name="other"),
        Domain(dict(reversed(one.items()))),
        Domain(one | {"a": Categorical([0, 1])}),
        Domain(one | {"a": Categorical([True, False])}),
        Domain(one | {"a": Categorical(["1", "0"])}),
        Domain(one | {"a": Categorical([1, 0], nullable=True)}),
        Domain(one | {"b": Binned(0, 0.5, 20)}),
    ]
    assert len({domain_text(domain) for domain in domains}) == len(domains)
    assert domain_text(Domain({"a": Categorical([1, 0]), "b": Binned(0.0, 0.5, 10)})) == domain_text(domains[0])


@pytest.mark.parametrize(
    ("has", "says", "named"), [("{}", "[]", "domain"), ('{"name":"a","attributes":[]}', "x", "domain")]
)
def test_domains_that_cannot_be_compared_are_just_different(has: str, says: str, named: str) -> None:
    with pytest.raises(LedgerError, match=named):
        replace(BINDING, domain=has).check_same(Binding(**{**_fields(BINDING), "domain": says}))


def _fields(binding: Binding) -> dict[str, Any]:
    return {field.name: getattr(binding, field.name) for field in fields(binding)}


def test_a_trail_speaks_for_all_answers_in_their_order() -> None:
    one, other = trail_after("", "a", "1"), trail_after("", "b", "2")
    assert trail_after(one, "b", "2") != trail_after(other, "a", "1")
    assert trail_after(one, "b", "2") != trail_after("", "b", "2")
    assert trail_after(one, "b", "2") == by_the_book("parcomp answer 1", one, "b", "2")
    assert len({one, other, trail_after("", "a", "2"), trail_after("", "a1", "")}) == 4

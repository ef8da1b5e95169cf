"""Domains: attributes by name, in an order that counts."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from parcomp.errors import DomainError, PredicateError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.notation import between
from tests.property.strategies import domains, few


@few
@given(domains())
def test_a_domain_survives_pickling(domain: Domain) -> None:
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    assert hash(again) == hash(domain)
    assert again.names == domain.names


def test_domains_with_attributes_in_another_order_differ() -> None:
    a, b = Integer(0, 9), Integer(0, 9)
    assert Domain({"a": a, "b": b}) != Domain({"b": b, "a": a})
    assert Domain({"a": a, "b": b}) == Domain({"a": Integer(0, 9), "b": b})
    assert Domain({"a": a}) != Domain({"a": a}, name="other")
    assert Domain({"a": a}) != "domain"


def test_the_size_is_the_number_of_rows() -> None:
    domain = Domain({"a": Integer(0, 10**9), "b": Binned(0, 1, 10**6, nullable=True), "c": Categorical(["x"])})
    assert domain.size == (10**9 + 1) * (10**6 + 1)


def test_a_row_of_codes_is_a_row_of_values() -> None:
    domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(20, 29, nullable=True), "pay": Binned(0, 1, 4)})
    assert domain.row([1, 10, 2]) == {"sex": "M", "age": None, "pay": 0.5}


def test_a_query_names_attributes_by_keyword_or_mapping() -> None:
    domain = Domain({"age": Integer(0, 119), "marital status": Categorical([1, 2])})
    query = domain.query({"marital status": 1}, age=between(20, 39))
    assert query.where() == {"age": {"from": 20, "to": 39}, "marital status": 1}
    assert query == domain.query({"age": [between(20, 39)], "marital status": [1]})


def test_an_attribute_has_one_predicate_in_a_query() -> None:
    with pytest.raises(PredicateError, match="age"):
        Domain({"age": Integer(0, 119)}).query({"age": 1}, age=2)


def test_an_unknown_attribute_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(DomainError, match="'sexe'; there are sex, age"):
        Domain({"sex": Categorical(["F"]), "age": Integer(0, 9)}).query(sexe="F")


def test_a_wrong_predicate_is_an_error_that_names_the_attribute() -> None:
    with pytest.raises(PredicateError, match="age: 'x' is not an integer"):
        Domain({"age": Integer(0, 9)}).query(age="x")


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({}, "d"),
        ({"": Integer(0, 1)}, "d"),
        ({"a": Integer(0, 1)}, ""),
        ({1: Integer(0, 1)}, "d"),
        ({"\udfff": Integer(0, 1)}, "d"),
    ],
)
def test_an_ill_formed_domain_is_an_error(attributes: dict[str, Integer], name: str) -> None:
    with pytest.raises(DomainError):
        Domain(attributes, name)


def test_a_domain_cannot_be_changed() -> None:
    given_attributes = {"a": Integer(0, 1)}
    domain = Domain(given_attributes)
    given_attributes["b"] = Integer(0, 1)
    assert domain.names == ("a",)
    with pytest.raises(TypeError):
        domain.attributes["b"] = Integer(0, 1)  # type: ignore[index]

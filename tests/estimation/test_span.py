"""Sums of queries against every row of small domains, with undeclared values and predicates that list all values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import parcomp as pc
from parcomp.estimation.span import _fraction, holds_on_every_row, solve
from tests.estimation.test_derivation import in_span
from tests.soak import shared_with_soak


def random_domain(draw):
    sizes = draw.integers(1, 5, draw.integers(1, 4))
    return pc.Domain({f"a{i}": pc.Integer(0, int(size) - 1) for i, size in enumerate(sizes)})


def random_query(domain, draw):
    """Some attributes are tested, by any subset of their values: also by all of them."""
    where = {}
    for name, attribute in domain.attributes.items():
        if draw.random() < 0.6:
            where[name] = [value for value in range(attribute.size) if draw.random() < 0.7]
    return domain.query(where)


def rows_of(domain, complete):
    """Every row, with a value that is not declared where an attribute is not complete."""
    return [
        dict(zip(domain.names, values, strict=True))
        for values in product(
            *(
                [*range(attribute.size), *([] if index in complete else [-1])]
                for index, attribute in enumerate(domain.attributes.values())
            )
        )
    ]


@pytest.mark.parametrize("chunk", shared_with_soak(20, 17))
def test_weights_are_found_where_there_are_some_and_hold_on_every_row(chunk):
    """For any set of complete attributes; what may be added to a solution counts nothing on any row."""
    draw = np.random.default_rng([31, chunk])
    solved = 0
    for _ in range(60):
        domain = random_domain(draw)
        given = [random_query(domain, draw) for _ in range(draw.integers(1, 12))]
        targets = [random_query(domain, draw) for _ in range(3)]
        complete = frozenset(index for index in range(len(domain.names)) if draw.random() < 0.5)
        rows = rows_of(domain, complete)
        cells = np.array([[query.covers(row) for row in rows] for query in given])
        for target, found in zip(targets, solve(targets, given, complete), strict=True):
            wanted = np.array([target.covers(row) for row in rows])
            assert (found is not None) == in_span(cells, wanted)
            if found is not None:
                solved += 1
                assert (found.one @ cells.astype(int) == wanted * found.denominator).all()
                assert not (found.kernel.T @ cells.astype(int)).any()
                weights = [Fraction(int(one), found.denominator) for one in found.one]
                assert holds_on_every_row(weights, given, target, complete)
                weights[draw.integers(len(weights))] += Fraction(1, 7)
                assert holds_on_every_row(weights, given, target, complete) == bool(
                    (np.array(weights) @ cells.astype(int) == wanted).all()
                )
    assert solved >= 20


def test_a_predicate_of_all_values_leaves_undeclared_ones_out():
    """Women and men are all rows only where every row has a declared sex."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 10**9)})
    everyone, declared, men = domain.query(), domain.query(sex=["F", "M"]), domain.query(sex="M")
    women = domain.query(sex="F")
    assert solve([women], [everyone, men], frozenset()) == [None]
    assert solve([women], [everyone, men], frozenset({1})) == [None]
    assert solve([everyone], [declared], frozenset({1})) == [None]
    for given, complete in (([everyone, men], {0}), ([declared, men], ())):
        [found] = solve([women], given, frozenset(complete))
        assert (found.one.tolist(), found.denominator) == ([1, -1], 1)
    assert not holds_on_every_row([Fraction(1), Fraction(-1)], [everyone, men], women, frozenset())


def test_weights_that_are_too_fine_are_not_taken():
    """Their sums could be a multiple of the prime."""
    domain = pc.Domain({"a": pc.Integer(0, 3)})
    given = [domain.query(a=1), domain.query(a=1)]
    assert holds_on_every_row([Fraction(1, 2), Fraction(1, 2)], given, domain.query(a=1), ())
    fine = Fraction(2**61 - 1, 2**60)
    assert not holds_on_every_row([fine, 1 - fine], given, domain.query(a=1), ())


def test_fractions_are_known_again():
    """From their residues, as far as numerator and denominator are small."""
    prime = 2**31 - 1
    for numerator, denominator in product(range(-60, 61), range(1, 40)):
        value = Fraction(numerator, denominator)
        assert _fraction(numerator * pow(denominator, -1, prime) % prime) == value


def test_half_weights_are_found():
    """Of three pairs, each two of three values, every value is half a sum."""
    domain = pc.Domain({"a": pc.Integer(0, 2)})
    given = [domain.query(a=[0, 1]), domain.query(a=[1, 2]), domain.query(a=[0, 2])]
    [found] = solve([domain.query(a=0)], given, frozenset())
    assert ([Fraction(int(one), found.denominator) for one in found.one]) == [
        Fraction(1, 2),
        Fraction(-1, 2),
        Fraction(1, 2),
    ]

"""The checker against a maker and a forger of proofs that share nothing with it or with the prover.

An honest proof is accepted for exactly the bound that the definitions give, and whatever is changed in one, no bound
below the maximum overlap is ever accepted.
"""

from __future__ import annotations

import copy
from decimal import Decimal

import numpy as np
import pytest

import parcomp as pc
from parcomp.certificate import listing, workload_digest
from parcomp.costs import amount_of, amount_up
from parcomp.errors import CertificateError
from tests.certificate.proof_forger import KINDS, Problem, ProofMaker, random_problem


def sets(*accepted):
    """A query from the values accepted at each attribute, None for all."""
    return {attribute: frozenset(values) for attribute, values in enumerate(accepted) if values is not None}


# The maximum overlap is 12: the row (2, 1) satisfies queries 1 to 4.
PLAIN = Problem(
    [4, 4],
    [sets([0, 1]), sets([1, 2]), sets([2, 3]), sets(None, [0, 1]), sets(None, [1]), sets(None, [3])],
    [3, 2, 4, 5, 1, 2],
)
# The maximum overlap is 7: two parts that do not overlap have 5 and 7.
PARTED = Problem([2, 3], [sets([0], [0, 1]), sets([0], [1, 2]), sets([1], [0]), sets([1], [0, 1])], [3, 2, 4, 3])

EVEN = range(0, 200, 2)
# The maximum overlap is 6, at (151, 0), and a hundred values score more than 151 does.
MANY = Problem([200, 2], [sets(EVEN, [1]), sets([151]), sets(None, [0])], [4, 3, 3])
# The last query accepts the best value, and one that scores less than a hundred others.
MORE = Problem(
    [200, 2],
    [sets(EVEN), sets([151]), sets([1]), sets(None, [0]), sets(None, [1]), sets([1, 151], [1])],
    [6, 6, 2, 3, 2, 1],
)

ALL = {"cover": []}
FIRST = {"cover": [{"weight": 3, "queries": [0, 2]}]}
SECOND = {"cover": [{"weight": 2, "queries": [3, 5]}]}
BOTH = {"cover": FIRST["cover"] + SECOND["cover"]}
SHARES = {0: {"a0": 6}, 1: {"a0": 4}, 2: {"a0": 8}, 3: {"a1": 10}, 4: {"a1": 2}, 5: {"a1": 4}}


def part(queries, proof):
    return {"queries": queries, "proof": proof}


def case(values, proof):
    return {"in": values, "proof": proof}


def split(shares, scale=2):
    return [{"scale": scale, "queries": [[query, of_query] for query, of_query in shares.items()]}]


COLUMNS = {"a0": [[0, 1, 2], [3, 2, 4]], "a1": [[3, 4, 5], [5, 1, 2]]}


def in_columns(columns=COLUMNS, unit=2, scale=2):
    """The same multipliers by attribute."""
    return [{"scale": scale, "unit": unit, "shares": columns}]


def check(problem, upper, nodes, multipliers=()):
    """Ask the checker whether these nodes prove ``upper``."""
    verdict = pc.verify(problem.workload(), problem.certificate(nodes, multipliers, upper))
    assert verdict.upper == amount_up(upper)


HONEST = {
    "cover": (PLAIN, 12, [BOTH]),
    "splitting": (PLAIN, 12, [{"splitting": 0}], split(SHARES)),
    "splitting in columns": (PLAIN, 12, [{"splitting": 0}], in_columns()),
    "sum": (PLAIN, 12, [{"sum": [part([0, 1, 2], 1), part([3, 4, 5], 2)]}, FIRST, SECOND]),
    "parts": (PARTED, 7, [{"parts": [part([0, 1], 1), part([2, 3], 2)]}, ALL, ALL]),
    "attribute": (PLAIN, 12, [{"attribute": "a0", "cases": [case([0, 1], 1), case([2, 3], 2)]}, SECOND, SECOND]),
    "queries": (PLAIN, 12, [{"queries": [2], "in": 1, "out": 2}, SECOND, SECOND]),
    "dominated": (
        PLAIN,
        12,
        [{"dominated": "a1", "keep": [1, 3], "proof": 1}, {"dominated": "a0", "keep": [1, 2], "proof": 2}, BOTH],
    ),
    "thinned": (PLAIN, 12, [{"dominated": "a1", "proof": 1}, {"dominated": "a0", "proof": 2}, BOTH]),
    "value": (PLAIN, 12, [{"value": 2, "of": "a0", "like": 1, "rest": 2}, SECOND, SECOND]),
    "fixing": (PLAIN, 12, [{"fixing": 0, "above": 11, "proof": 1}, ALL], split(SHARES)),
    "listing": (PLAIN, 12, [{"listing": 0, "order": ["a1", "a0"], "above": 5, "most": 100}], split(SHARES)),
    "listing of no multipliers": (PLAIN, 12, [{"listing": 0, "order": [], "above": 11, "most": 100}], split({})),
    # A query has a multiplier on an attribute that none constrains, and falls short by that much elsewhere.
    "listing with an attribute that nobody asks for": (
        Problem([2, 2], [sets([0]), sets([1])], [5, 4]),
        5,
        [{"listing": 0, "order": ["a0"], "above": 0, "most": 10}],
        split({0: {"a0": 1, "a1": 4}, 1: {"a0": 4}}, 1),
    ),
    # The row (0, 1) weighs 6 without the second query, of which it has the value of the first attribute.
    "fixing of a query that is missed": (
        Problem([2, 2], [sets([0]), sets([0], [0]), sets(None, [1])], [5, 1, 1]),
        7,
        [{"fixing": 0, "above": 5, "proof": 1}, ALL],
        split({0: {"a0": 5}, 1: {"a0": 1}, 2: {"a1": 1}}, 1),
    ),
    "fixing of a low value": (
        MANY,
        6,
        [{"fixing": 0, "above": 5, "proof": 1}, ALL],
        split({0: {"a0": 4}, 1: {"a0": 3}, 2: {"a1": 3}}, 1),
    ),
    "fixing of the best value": (
        MORE,
        20,
        [{"fixing": 0, "above": 5, "proof": 1}, ALL],
        split({0: {"a0": 6}, 1: {"a0": 6}, 2: {"a0": 2}, 3: {"a1": 3}, 4: {"a1": 2}, 5: {"a0": 1}}, 1),
    ),
}


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_proof_is_accepted_and_not_for_a_unit_less(kind):
    problem, upper, *proof = HONEST[kind]
    check(problem, upper, *proof)
    with pytest.raises(CertificateError, match="the cases prove"):
        check(problem, upper - 1, *proof)


ORPHAN, OWN, LESS = "no parent before it", "not a child of its own", "the cases prove"

FORGED = {
    # A counted query that no part holds.
    "sum leaves out a query": (
        "leave out a counted",
        PLAIN,
        11,
        [{"sum": [part([0, 1], 1), part([3, 4, 5], 2)]}, ALL, SECOND],
    ),
    "sum of nothing": ("leave out a counted", PLAIN, 0, [{"sum": []}]),
    "parts leave out queries": ("leave out a counted", PARTED, 5, [{"parts": [part([0, 1], 1)]}, ALL]),
    "parts leave out a query": (
        "leave out a counted",
        PARTED,
        5,
        [{"parts": [part([0, 1], 1), part([2], 2)]}, ALL, ALL],
    ),
    "parts overlap": (
        "of different parts overlap",
        PLAIN,
        6,
        [{"parts": [part([0, 1, 2], 1), part([3, 4, 5], 2)]}, FIRST, SECOND],
    ),
    # One node as the child of two parents, or of one parent twice: it proves only one of the two, whichever that is.
    "a case for another, first": (
        OWN,
        PLAIN,
        10,
        [{"attribute": "a0", "cases": [case([3], 1), case([0, 1, 2], 1)]}, SECOND],
    ),
    "a case for another, last": (
        OWN,
        PLAIN,
        10,
        [{"attribute": "a0", "cases": [case([0, 1, 2], 1), case([3], 1)]}, SECOND],
    ),
    "in for out": (OWN, PLAIN, 11, [{"queries": [0], "in": 1, "out": 1}, SECOND]),
    "out for in": (OWN, PLAIN, 11, [{"queries": [2], "in": 1, "out": 1}, SECOND]),
    "a part for another, first": (OWN, PARTED, 5, [{"parts": [part([0, 1], 1), part([2, 3], 1)]}, ALL]),
    "a part for another, last": (OWN, PARTED, 5, [{"parts": [part([2, 3], 1), part([0, 1], 1)]}, ALL]),
    "a summand for another, first": (OWN, PLAIN, 4, [{"sum": [part([5], 1), part([0, 1, 2, 3, 4], 1)]}, ALL]),
    "a summand for another, last": (OWN, PLAIN, 4, [{"sum": [part([0, 1, 2, 3, 4], 1), part([5], 1)]}, ALL]),
    "two parents": (
        OWN,
        PLAIN,
        4,
        [{"sum": [part([0, 1, 2, 3, 4], 1), part([5], 2)]}, {"dominated": "a0", "keep": [0, 1, 2, 3], "proof": 2}, ALL],
    ),
    # Cycles, nodes without a parent, children that are not there.
    "its own child": (OWN, PLAIN, 0, [{"dominated": "a0", "keep": [0, 1, 2, 3], "proof": 0}]),
    "a cycle": (
        OWN,
        PLAIN,
        0,
        [{"dominated": "a0", "keep": [1, 2], "proof": 1}, {"dominated": "a1", "keep": [1, 3], "proof": 0}],
    ),
    "never reached": (ORPHAN, PLAIN, 12, [BOTH, ALL]),
    "never reached, with a child": (ORPHAN, PLAIN, 12, [BOTH, {"sum": [part([0], 2)]}, ALL]),
    "no such child": (OWN, PLAIN, 12, [{"dominated": "a0", "keep": [1, 2], "proof": 7}]),
    # A child that proves another subproblem.
    "summands swapped": (LESS, PLAIN, 12, [{"sum": [part([0, 1, 2], 2), part([3, 4, 5], 1)]}, FIRST, SECOND]),
    "parts swapped": (
        LESS,
        PARTED,
        7,
        [{"parts": [part([0, 1], 2), part([2, 3], 1)]}, ALL, {"cover": [{"weight": 7, "queries": [2]}]}],
    ),
    # Values and queries that are left out without a reason.
    "cases leave out values": (
        "leave out values",
        PLAIN,
        11,
        [{"attribute": "a0", "cases": [case([0, 1], 1)]}, SECOND],
    ),
    "no cases": ("leave out values", PLAIN, 0, [{"attribute": "a0", "cases": []}]),
    "a value that is not dominated": (
        "not dominated",
        PLAIN,
        10,
        [{"dominated": "a0", "keep": [3], "proof": 1}, SECOND],
    ),
    "no value is kept": ("not dominated", PLAIN, 0, [{"dominated": "a0", "keep": [], "proof": 1}, ALL]),
    "queries of different rows": ("different rows", PLAIN, 10, [{"queries": [5, 1], "in": 1, "out": 2}, FIRST, FIRST]),
    # Three queries accept the first value, and two the other, the heaviest among them.
    "a value that another makes up for in part": (
        LESS,
        Problem([3], [sets([0, 1]), sets([0]), sets([0, 2]), sets([1])], [1, 1, 1, 10]),
        3,
        [{"dominated": "a0", "proof": 1}, ALL],
    ),
    "a value that is not there": (
        "not in the domain",
        PLAIN,
        12,
        [{"value": 4, "of": "a0", "like": 1, "rest": 2}, SECOND, SECOND],
    ),
    "like for the rest": (OWN, PLAIN, 11, [{"value": 0, "of": "a0", "like": 1, "rest": 1}, SECOND]),
    "a fixing that claims less than it leaves out": (
        LESS,
        PLAIN,
        11,
        [{"fixing": 0, "above": 12, "proof": 1}, ALL],
        split(SHARES),
    ),
    "a fixing by multipliers of nothing": (LESS, PLAIN, 12, [{"fixing": 0, "above": 11, "proof": 1}, ALL], split({})),
    "a fixing by a larger scale": (
        LESS,
        PLAIN,
        12,
        [{"fixing": 0, "above": 11, "proof": 1}, ALL],
        split(SHARES, 4),
    ),
    # Two rows weigh 2 each: neither query is one that a row of more than 1 must satisfy.
    "a fixing that demands too much": (
        LESS,
        Problem([2], [sets([0]), sets([1])], [2, 2]),
        1,
        [{"fixing": 0, "above": 1, "proof": 1}, ALL],
        split({0: {"a0": 2}, 1: {"a0": 2}}, 1),
    ),
    "a listing that claims less than there is": (
        LESS,
        PLAIN,
        11,
        [{"listing": 0, "order": ["a0"], "above": 11, "most": 10}],
        split(SHARES),
    ),
    "a listing that leaves out what it claims": (
        LESS,
        PLAIN,
        11,
        [{"listing": 0, "order": ["a0"], "above": 12, "most": 10}],
        split(SHARES),
    ),
    "a listing by a larger scale": (
        LESS,
        PLAIN,
        11,
        [{"listing": 0, "order": ["a0"], "above": 11, "most": 10}],
        split(SHARES, 4),
    ),
    "a listing of more rows than it says": (
        "more than 1 partial rows",
        PLAIN,
        12,
        [{"listing": 0, "order": ["a0"], "above": 5, "most": 1}],
        split(SHARES),
    ),
    "a listing by an attribute that is not there": (
        "ill formed",
        PLAIN,
        12,
        [{"listing": 0, "order": ["a2"], "above": 5, "most": 10}],
        split(SHARES),
    ),
    "a listing above less than nothing": (
        "whole number",
        PLAIN,
        12,
        [{"listing": 0, "order": [], "above": -1, "most": 10}],
        split(SHARES),
    ),
    "a fixing above less than nothing": (
        "whole number",
        PLAIN,
        12,
        [{"fixing": 0, "above": -1, "proof": 1}, ALL],
        split(SHARES),
    ),
    "no queries": ("ill formed", PLAIN, 12, [{"queries": [], "in": 1, "out": 2}, BOTH, BOTH]),
    # Covers.
    "overlapping members": (
        "one cover set overlap",
        PLAIN,
        10,
        [{"cover": [{"weight": 3, "queries": [0, 1, 2]}, *SECOND["cover"]]}],
    ),
    "a member counts once": (LESS, PLAIN, 13, [{"cover": [{"weight": 1, "queries": [3] * 5}]}]),
    "a negative weight": ("whole number", PLAIN, 11, [{"cover": [*BOTH["cover"], {"weight": -1, "queries": []}]}]),
    # Multipliers.
    "multipliers short of a weight": (LESS, PLAIN, 12, [{"splitting": 0}], split(SHARES | {2: {}})),
    "multipliers of nothing": (LESS, PLAIN, 12, [{"splitting": 0}], split({})),
    "negative multipliers": ("whole number", PLAIN, 11, [{"splitting": 0}], split(SHARES | {2: {"a0": 12, "a1": -4}})),
    "a larger scale": (LESS, PLAIN, 12, [{"splitting": 0}], split(SHARES, 4)),
    "no scale": ("must be positive", PLAIN, 0, [{"splitting": 0}], split(SHARES, 0)),
    "a negative scale": ("whole number", PLAIN, 0, [{"splitting": 0}], split(SHARES, -2)),
    "no such multipliers": ("ill formed", PLAIN, 12, [{"splitting": 1}], split(SHARES)),
    # Multipliers by attribute.
    "columns of another unit": (LESS, PLAIN, 12, [{"splitting": 0}], in_columns(unit=1)),
    "a negative unit": ("whole number", PLAIN, 11, [{"splitting": 0}], in_columns(unit=-2)),
    "no unit": ("ill formed", PLAIN, 12, [{"splitting": 0}], [{"scale": 2, "shares": COLUMNS}]),
    "a column of negative multipliers": (
        "whole number",
        PLAIN,
        11,
        [{"splitting": 0}],
        in_columns(COLUMNS | {"a1": [[3, 4, 5, 2], [5, 1, 2, -4]]}),
    ),
    "a column without its last multiplier": (
        "3 queries and 2 multipliers",
        PLAIN,
        12,
        [{"splitting": 0}],
        in_columns(COLUMNS | {"a0": [[0, 1, 2], [3, 2]]}),
    ),
    "one multiplier for all": (
        "3 queries and 1 multipliers",
        PLAIN,
        12,
        [{"splitting": 0}],
        in_columns(COLUMNS | {"a0": [[0, 1, 2], [4]]}),
    ),
    "a column of a query that is not there": (
        "no query 6",
        PLAIN,
        12,
        [{"splitting": 0}],
        in_columns(COLUMNS | {"a0": [[0, 1, 6], [3, 2, 4]]}),
    ),
    "a column of no attribute": ("ill formed", PLAIN, 12, [{"splitting": 0}], in_columns({"a2": [[0], [3]]})),
    # No proof at all.
    "search": ("nothing was run again", PLAIN, 12, [{"search": True}]),
    "an unknown kind": ("has none of", PLAIN, 12, [{"trust": "me"}]),
    "no nodes": ("ill formed", PLAIN, 12, []),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_is_refused_for_its_own_reason(name):
    reason, *forged = FORGED[name]
    with pytest.raises(CertificateError, match=reason):
        check(*forged)


@pytest.mark.parametrize("query", [6, 64, 10**12, 2**70, 10**400])
def test_a_query_that_is_not_there_is_refused_at_once(query):
    """However large its number is: sets of queries are bits, and bits of such numbers would fill the memory."""
    shares = {q: s for q, s in SHARES.items() if q < 5} | {query: {"a1": 4}}
    for nodes in (
        [{"sum": [part([0, 1, 2], 1), part([3, 4, query], 2)]}, FIRST, SECOND],
        [{"parts": [part([*range(6), query], 1)]}, BOTH],
        [{"queries": [query], "in": 1, "out": 2}, SECOND, SECOND],
        [{"cover": [*FIRST["cover"], {"weight": 2, "queries": [3, query]}]}],
        [{"splitting": 0}],
    ):
        with pytest.raises(CertificateError):
            check(PLAIN, 12, nodes, split(shares))


def test_a_predicate_that_negates_thousands_of_times_is_refused():
    """What nests too deeply is an error of the certificate, not of the checker."""
    keep = [1, 2]
    for _ in range(5000):
        keep = {"not": {"not": keep}}
    with pytest.raises(CertificateError):
        check(PLAIN, 12, [{"dominated": "a0", "keep": keep, "proof": 1}, BOTH])


def test_a_value_that_64_queries_do_not_tell_apart_may_not_be_dropped():
    """The last of 70 queries accepts one value alone; all others accept it together with another one."""
    problem = Problem([3], [sets([0, 1])] * 69 + [sets([1])], [1] * 70)
    check(problem, 70, [{"dominated": "a0", "keep": [1], "proof": 1}, ALL])
    with pytest.raises(CertificateError, match="not dominated"):
        check(problem, 69, [{"dominated": "a0", "keep": [0, 2], "proof": 1}, ALL])


@pytest.mark.parametrize("scale", [1, 4, 2**10, 2**64])
def test_scores_beyond_64_bits_are_exact(scale):
    """About a third of the largest total each: in 64 bits their scaled sum wraps around to less than 0, and a float has
    no room for its last bit."""
    weights = [2**60 + 1, 2**60, 2**60]
    problem = Problem([3], [sets([0]), sets([0, 1]), sets([0, 1])], weights)
    # One falls short by a unit, so that no factor is common to all numbers.
    given = {query: {"a0": scale * weight - (query == 0)} for query, weight in enumerate(weights)}
    shares = split(given, scale)
    check(problem, sum(weights), [{"splitting": 0}], shares)
    with pytest.raises(CertificateError, match=LESS):
        check(problem, sum(weights) - 1, [{"splitting": 0}], shares)


@pytest.mark.parametrize("weight", [2**24, 2**53, 2**60])
def test_listed_rows_are_weighed_exactly(weight):
    """Just beyond what floats of 32 and of 64 bits hold, the last unit of a row still counts."""
    problem = Problem([3, 2], [sets([0]), sets([0, 1], [0]), sets([0, 1])], [weight + 1, weight, weight])
    total = 3 * weight + 1
    given = split({0: {"a0": weight + 1}, 1: {"a0": 1, "a1": weight - 1}, 2: {"a0": weight}}, 1)
    node = {"listing": 0, "order": ["a1"], "most": 100}
    for above in (0, total - 1, total):
        check(problem, total, [node | {"above": above}], given)
        with pytest.raises(CertificateError, match=LESS):
            check(problem, total - 1, [node | {"above": above}], given)


def test_rows_are_listed_in_blocks(monkeypatch):
    """However many of them are looked at together, none is lost: all are listed, as nothing rules any of them out."""
    draw = np.random.default_rng(11)
    for _ in range(60):
        monkeypatch.setattr(listing, "_BLOCK", int(draw.integers(1, 60)))
        problem = random_problem(draw)
        everything = tuple(frozenset(range(size)) for size in problem.sizes)
        truth, _ = problem.heaviest(everything, frozenset(range(len(problem.queries))))
        nodes = [{"listing": 0, "order": [], "above": 0, "most": 10**6}]
        check(problem, truth, nodes, split({}))
        if truth:
            with pytest.raises(CertificateError, match=LESS):
                check(problem, truth - 1, nodes, split({}))


def test_rows_of_too_many_attributes_are_not_listed():
    """Scores of each step would take the square of the attributes, hundreds of gigabytes here."""
    problem = Problem([2] * 3_000, [{a: frozenset([q % 2])} for q, a in enumerate([*range(3_000)] * 2)], [1] * 6_000)
    workload = problem.workload()
    row = dict.fromkeys(workload.domain.names, 0)
    certificate = {
        "parcomp": "certificate",
        "workload": workload_digest(workload),
        "lower": 0,
        "upper": 6_000,
        "row": row,
    }
    nodes = [{"listing": 0, "order": [], "above": 0, "most": 10}]
    with pytest.raises(CertificateError, match="too much room"):
        pc.verify(workload, certificate | {"proof": nodes, "multipliers": split({})})


JUNK = (None, True, False, 1.0, Decimal(1), "1", "", [], {}, [0], {"a0": 0}, -1, 0, 2**64, 10**400)


def paths(document, prefix=()):
    """Where a value stands in a document of lists and dictionaries."""
    yield prefix
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from paths(document[key], (*prefix, key))


def replaced(document, path, value):
    """A copy with another value at the path."""
    changed = copy.deepcopy(document)
    target = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed


@pytest.mark.parametrize("kind", HONEST)
def test_wrong_types_and_numbers_never_prove_too_much(kind):
    """Whatever stands in place of any part of a certificate, it proves the truth or is refused, and no more happens."""
    problem, upper, nodes, *multipliers = HONEST[kind]
    certificate = problem.certificate(nodes, *(multipliers or [[]]), upper)
    workload, truth = problem.workload(), amount_of(certificate["lower"])
    for path in list(paths(certificate))[1:]:
        whole = certificate
        for key in path:
            whole = whole[key]
        for junk in JUNK:
            try:
                verdict = pc.verify(workload, replaced(certificate, path, junk))
            except CertificateError:
                continue
            assert verdict.lower <= truth <= verdict.upper
            # A boolean is no number, though Python takes it for one.
            assert not (isinstance(junk, bool) and type(whole) is int)


@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_finds_the_bound_of_the_definitions(kind):
    """Random proofs of all kinds, with 62-bit weights: accepted for the bound they prove, refused for a unit less."""
    draw = np.random.default_rng(KINDS.index(kind))
    for _ in range(60):
        maker = ProofMaker(random_problem(draw), draw)
        bound = maker.prove(kind)
        check(maker.problem, bound, maker.nodes, maker.multipliers)
        if bound:
            with pytest.raises(CertificateError, match="the cases prove"):
                check(maker.problem, bound - 1, maker.nodes, maker.multipliers)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_beyond_one_word(kind):
    """More than 64 values, of which the first few are not enough to settle a step, and more than 64 queries."""
    draw = np.random.default_rng(100 + KINDS.index(kind))
    for _ in range(12 if kind in {"fixing", "dominated", "value"} else 4):
        maker = ProofMaker(random_problem(draw, wide=True), draw, depth=1)
        bound = maker.prove(kind)
        check(maker.problem, bound, maker.nodes, maker.multipliers)
        if bound:
            with pytest.raises(CertificateError, match="the cases prove"):
                check(maker.problem, bound - 1, maker.nodes, maker.multipliers)


def spoil(maker, number, draw):
    """Change a node so that its step is no longer valid; False where the node leaves nothing to spoil."""
    node, problem = maker.nodes[number], maker.problem
    box, counted = maker.places[number]
    live = problem.live(box, counted)
    if "attribute" in node:
        values = box[int(node["attribute"][1:])]
        if not values:
            return False
        lost = draw.choice(sorted(values))
        for entry in node["cases"]:
            entry["in"] = [value for value in entry["in"] if value != lost]
    elif "queries" in node:
        inside = problem.within(node["queries"][0], box)
        others = [q for q in range(len(problem.queries)) if problem.within(q, box) != inside]
        if not others:
            return False
        node["queries"] = [*node["queries"], int(draw.choice(others))]
    elif "dominated" in node:
        attribute = int(node["dominated"][1:])
        if "keep" not in node:
            return False
        seen_by = maker.seen_by(attribute, box, counted)
        top = [v for v in seen_by if not any(seen_by[v] < seen_by[u] for u in seen_by)]
        if not top:
            return False
        lost = seen_by[draw.choice(sorted(top))]
        node["keep"] = [value for value in node["keep"] if seen_by.get(value) != lost]
    elif "parts" in node or "sum" in node:
        if not live:
            return False
        lost = draw.choice(live)
        for entry in node.get("parts") or node["sum"]:
            entry["queries"] = [query for query in entry["queries"] if query != lost]
    elif "cover" in node:
        close = [(p, q) for p in live for q in live if p < q and not problem.disjoint(p, q, box)]
        if not close:
            return False
        node["cover"].append({"weight": 0, "queries": list(close[draw.integers(len(close))])})
    else:
        return False
    return True


def test_a_step_that_is_not_valid_is_refused_wherever_it_stands():
    """The claim is the total, which any bound meets: only the step itself can be the reason."""
    draw = np.random.default_rng(7)
    spoilt = dict.fromkeys(KINDS, 0)
    for _ in range(600):
        maker = ProofMaker(random_problem(draw), draw)
        maker.prove()
        number = int(draw.integers(len(maker.nodes)))
        kind = next(iter(maker.nodes[number]))
        if spoil(maker, number, draw):
            spoilt[kind] += 1
            with pytest.raises(CertificateError, match=r"leave out|different|not dominated|overlap"):
                check(maker.problem, 2**62 * len(maker.nodes), maker.nodes, maker.multipliers)
    # Of the others the checker finds out by itself what they leave.
    assert min(count for kind, count in spoilt.items() if kind not in {"value", "fixing", "splitting", "listing"}) >= 10


def test_exchanged_pieces_never_prove_too_much():
    """Subtrees, sets and numbers of one proof in the place of others: what is accepted is no less than the truth."""
    assert exchange(8, 120) > 50


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["value", "fixing", "dominated", "splitting", "listing"])
def test_many_exchanged_pieces_never_prove_too_much(kind):
    """At least 10,000 forgeries of proofs that begin with each of these steps."""
    assert exchange(KINDS.index(kind), 1_000, kind) > 500


def exchange(seed, makers, kind=None):
    """Forge a dozen proofs from each of so many honest ones; how many of them still prove something."""
    draw = np.random.default_rng(seed)
    accepted = 0
    for _ in range(makers):
        maker = ProofMaker(random_problem(draw), draw, depth=2)
        bound = maker.prove(kind)
        certificate = maker.problem.certificate(maker.nodes, maker.multipliers, bound)
        workload, truth = maker.problem.workload(), certificate["lower"]
        if not truth:
            continue
        places = [path for path in paths(certificate) if path and path[0] in {"proof", "multipliers"}]
        for _ in range(12):
            target, source = (places[i] for i in draw.integers(len(places), size=2))
            piece = certificate
            for key in source:
                piece = piece[key]
            forged = replaced(certificate, target, piece)
            try:
                # One less than what any row proves: nothing may prove it.
                pc.verify(workload, forged | {"lower": 0, "upper": truth - 1})
            except CertificateError:
                pass
            else:
                pytest.fail("a bound below the maximum overlap was accepted")
            try:
                pc.verify(workload, forged | {"upper": 2**70})
            except CertificateError:
                continue
            accepted += 1
    return accepted

"""Compiling keeps the overlap: each row of the domain is held against the compiled workload."""

from __future__ import annotations

from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given

from parcomp.bits import pack_bits
from parcomp.costs import Cost
from parcomp.errors import CostError, SizeError
from parcomp.model import compile as compile_module
from parcomp.model.attribute import Categorical, Integer
from parcomp.model.compile import Compilation, compile_workload
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
from tests.property.strategies import many, tiny_workloads, workloads
from tests.workloads import SHAPES, random_wide


def overlaps(workload: Workload) -> dict[tuple[int, ...], frozenset[int]]:
    """For each row, by its codes, the queries that it satisfies, by asking each predicate."""
    sizes = [attribute.size for attribute in workload.domain.attributes.values()]
    queries = [query.terms for query in workload]
    return {
        row: frozenset(i for i, terms in enumerate(queries) if all(row[a] in predicate for a, predicate in terms))
        for row in product(*(range(size) for size in sizes))
    }


def compiled_overlaps(compilation: Compilation) -> dict[tuple[int, ...], frozenset[int]]:
    compiled = compilation.compiled
    return {
        row: frozenset(compilation.queries[compiled.members(np.array(row, np.int32))].tolist())
        for row in product(*(range(size) for size in compiled.sizes.tolist()))
    }


def check_invariants(compilation: Compilation) -> None:
    compiled = compilation.compiled
    for query in range(compiled.query_count):
        attributes = compiled.mask_attribute[compiled.term[compiled.start[query] : compiled.start[query + 1]]].tolist()
        assert attributes == sorted(set(attributes))
    assert (np.diff(compiled.mask_attribute) >= 0).all()
    masks = [compiled.mask_bits(mask) for mask in range(len(compiled.mask_attribute))]
    assert all(mask.any() and not mask.all() for mask in masks)
    named = {
        (attribute, mask.tobytes()) for attribute, mask in zip(compiled.mask_attribute.tolist(), masks, strict=True)
    }
    assert len(named) == len(masks)
    for position, mask in enumerate(masks):
        words = compiled.mask_words[compiled.mask_offset[position] : compiled.mask_offset[position + 1]]
        assert len(words) == (len(mask) + 63) // 64
        assert sum(int(word).bit_count() for word in words) == mask.sum()
    assert (compiled.weights > 0).all()


@many
@given(tiny_workloads())
def test_every_overlap_stays_and_none_is_added(workload: Workload) -> None:
    compilation = compile_workload(workload)
    check_invariants(compilation)
    original, compiled = overlaps(workload), compiled_overlaps(compilation)
    assert set(compiled.values()) == set(original.values())
    # A row of merged values stands for a row of the domain that satisfies the same queries.
    for row, members in compiled.items():
        assert original[tuple(compilation.row_codes(np.array(row, np.int32)))] == members


@many
@given(workloads())
def test_maximum_overlap_and_weights_are_those_of_the_workload(workload: Workload) -> None:
    units = workload.additive_units().tolist()
    compilation = compile_workload(workload)
    compiled = compilation.compiled
    kept = [units[position] for position in compilation.queries.tolist()]
    assert [weight * compilation.unit for weight in compiled.weights.tolist()] == kept
    assert compilation.unit == (gcd(*kept) if kept else 1)
    best = max(sum(units[i] for i in members) for members in overlaps(workload).values())
    row, members = max(compiled_overlaps(compilation).items(), key=lambda item: sum(units[i] for i in item[1]))
    assert compiled.weigh(np.array(row, np.int32)) * compilation.unit == best
    witness = workload.domain.row(compilation.row_codes(np.array(row, np.int32)))
    assert {position for position, query in enumerate(workload) if query.covers(witness)} == members


@many
@given(tiny_workloads())
def test_contradictions_and_only_they_are_dropped(workload: Workload) -> None:
    kept = [position for position, query in enumerate(workload) if not query.is_contradiction]
    assert compile_workload(workload).queries.tolist() == kept


@many
@given(tiny_workloads())
def test_values_that_no_predicate_tells_apart_are_one(workload: Workload) -> None:
    compilation = compile_workload(workload)
    queries = [workload[position] for position in compilation.queries.tolist()]
    for index, attribute in enumerate(workload.domain.attributes.values()):
        predicates = [predicate for query in queries for a, predicate in query.terms if a == index]
        classes = {tuple(code in predicate for predicate in predicates) for code in range(attribute.size)}
        assert compilation.compiled.sizes[index] == len(classes)
        assert (np.diff(compilation.codes[index]) > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_more_predicates_and_values_than_a_word_holds(shape: str) -> None:
    """65 to 300 of both: a merged value for each distinct column, and rows satisfy what they did."""
    draw = np.random.default_rng(SHAPES.index(shape))
    for _ in range(4):
        wide = random_wide(draw, shape, contradictions=True)
        compilation = compile_workload(wide.workload())
        compiled = compilation.compiled
        check_invariants(compilation)
        kept = [query for query in wide.queries if all(query.values())]
        for index, size in enumerate(wide.sizes):
            sets = [query[index] for query in kept if index in query]
            assert compiled.sizes[index] == len(
                {tuple(value in accepted for accepted in sets) for value in range(size)}
            )
        for _ in range(30):
            row = draw.integers(0, compiled.sizes).astype(np.int32)
            members = compilation.queries[compiled.members(row)].tolist()
            assert members == wide.members(compilation.row_codes(row))


def test_second_ranges_tell_values_apart() -> None:
    """Where predicates meet only in a later range of each, the values there are not merged with those around."""
    domain = Domain({"a": Integer(0, 99)})
    asked = [[3, {"from": 50, "to": 59}], [{"from": 20, "to": 30}, {"from": 55, "to": 60}], [7, 56]]
    workload = Workload(domain, [domain.query(a=written) for written in asked])
    compilation = compile_workload(workload)
    check_invariants(compilation)
    assert set(compiled_overlaps(compilation).values()) == set(overlaps(workload).values())
    assert frozenset({0, 1, 2}) in compiled_overlaps(compilation).values()


def test_merging_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain({"a": Integer(0, 29), "b": Integer(0, 79)})
    queries = [domain.query(a=list(range(start, 30, 7)), b=list(range(start, 80, 3))) for start in range(7)]
    workload = Workload(domain, [*queries, domain.query(b={"from": 5, "to": 9}), domain.query(a=[])])
    merged = compile_workload(workload)
    monkeypatch.setattr(compile_module, "_MERGE_LIMIT", 0)
    plain = compile_workload(workload)
    check_invariants(plain)
    assert plain.compiled.sizes.tolist() == [30, 80]
    assert plain.compiled.sizes.sum() > merged.compiled.sizes.sum()
    assert set(compiled_overlaps(plain).values()) == set(compiled_overlaps(merged).values())


def test_intervals_stay_intervals() -> None:
    domain = Domain({"a": Integer(0, 10**6)})
    spans = [(5, 900_000), (17, 20), (18, 400), (0, 5), (399, 10**6)]
    compiled = compile_workload(Workload(domain, [domain.query(a=[{"from": a, "to": b}]) for a, b in spans])).compiled
    for mask in range(len(compiled.mask_attribute)):
        inside = np.flatnonzero(compiled.mask_bits(mask))
        assert (np.diff(inside) == 1).all()


def test_a_huge_attribute_is_compiled_by_its_edges() -> None:
    domain = Domain({"a": Integer(0, 2 * 10**9), "b": Categorical(["x", "y"])})
    asked = [{"a": [5, 10**9]}, {"a": {"not": 5}}, {"a": {"from": 10, "to": 10**9}}, {"b": "x"}]
    compilation = compile_workload(Workload(domain, [domain.query(where) for where in asked]))
    assert compilation.compiled.sizes.tolist() == [4, 2]
    assert compilation.codes[0].tolist() == [0, 5, 10, 10**9]


def test_a_workload_without_satisfiable_queries_compiles_to_nothing() -> None:
    domain = Domain({"a": Integer(0, 9)})
    for queries in ([], [domain.query(a=[])]):
        compiled = compile_workload(Workload(domain, queries)).compiled
        assert (compiled.query_count, compiled.total, compiled.sizes.tolist()) == (0, 0, [1])
        assert compiled.members(np.zeros(1, np.int32)).tolist() == []


def test_queries_over_every_row_are_kept_without_masks() -> None:
    domain = Domain({"a": Integer(0, 9)})
    compiled = compile_workload(Workload(domain, [domain.query(), domain.query()], [2, 3])).compiled
    assert compiled.members(np.zeros(1, np.int32)).tolist() == [0, 1]
    assert compiled.total == 5


def test_weights_that_do_not_add_up_in_64_bits_are_an_error() -> None:
    domain = Domain({"a": Integer(0, 9)})
    large = [Cost("weight", 2**61), Cost("weight", 2**61 + 1)]
    with pytest.raises(CostError, match="64 bits"):
        compile_workload(Workload(domain, [domain.query(a=1)] * 2, large))


@pytest.mark.parametrize("merge_limit", [0, 2**28])
def test_masks_beyond_memory_are_an_error(merge_limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain({"a": Integer(0, 99)})
    workload = Workload(domain, [domain.query(a=list(range(start, 100, 7))) for start in range(7)])
    monkeypatch.setattr(compile_module, "_MERGE_LIMIT", merge_limit)
    monkeypatch.setattr(compile_module, "_WORD_LIMIT", 6)
    with pytest.raises(SizeError, match="4 GiB"):
        compile_workload(workload)


@pytest.mark.parametrize("size", [1, 7, 8, 63, 64, 65, 200])
def test_bits_are_packed_lowest_first(size: int) -> None:
    flags = np.random.default_rng(size).random((5, size)) < 0.5
    packed = pack_bits(flags)
    assert packed.shape == (5, (size + 63) // 64)
    for row, words in zip(flags, packed, strict=True):
        number = sum(int(word) << (64 * position) for position, word in enumerate(words))
        assert number == sum(1 << position for position in np.flatnonzero(row).tolist())

"""Atoms against every row."""

import numpy as np
import pytest

from parcomp.planning.strategies import atoms
from parcomp.planning.strategies.atoms import list_atoms
from parcomp.planning.strategies.charge import group_queries
from parcomp.samples import census_sample
from tests.workloads import random_judged


def judged(count, seed=3):
    draw = np.random.default_rng(seed)
    while count:
        one = random_judged(draw)
        found = group_queries(one.workload)
        if len(found[1]):
            count -= 1
            yield one, *found


def leaves(part):
    """The leaves of a tree of parts."""
    return [part] if part.kind == "leaf" else [leaf for below in part.parts for leaf in leaves(below)]


def sets(found):
    return {tuple(one.tolist()) for one in np.split(found.index, found.start[1:-1])}


def test_every_set_of_queries_that_a_row_satisfies_is_an_atom():
    """No set is missing, none is there twice, and none is made up."""
    for one, part, queries, group_of in judged(150):
        found = list_atoms(part.compiled)
        first = np.unique(group_of, return_index=True)[1]
        expected = {tuple(np.flatnonzero(row).tolist()) for row in one.satisfied()[:, queries[first]] if row.any()}
        assert sets(found) == expected
        assert len(found) == len(expected)
        sizes = [sum(query in atom for atom in expected) for query in range(len(first))]
        assert found.sizes().tolist() == sizes


def test_parts_hold_every_query_once():
    """The leaves are a partition of the groups, each with its own atoms; no row is in two parts of a max."""
    split = 0
    for one, part, queries, group_of in judged(200, seed=4):
        found = leaves(part)
        assert sorted(np.concatenate([leaf.queries for leaf in found]).tolist()) == list(range(len(part.queries)))
        first = np.unique(group_of, return_index=True)[1]
        rows = one.satisfied()[:, queries[first]]
        for leaf in found:
            expected = {tuple(np.flatnonzero(row).tolist()) for row in rows[:, leaf.queries] if row.any()}
            assert sets(list_atoms(leaf.compiled)) == expected
        if part.kind == "max":
            touched = np.array([rows[:, below.queries].any(axis=1) for below in part.parts])
            assert (touched.sum(axis=0) <= 1).all()
        split += part.kind != "leaf"
    assert split > 10


def test_some_queries_have_the_atoms_that_are_left_of_all():
    found = list_atoms(group_queries(census_sample(40, 1))[0].compiled)
    some = np.array([3, 0, 17])
    member = np.zeros((len(found), 40), np.bool_)
    member[np.repeat(np.arange(len(found)), np.diff(found.start)), found.index] = True
    inner = found.within(some)
    assert [tuple(one.tolist()) for one in np.split(inner.index, inner.start[1:-1])] == [
        tuple(position for position in np.argsort(some).tolist() if row[some[position]]) for row in member
    ]


@pytest.mark.parametrize(("name", "limit"), [("_CANDIDATES", 500), ("ATOM_LIMIT", 50), ("WORD_LIMIT", 50)])
def test_too_many_are_not_listed(monkeypatch, name, limit):
    compiled = group_queries(census_sample(60, 1))[0].compiled
    assert len(list_atoms(compiled)) > 50
    whole = sets(list_atoms(compiled))
    monkeypatch.setattr(atoms, name, limit)
    assert list_atoms(compiled) is None
    monkeypatch.undo()
    monkeypatch.setattr(atoms, "_CHUNK", 100)
    assert sets(list_atoms(compiled)) == whole

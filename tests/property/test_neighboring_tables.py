"""Neighboring tables by brute force: what moves, moves by no more than its noise is made for, and was charged for.

Small tables of stored values, many of them outside the domain, are encoded as they are in a custodian.  Of each table
all neighbors are taken, under both relations and for several rows of a person, and all numbers of random statements of
every kind are judged row by row in plain Python; samples are measured by the real counting and seen to be equal.  What
a neighbor discloses follows from by how much each number moves and from the noise that a release has for it.  It is
held against the maximum overlap of the charged queries, taken over every row of the domain.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from parcomp.custodian import Settings
from parcomp.custodian.accountant import Account
from parcomp.custodian.division import Share
from parcomp.custodian.release import Release
from parcomp.data.codes import counting
from parcomp.errors import DataError
from parcomp.model.attribute import Attribute, Categorical, Integer, Stepped
from parcomp.model.condition import Condition
from parcomp.model.domain import Domain
from parcomp.model.statement import Aggregate, AggregateKind, Item, Statement
from parcomp.noise import Mechanism, steps_of
from parcomp.noise.noisy_search import Course
from parcomp.privacy import Measure, Neighbours, discrete_gaussian_mu
from parcomp.privacy.measures import MEASURES
from tests.data.coded_rows import IMPRINT, Codes, batches_of, grouped_values
from tests.data.memory_codes import MemoryStore
from tests.data.stored_worlds import World, domain_rows, random_world
from tests.soak import shared_with_soak

ONE = 10**9
"""So many units are 1."""

MOST_ROWS = 3
"""Of one person."""

POOL = 14
TABLES = 40
WORLDS = 30

Moves = npt.NDArray[np.int64]
Rows = Sequence[int]


@cache
def mu_squared(scale: float) -> float:
    return discrete_gaussian_mu(scale) ** 2


def spent(noise: Mechanism, measure: Measure, moves: Moves) -> npt.NDArray[np.float64]:
    """What it discloses that a number with this noise moves so far, in the measure's additive unit."""
    match measure.name:
        case "pure":
            return np.abs(moves) / noise.scale
        case "zcdp":
            return moves.astype(np.float64) ** 2 / (2 * noise.scale**2)
        case _:
            return moves.astype(np.float64) ** 2 * mu_squared(noise.scale)


def spent_by_search(noise: Mechanism, measure: Measure, moves: Moves) -> npt.NDArray[np.float64]:
    """The most that a search discloses, on whichever way, if its numbers move so far: a row of ``moves`` each."""
    each = spent(noise, measure, moves)
    return np.max([each[:, list(way)].sum(axis=1) for way in ways(moves.shape[1] + 1)], axis=0)


@cache
def ways(size: int) -> set[frozenset[int]]:
    """All that a search among so many values may ask for, whatever numbers it gets and wherever they end to tell."""
    found = set()
    left: list[list[int]] = [[]]
    while left:
        numbers = left.pop()
        course = Course.start(size, 1, steps_of(size))
        asked = []
        for number in numbers:
            asked.append(course.place)
            course.tell(number)
        if course.place is None:
            found.add(frozenset(asked))
        else:
            # Beyond the width and within it, on both sides.
            left += [[*numbers, number] for number in (-2, -1, 0, 1)]
    return found


@dataclass(frozen=True)
class Part:
    """The numbers of one aggregate, of the statement ``owner``: so many in each group.

    ``added`` are what rows add up to, from which numbers follow: of different values how many rows have each.
    """

    owner: int
    aggregate: Aggregate
    width: int
    values: range
    added: slice
    numbers: slice

    @classmethod
    def of(cls, owner: int, statement: Statement, aggregate: Aggregate, before: Part | None) -> Part:
        width, values, many = 1, range(0), statement.group_count
        if aggregate.kind == "distinct":
            attribute = statement.domain.attributes[aggregate.attribute]
            first = 0 if attribute.scale is None else attribute.scale.base
            values = range(first, first + attribute.null)
        elif aggregate.kind == "ranks":
            width = aggregate.high - aggregate.low
        added, numbers = (0, 0) if before is None else (before.added.stop, before.numbers.stop)
        ends = added + many * (len(values) or width), numbers + many * width
        return cls(owner, aggregate, width, values, slice(added, ends[0]), slice(numbers, ends[1]))

    def effect(self, statement: Statement, codes: Codes) -> list[int]:
        """What a row adds."""
        return [n for values in grouped_values([codes], statement, self.aggregate) for n in self._added(values)]

    def _added(self, values: list[Any]) -> list[int]:
        aggregate, center = self.aggregate, self.aggregate.center
        match aggregate.kind:
            case "rows":
                return [len(values)]
            case "sum":
                return [sum(value - center for value in values)]
            case "squares":
                largest = max(abs(aggregate.low - center), abs(aggregate.high - center), 1) ** 2
                return [sum((value - center) ** 2 - largest // 2 for value in values)]
            case "ranks":
                p, q = aggregate.at.numerator, aggregate.at.denominator
                below = [sum(value <= v for value in values) for v in range(aggregate.low, aggregate.high)]
                return [(q - p) * one - p * (len(values) - one) for one in below]
        assert all(value in self.values for value in values)
        return [values.count(value) for value in self.values]

    def found(self, added: Moves) -> Moves:
        """The numbers that follow from what rows have added up to, table by table."""
        mine = added[..., self.added]
        if self.aggregate.kind != "distinct":
            return mine
        each = (*mine.shape[:-1], mine.shape[-1] // len(self.values), len(self.values))
        return (mine.reshape(each) > 0).sum(axis=-1)

    def flat(self, measured: Sequence[Any]) -> list[int]:
        """The numbers of what was measured."""
        if self.aggregate.kind != "ranks":
            return list(measured)
        return [
            n for rows in measured for n in self._added([value for value, many in rows.items() for _ in range(many)])
        ]

    def groups(self, moves: Moves) -> Moves:
        """How far all numbers of each group move, table by table."""
        return moves[:, self.numbers].reshape(len(moves), -1, max(self.width, 1))

    def spent(self, share: Share, measure: Measure, moves: Moves) -> npt.NDArray[np.float64]:
        """What is disclosed by how far the numbers move, table by table."""
        if not self.width or self.numbers.start == self.numbers.stop:
            return np.zeros(len(moves))
        if self.aggregate.kind != "ranks":
            return spent(share.mechanism, measure, moves[:, self.numbers]).sum(axis=1)
        mine = self.groups(moves)
        searches = spent_by_search(share.mechanism, measure, mine.reshape(-1, self.width))
        return searches.reshape(mine.shape[:2]).sum(axis=1)


class Judge:
    """What each row of a world's pool adds to each number, and what may be disclosed by the charges."""

    def __init__(self, world: World, costs: Sequence[int]) -> None:
        self.world = world
        self.costs = [0 if s.query.is_contradiction else cost for s, cost in zip(world.statements, costs, strict=True)]
        self.codes = world.codes(world.pool)
        self._known: dict[Codes, Moves] = {}
        self.sharp: set[tuple[str, str]] = set()
        """Of which kinds some number discloses all that its share was charged for, under which relation."""
        self.parts: list[Part] = []
        for number, statement in enumerate(world.statements):
            for aggregate in statement.aggregates:
                before = self.parts[-1] if self.parts else None
                self.parts.append(Part.of(number, statement, aggregate, before))
        self.effects = np.array([self.effect(codes) for codes in self.codes])
        self.rows = domain_rows(world.domain)
        self.covered = np.ones((len(self.rows), len(world.statements)), np.bool_)
        for number, statement in enumerate(world.statements):
            for index, predicate in statement.query.terms:
                self.covered[:, number] &= predicate.flags()[self.rows[:, index]]
        self.gamma = int((self.covered * np.array(self.costs)).sum(axis=1).max())
        self.replaced = sum(s.touched * cost for s, cost in zip(world.statements, self.costs, strict=True))

    def effect(self, codes: Codes) -> Moves:
        """What a row adds, for all numbers one after the other."""
        if codes not in self._known:
            added = [n for part in self.parts for n in part.effect(self.world.statements[part.owner], codes)]
            self._known[codes] = np.array(added, np.int64)
        return self._known[codes]

    def numbers(self, rows: Rows) -> Moves:
        """All numbers of a table of rows of the pool."""
        return self.found(np.asarray(self.effects[list(rows)].sum(axis=0)))

    def found(self, added: Moves) -> Moves:
        """All numbers that follow from what rows have added up to."""
        return np.concatenate([part.found(added) for part in self.parts], axis=-1)

    def flat(self, measured: Sequence[Sequence[Sequence[Any]]]) -> list[int]:
        """All numbers of what was measured."""
        found = [numbers for statement in measured for numbers in statement]
        return [n for part, numbers in zip(self.parts, found, strict=True) for n in part.flat(numbers)]

    def most(self, relation: Neighbours) -> int:
        """The most that is charged against one row, in units."""
        return self.gamma if relation is Neighbours.ADD_REMOVE else min(2 * self.gamma, self.replaced)

    def check(self, moves: Moves, relation: Neighbours, rows: int) -> set[str]:
        """Hold neighbors, each by how far it moves every number, against the charges; says for which measures some
        neighbor discloses all that was charged for.
        """
        reached = set()
        replacing = relation is Neighbours.REPLACE_ONE
        if not moves.shape[1] or not len(moves):
            return reached
        for part in self.parts:
            touched = self.world.statements[part.owner].touched if replacing else 1
            assert part.groups(moves).any(axis=2).sum(axis=1).max(initial=0) <= touched * rows
            assert self.costs[part.owner] or not moves[:, part.numbers].any()
        for measure in MEASURES.values():
            disclosed = np.zeros((len(moves), len(self.costs)))
            releases = self._releases(measure, relation)
            shares = [share for release in releases for share in release.shares]
            for part, share in zip(self.parts, shares, strict=True):
                mine = part.spent(share, measure, moves)
                disclosed[:, part.owner] += mine
                if rows == 1 and mine.max() >= share.units / ONE * (1 - 1e-6):
                    self.sharp.add((part.aggregate.kind, relation))
            for number, release in enumerate(releases):
                touched = release.statement.touched if replacing else 1
                limit = measure.group(touched * self.costs[number], rows) / ONE
                assert disclosed[:, number].max() <= limit * (1 + 1e-12)
            limit = measure.group(self.most(relation), rows) / ONE
            worst = disclosed.sum(axis=1).max()
            assert worst <= limit * (1 + 1e-12)
            if worst >= limit * (1 - 1e-6) > 0:
                reached.add(measure.name)
        return reached

    def check_coverage(self) -> None:
        """Some row of the domain, which agrees with a stored row wherever that is inside, is in all that it moves."""
        sizes = np.array([attribute.size for attribute in self.world.domain.attributes.values()])
        for codes in set(self.codes):
            moved = {part.owner for part in self.parts if self.effect(codes)[part.added].any()}
            mine = np.array(codes)
            agreeing = ((self.rows == mine) | (mine == sizes)).all(axis=1)
            assert (agreeing & self.covered[:, sorted(moved)].all(axis=1)).any()

    def check_account(self) -> None:
        """The accountant's loss is the one by brute force."""
        for relation in Neighbours:
            account = Account("the budget", self.world.domain, 10**15, relation)
            for release in self._releases(MEASURES["pure"], relation):
                if not release.statement.query.is_contradiction:
                    account.restore([(release.expense, account.judge(release.expense).upper)])
            assert account.loss == self.most(relation)

    def _releases(self, measure: Measure, relation: Neighbours) -> list[Release]:
        settings = replace(SETTINGS, domain=self.world.domain, measure=measure, neighbours=relation)
        # A contradiction is released without noise, and moves nothing.
        return [
            Release.plan(settings, s, cost or ONE) for s, cost in zip(self.world.statements, self.costs, strict=True)
        ]


SETTINGS = Settings(
    name="people",
    version="1",
    source="people.csv",
    domain=Domain({"sex": Categorical(["F", "M"])}),
    measure=MEASURES["pure"],
    budget_units=ONE,
    ledger="sqlite:///nowhere",
)


def random_judge(chance: random.Random) -> Judge:
    world = random_world(chance, POOL, statements=6)
    return Judge(world, [chance.choice([1, 2, 3]) * ONE // 2 for _ in world.statements])


def check_measured(judge: Judge, tables: Sequence[Rows]) -> None:
    """Both ways of counting, on tables that are encoded each by itself, measure what the judge says."""
    world, store = judge.world, MemoryStore()
    for rows in tables:
        stored = [world.pool[row] for row in rows]
        table = store.make(world.domain, world.encoded(stored), IMPRINT)
        for most in (0, 24):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(counting, "FEW_CONDITIONS", most)
                patch.setattr(counting, "_FEW_TERMS", 400 if most else -1)
                assert judge.flat(table.measure(world.statements)) == judge.numbers(rows).tolist()
    store.close()


@pytest.mark.parametrize("chunk", shared_with_soak(24, left=15))
def test_no_neighbor_moves_a_number_further_or_elsewhere_than_was_charged_for(chunk):
    """1,200 tables a chunk, 10,800 for ``make test`` and 28,800 in all, each with all its neighbors.

    Every row is removed, every row that there can be, with values outside too, is added, and every row is replaced by
    each of these.
    """
    found = check_neighbors(chunk)
    assert found.tables == WORLDS * TABLES
    assert found.neighbors > 50 * found.tables
    # What is charged is no more than what some neighbor discloses, so the checks are as sharp as can be.
    for case in product(MEASURES, Neighbours, range(1, MOST_ROWS + 1)):
        assert found.reached[case]
    assert found.sharp == set(product(get_args(AggregateKind), Neighbours))
    assert found.outside > WORLDS
    assert found.moved_outside > WORLDS / 3


@pytest.mark.parametrize("size", [2, 5, 8, 12])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_no_way_through_a_search_discloses_more_than_was_charged_for(relation, size):
    """Every way through searches that go on for both sides, on random tables, for every row that comes or changes."""
    chance = random.Random(size)
    domain = Domain({"age": Integer(0, size - 1)})
    for measure, at in product(MEASURES.values(), (Fraction(1, 2), Fraction(9, 10), Fraction(1))):
        asked = Statement(Condition.of(domain.query()), (Item("quantile", "age", at),))
        settings = replace(SETTINGS, domain=domain, measure=measure, neighbours=relation)
        [share] = Release.plan(settings, asked, ONE).shares
        part = Part.of(0, asked, share.aggregate, None)
        table = [chance.randrange(size) for _ in range(6)]
        rows = [np.array(part.effect(asked, (age,))) for age in range(size)]
        gone = [-rows[age] for age in table]
        moves = gone + rows if relation is Neighbours.ADD_REMOVE else [one + row for one in gone for row in rows]
        disclosed = spent_by_search(share.mechanism, measure, np.array(moves)).max()
        assert disclosed <= 1 + 1e-12
        # Where all numbers move by the most there can be, all that was charged for is used up.
        assert disclosed >= 1 - 1e-6 or relation is Neighbours.REPLACE_ONE


@dataclass
class Checked:
    """What was looked at: tables, their neighbors, and of persons of several rows; what reached its bound."""

    tables: int = 0
    neighbors: int = 0
    persons: int = 0
    outside: int = 0
    moved_outside: int = 0
    reached: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    sharp: set[tuple[str, str]] = field(default_factory=set)

    def hold(self, judge: Judge, moves: Moves, relation: Neighbours, rows: int) -> None:
        """Hold neighbors, by how far they move every number, against the charges."""
        for measure in judge.check(different(moves), relation, rows):
            self.reached[measure, relation, rows] += 1


def check_neighbors(chunk: int) -> Checked:
    """The tables of a chunk, held against all their neighbors."""
    chance = random.Random(f"rows {chunk}")
    found = Checked()
    for _ in range(WORLDS):
        judge = random_judge(chance)
        judge.check_coverage()
        judge.check_account()
        sizes = [attribute.size for attribute in judge.world.domain.attributes.values()]
        every = list(product(*(range(size + 1) for size in sizes)))
        effects = np.array([judge.effect(codes) for codes in every])
        strange = [i for i, codes in enumerate(every) if any(map(int.__eq__, codes, sizes))]
        found.outside += len(strange)
        found.moved_outside += int(effects[strange].any(axis=1).sum())
        tables = [chance.choices(range(POOL), k=chance.randint(0, 6)) for _ in range(TABLES)]
        moves: dict[Neighbours, list[Moves]] = {relation: [] for relation in Neighbours}
        for table in tables:
            whole = judge.effects[table].sum(axis=0)
            base = judge.found(whole)
            less = whole - judge.effects[table]
            more = whole + effects
            other = (less[:, np.newaxis] + effects[np.newaxis]).reshape(len(less) * len(effects), len(whole))
            moves[Neighbours.ADD_REMOVE] += [judge.found(less) - base, judge.found(more) - base]
            moves[Neighbours.REPLACE_ONE].append(judge.found(other) - base)
            found.neighbors += len(less) + len(more) + len(other)
        found.tables += len(tables)
        for relation, some in moves.items():
            found.hold(judge, np.concatenate(some), relation, 1)
        for rows in range(2, MOST_ROWS + 1):
            persons = np.array([effects[list(own)].sum(axis=0) for own in several(chance, len(every), rows)])
            few = persons[chance.sample(range(len(persons)), min(len(persons), 60))]
            for table in tables[:3]:
                whole = judge.effects[table].sum(axis=0)
                # Whole persons come to a table, or leave it for others.
                own = judge.found(whole + persons) - judge.found(whole)
                swapped = judge.found(whole + few)
                swapped = (swapped[:, np.newaxis] - swapped[np.newaxis]).reshape(len(few) ** 2, -1)
                found.hold(judge, own, Neighbours.ADD_REMOVE, rows)
                found.hold(judge, swapped, Neighbours.REPLACE_ONE, rows)
                found.persons += len(own) + len(swapped)
        neighbor = [*tables[1][1:], chance.randrange(POOL)]
        check_measured(judge, [tables[0], neighbor])
        found.sharp |= judge.sharp
    return found


def different(moves: Moves) -> Moves:
    """The different ones: tables have many neighbors that move the same numbers."""
    if not moves.shape[1]:
        return moves[:1]
    kept = np.ascontiguousarray(moves)
    _, first = np.unique(kept.view(np.dtype((np.void, kept.shape[1] * kept.itemsize))).ravel(), return_index=True)
    return kept[first]


MOST_PERSONS = 600


def several(chance: random.Random, rows: int, most: int) -> list[tuple[int, ...]]:
    """What a person may own of so many rows, at most so many of them: all ways if they are few.

    Otherwise nothing, each row once and as often as can be, and random ways.
    """
    if math.comb(rows + most, most) <= MOST_PERSONS:
        return [own for many in range(most + 1) for own in combinations_with_replacement(range(rows), many)]
    same = [(row,) * many for row in range(rows) for many in (1, most)]
    drawn = (tuple(chance.choices(range(rows), k=chance.randint(1, most))) for _ in range(MOST_PERSONS // 4))
    return [(), *same, *drawn]


KEY = bytes(range(32))


Owned = tuple[bytes, bytes, Codes]
"""The hash of a person, the rank of a row and its codes."""


def owned_batches(world: World, table: Sequence[tuple[Any, int]]) -> list[Any]:
    """Rows of the pool with their persons, as they are staged."""
    return world.encoded([world.pool[row] for _, row in table], [person for person, _ in table], KEY) if table else []


def owned(batches: Sequence[Any]) -> list[Owned]:
    """Staged rows one by one."""
    rows = (row for batch in batches for row in zip(*(one.to_pylist() for one in batch), strict=True))
    return [(person, rank, tuple(codes)) for *codes, person, rank in rows]


def taken_by_hand(rows: Sequence[Owned], most: int) -> dict[bytes, Counter[Codes]]:
    """Of each person the first rows by rank."""
    ranked: dict[bytes, list[tuple[bytes, Codes]]] = {}
    for person, rank, codes in rows:
        ranked.setdefault(person, []).append((rank, codes))
    return {person: Counter(codes for _, codes in sorted(mine)[:most]) for person, mine in ranked.items()}


def random_owned(chance: random.Random, names: Sequence[Any], most: int) -> list[tuple[Any, int]]:
    """Rows of some persons, of some more than are taken, and rows that are nobody's, in any order."""
    table = [(name, chance.randrange(POOL)) for name in names for _ in range(chance.randint(1, most + 2))]
    table += [(None, chance.randrange(POOL)) for _ in range(chance.randrange(2))]
    chance.shuffle(table)
    return table


@pytest.mark.parametrize("chunk", shared_with_soak(32, left=28))
def test_a_person_enters_leaves_or_changes_as_a_whole(chunk):
    """60 tables a chunk, 1,920 in all: no rows of others are taken or left for it, and at most k of the own are."""
    chance = random.Random(f"persons {chunk}")
    crowded = 0
    for _ in range(20):
        judge = random_judge(chance)
        world = judge.world
        names: list[Any] = chance.choice([["ann", "bob", "NA", "eve"], [7, 8, 9, 10]])
        *present, stranger = names
        for most in range(1, MOST_ROWS + 1):
            table, came = (random_owned(chance, some, most) for some in (present, [stranger]))
            here, there = (owned(owned_batches(world, rows)) for rows in (table, came))
            taken = taken_by_hand(here, most)
            # "NA" stands for nobody.
            assert len(taken) == len(set(present) - {"NA"})
            assert all(rows.total() <= most for rows in taken.values())
            base = counted(judge, taken)
            crowded += len(here) > counted_rows(taken)
            moves: dict[Neighbours, list[Moves]] = {relation: [] for relation in Neighbours}
            for gone in [None, *taken]:
                left = [row for row in here if row[0] != gone]
                for relation, arrived in ((Neighbours.ADD_REMOVE, []), (Neighbours.REPLACE_ONE, there)):
                    neighbor = taken_by_hand([*arrived, *left], most)
                    assert len(taken.keys() ^ neighbor.keys()) <= (1 if relation is Neighbours.ADD_REMOVE else 2)
                    assert all(taken[one] == neighbor[one] for one in taken.keys() & neighbor.keys())
                    moves[relation].append(counted(judge, neighbor) - base)
            # One who comes, where nobody leaves.
            moves[Neighbours.ADD_REMOVE].append(moves[Neighbours.REPLACE_ONE][0])
            for relation, found in moves.items():
                judge.check(np.array(found), relation, most)
            leaving = chance.choice([None, *present])
            neighbor = [*came, *(row for row in table if row[0] != leaving)]
            check_taken(judge, neighbor, most, {**taken, **taken_by_hand(there, most)})
    assert crowded > 30


def check_taken(judge: Judge, table: Sequence[tuple[Any, int]], most: int, known: dict[bytes, Counter[Codes]]) -> None:
    """A table that is encoded and bounded by itself has taken what is known of its persons, and is measured so."""
    world, store = judge.world, MemoryStore()
    opened = store.make(world.domain, owned_batches(world, table), replace(IMPRINT, person="who", rows_per_person=most))
    taken = store.taken()
    assert len(taken) == len({person for person, _ in table} - {None, "NA"})
    assert all(rows == known[person] for person, rows in taken.items())
    assert judge.flat(opened.measure(world.statements)) == counted(judge, taken).tolist()
    store.close()


def counted_rows(taken: dict[bytes, Counter[Codes]]) -> int:
    return sum(rows.total() for rows in taken.values())


def counted(judge: Judge, taken: dict[bytes, Counter[Codes]]) -> Moves:
    """All numbers of the rows that were taken."""
    found = np.zeros(judge.effects.shape[1], np.int64)
    for rows in taken.values():
        for codes, many in rows.items():
            found += judge.effect(codes) * many
    return judge.found(found)


def extended(chance: random.Random, domain: Domain) -> Domain:
    """The domain, with more values here and there, of which tables have some already."""

    def grown(attribute: Attribute) -> Attribute:
        if chance.random() < 0.5:
            return attribute
        if isinstance(attribute, Categorical) and "F" in attribute.values:
            more = [value for value in ("?", "nan", "1e9") if value not in attribute.values]
            return Categorical([*attribute.values, *more[:1]], attribute.nullable)
        if isinstance(attribute, Integer) and not attribute.clip:
            return Integer(attribute.low, attribute.high + 27, attribute.nullable)
        return attribute

    return Domain({name: grown(attribute) for name, attribute in domain.attributes.items()})


def before(codes: Codes, earlier: Domain, later: Domain) -> Codes:
    """The codes that a row had when fewer values were declared."""
    pairs = zip(codes, earlier.attributes.values(), later.attributes.values(), strict=True)
    return tuple(
        code if code < old.null else old.null if old.nullable and code == new.null else old.size
        for code, old, new in pairs
    )


@pytest.mark.parametrize("chunk", shared_with_soak(16, left=12))
def test_over_all_loads_no_more_rows_of_a_person_are_taken(chunk):
    """20 tables a chunk, 320 in all, each loaded three times: what was taken stays, and nobody else matters."""
    chance = random.Random(f"loads {chunk}")
    kept_back = 0
    for _ in range(10):
        world = random_world(chance, POOL, statements=1)
        most = chance.randint(1, MOST_ROWS)
        imprint = replace(IMPRINT, person="who", rows_per_person=most)
        table: list[tuple[Any, int]] = []
        gone = chance.choice(["ann", "bob", "eve"])
        stores = [MemoryStore(), MemoryStore()]
        earlier: list[dict[bytes, Counter[Codes]]] = [{}, {}]
        domain: Domain | None = None
        for _ in range(3):
            come = chance.sample(["ann", "bob", "eve"], chance.randint(1, 3))
            table = [*table, *random_owned(chance, come, most)]
            later = world if domain is None else replace(world, domain=extended(chance, world.domain))
            for place, rows in enumerate((table, [(who, row) for who, row in table if who != gone])):
                batches = owned_batches(later, rows)
                stores[place].make(later.domain, batches, imprint, growing_from=domain)
                taken = stores[place].taken()
                owners = Counter(who for who, _ in rows if who is not None)
                assert sorted(map(Counter.total, taken.values())) == sorted(min(n, most) for n in owners.values())
                for person, mine in earlier[place].items():
                    then: Counter[Codes] = Counter()
                    for codes, many in taken[person].items():
                        then[before(codes, world.domain, later.domain)] += many
                    assert mine <= then
                kept_back += taken != taken_by_hand(owned(batches), most)
                earlier[place] = taken
            assert all(earlier[1][one] == earlier[0][one] for one in earlier[1])
            assert len(earlier[0]) - len(earlier[1]) == any(who == gone for who, _ in table)
            world, domain = later, later.domain
        for store in stores:
            store.close()
    # Rows that come later would otherwise have taken the place of some.
    assert kept_back > 3


@pytest.mark.parametrize("nullable", [False, True])
def test_clipped_numbers_are_those_at_the_ends(nullable):
    """However far beyond them, so that a row moves a sum by no more than the value at the nearer end does."""
    numbers = [-math.inf, -1e300, -1.0, 0.0, 2.0, 3.0, 1e300, math.inf]
    for attribute in (Integer(0, 2, nullable, clip=True), Stepped(0, 4, 2, nullable, clip=True)):
        world = World(Domain({"a": attribute}), (pa.float64(),), (), ())
        last = attribute.null - 1
        ends = [0, 0, 0, 0, *([last] * 4 if isinstance(attribute, Integer) else [1, last, last, last])]
        assert world.codes([(number,) for number in numbers]) == [(code,) for code in ends]


def test_rows_of_nobody_are_left_out():
    """Not a number is nobody's name either: rows of anyone could hide behind it."""
    domain = Domain({"age": Integer(0, 9)})
    for names in ([1.0, None, float("nan")], ["1", None, "NA"], [1, None, None]):
        world = World(domain, (pa.int64(),), ((1,), (2,), (3,)), ())
        assert [codes for _, _, codes in owned(world.encoded(world.pool, names, KEY))] == [(1,)]


def test_a_row_that_changes_its_owner_is_not_taken_of_both():
    """With one row of a person taken, that row cannot become another's and leave the place to the next one."""
    domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9)})
    imprint = replace(IMPRINT, person="who", rows_per_person=1)
    ann, bob, rank = (bytes([number]) * 16 for number in range(3))
    store = MemoryStore()
    store.make(domain, batches_of(domain, [(0, 1)], [(ann, rank)]), imprint)
    with pytest.raises(DataError, match="gone or have changed"):
        store.make(domain, batches_of(domain, [(0, 1), (1, 2)], [(bob, rank), (ann, rank)]), imprint, domain)
    store.make(domain, batches_of(domain, [(0, 1), (1, 2)], [(ann, rank), (bob, rank)]), imprint, domain)
    store.close()

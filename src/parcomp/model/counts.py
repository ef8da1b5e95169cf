"""Statements that count conjunctions, and the workload of all rows that a table may hold.

A strategy (``docs/strategies.md``) is charged by a quadratic form of the queries that a row satisfies, which need not
grow with them.  So what enters one must be counted exactly as it is charged: a query must not stand for fewer rows, as
the hull of an OR does.

A table may hold values that their attributes do not declare.  Such a row satisfies no predicate on them, not even one
that lists every declared value, and may satisfy a set of queries that no declared row does.  :func:`over_codes` writes
queries over the codes of a coded table, where what is outside is one more code of each attribute, so that its rows are
all rows that a table may hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product

from parcomp.errors import SizeError, WorkloadError
from parcomp.model.attribute import Integer
from parcomp.model.domain import Domain
from parcomp.model.item import Item
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from parcomp.model.statement import GroupKey, Statement
from parcomp.model.workload import Workload

__all__ = ["hull_of", "over_codes", "queries_of", "why_not_counted"]

_LARGEST = 2**31 - 2
"""The most values of an attribute beside which there is a code for what is outside."""


def why_not_counted(statement: Statement) -> str:
    """Why a statement is no count of conjunctions; "" if it is one."""
    if statement.items != (Item("count"),):
        return "it asks for more than COUNT(*)"
    if len(statement.where.alternatives) > 1:
        return "its OR goes across attributes, so that its rows are no conjunction"
    return ""


def queries_of(statement: Statement) -> tuple[Query, ...]:
    """What a statement counts in each group, in the order of ``group_labels()``; one query without GROUP BY.

    >>> from parcomp.model import Categorical, Condition, Domain, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)})
    >>> by_sex = Statement.one("count", Condition.of(domain.query(age=range(65, 120))), groups=(0,))
    >>> [str(query) for query in queries_of(by_sex)]
    ["sex: F, age: {'from': 65, 'to': 119}", "sex: M, age: {'from': 65, 'to': 119}"]
    """
    reason = why_not_counted(statement)
    if reason:
        raise WorkloadError(f"the statement is no count of conjunctions: {reason}")
    if statement.where.is_contradiction:
        return tuple([statement.where.hull] * statement.group_count)
    [counted] = statement.where.alternatives
    keys = statement.group_keys()
    return tuple(
        counted & Query(statement.domain, tuple((key.index, one) for key, one in zip(keys, members, strict=True)))
        for members in product(*map(_members, keys))
    )


def hull_of(queries: Sequence[Query]) -> Query:
    """The smallest query that covers every row of any of the queries, none of which is a contradiction.

    An attribute that one of them does not test is not tested: rows with undeclared values satisfy that one.
    """
    accepted = dict(queries[0].tested)
    for query in queries[1:]:
        terms = dict(query.tested)
        accepted = {index: known | terms[index] for index, known in accepted.items() if index in terms}
    return Query(queries[0].domain, tuple(sorted(accepted.items(), key=lambda term: term[0])))


def over_codes(queries: Sequence[Query], complete: Collection[int] = ()) -> Workload:
    """The queries over codes, of which the last one of each attribute stands for all that is not declared.

    The attributes at ``complete`` positions have no such code: every row has a declared value of them.

    >>> from parcomp.model import Categorical, Domain
    >>> domain = Domain({"sex": Categorical(["F", "M"])})
    >>> [query.coverage_size for query in over_codes([domain.query(), domain.query(sex=["F", "M"])])]
    [3, 2]
    >>> [query.coverage_size for query in over_codes([domain.query(), domain.query(sex=["F", "M"])], complete=[0])]
    [2, 2]
    """
    domain = queries[0].domain
    sizes = [attribute.size for attribute in domain.attributes.values()]
    if max(sizes) > _LARGEST:
        raise SizeError("an attribute has too many values for a strategy")
    codes = Domain({name: Integer(0, sizes[index] - (index in complete)) for index, name in enumerate(domain.names)})
    wider: dict[Predicate, Predicate] = {}

    def widened(index: int, predicate: Predicate) -> Predicate:
        if index in complete:
            return predicate
        if predicate not in wider:
            wider[predicate] = Predicate.from_runs(predicate.size + 1, predicate.runs())
        return wider[predicate]

    return Workload(
        codes, [Query(codes, tuple((index, widened(index, one)) for index, one in query.tested)) for query in queries]
    )


def _members(key: GroupKey) -> Iterator[Predicate]:
    """The values of each group of a key."""
    if key.members is not None:
        yield from key.members
        return
    for start, stop in key.values.runs():
        for code in range(start, stop):
            yield Predicate.from_runs(key.values.size, [(code, code + 1)])

"""SQL's three-valued logic, compiled away.

A formula is TRUE, FALSE or unknown on a row, and a WHERE clause keeps the rows on which it is TRUE.  An atom is about
one attribute: known are the values that make it TRUE and those that make it FALSE.  Null is in neither, except where
the atom asks for nulls.  Kleene's rules then give both sets for the whole:

- NOT a is TRUE where a is FALSE, and FALSE where a is TRUE;
- a AND b is TRUE where both are, and FALSE where at least one is FALSE;
- a OR b is TRUE where at least one is, and FALSE where both are FALSE.

What is unknown is in neither set and needs no name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TypeAlias

from parcomp.errors import PredicateError
from parcomp.model import Condition, Domain, Predicate, Query

__all__ = ["Atom", "Conjunction", "Constant", "Disjunction", "Formula", "Negation", "about_one", "rows_where"]


@dataclass(frozen=True, slots=True)
class Atom:
    """A formula about one attribute: the values that make it TRUE, and those that make it FALSE."""

    index: int
    true: Predicate
    false: Predicate


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or, as None, unknown on every row."""

    truth: bool | None


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Conjunction:
    """AND."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """OR."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Atom | Constant | Negation | Conjunction | Disjunction


def rows_where(domain: Domain, formula: Formula, truth: bool = True) -> Condition:
    """The rows on which a formula is TRUE, or those on which it is FALSE.

    >>> from parcomp.model.attribute import Integer
    >>> domain = Domain({"age": Integer(0, 9, nullable=True)})
    >>> low, high = (Predicate.from_runs(11, [run]) for run in ((0, 5), (5, 10)))
    >>> rows_where(domain, Negation(Atom(0, low, high))).where()
    [{'age': {'from': 5, 'to': 9}}]
    """
    match formula:
        case Atom(index, true, false):
            return Condition.of(Query(domain, ((index, true if truth else false),)))
        case Constant(value):
            return Condition(domain, (Query(domain, ()),) if value is truth else ())
        case Negation(part):
            return rows_where(domain, part, not truth)
        case Conjunction(parts) | Disjunction(parts):
            rows = [rows_where(domain, part, truth) for part in parts]
            return _all_of(domain, rows) if isinstance(formula, Conjunction) == truth else _any_of(domain, rows)


def about_one(formula: Formula) -> Atom | Constant:
    """A formula that is about one attribute at most, as a single atom; an error if it is about more."""
    match formula:
        case Atom() | Constant():
            return formula
        case Negation(part):
            inner = about_one(part)
            if isinstance(inner, Constant):
                return Constant(None if inner.truth is None else not inner.truth)
            return Atom(inner.index, inner.false, inner.true)
    parts = [about_one(part) for part in formula.parts]
    atoms = [part for part in parts if isinstance(part, Atom)]
    decides = isinstance(formula, Disjunction)
    if not atoms:
        truths = [part.truth for part in parts if isinstance(part, Constant)]
        return Constant(decides if decides in truths else None if None in truths else not decides)
    if len({atom.index for atom in atoms}) > 1:
        raise PredicateError("a condition within an expression is about one attribute; this one is about two")
    size = atoms[0].true.size
    everywhere, nowhere = Predicate.tautology(size), Predicate.contradiction(size)
    pairs = [
        (part.true, part.false)
        if isinstance(part, Atom)
        else (everywhere if part.truth is True else nowhere, everywhere if part.truth is False else nowhere)
        for part in parts
    ]
    true = reduce(or_ if decides else and_, (one for one, _ in pairs))
    false = reduce(and_ if decides else or_, (one for _, one in pairs))
    return Atom(atoms[0].index, true, false)


def _any_of(domain: Domain, conditions: Iterable[Condition]) -> Condition:
    return Condition(domain, tuple(query for condition in conditions for query in condition.alternatives))


def _all_of(domain: Domain, conditions: Iterable[Condition]) -> Condition:
    """The intersection; those with few alternatives first, since they leave less to multiply out."""
    distinct = dict.fromkeys(condition.alternatives for condition in conditions)
    everything = Condition(domain, (Query(domain, ()),))
    return reduce(and_, (Condition(domain, queries) for queries in sorted(distinct, key=len)), everything)

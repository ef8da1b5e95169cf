"""Domains that grow: further values after the declared ones, and what was asked before, over the grown domain.

A table grows by later dates and by categories that nobody knew of.  An *extension* of a domain has the same attributes
in the same order, each with the values that it had, under the same codes, and perhaps more after them; null, where an
attribute has it, stays the last code and so moves.  Whether one attribute extends another is for its kind to say
(:meth:`~parcomp.model.attribute.Attribute.extends`).

*What a query counted.*  A query over the older domain counted the rows whose tested attributes had one of the values
that it accepted, all of them declared by then.  A value that is declared later was outside: it satisfied no predicate
on its attribute, and its row was counted wherever that attribute was not tested.  So over the extension the query
accepts, on each attribute that it tested, the same values, also where these were all that there were; and every value
on the others.  That is :func:`lift`.  A row of the extension is covered by a lifted query exactly if it would have been
counted by the query.

*Bounds stay.*  Let a row of the extension have some later-declared values.  A lifted query that covers it does not test
their attributes, so it also covers the row with any earlier values in their place.  Hence the maximum overlap of lifted
queries is that of the queries, and a proven bound of one is a proven bound of the other.
"""

from __future__ import annotations

from parcomp.errors import DomainError, shown
from parcomp.model.attribute import Attribute
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query

__all__ = ["check_extension", "lift"]


def check_extension(old: Domain, new: Domain) -> None:
    """Raise :class:`~parcomp.errors.DomainError` unless ``new`` is ``old``, or ``old`` with further values.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> old = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 99)})
    >>> check_extension(old, Domain({"sex": Categorical(["F", "M", "X"]), "age": Integer(0, 119)}))
    """
    if old.name != new.name:
        raise DomainError(f"the domain is named {shown(new.name)} and was named {shown(old.name)}; a name stays")
    if old.names != new.names:
        has, had = (shown(", ".join(names)) for names in (new.names, old.names))
        raise DomainError(f"the domain has the attributes {has} and had {had}; attributes and their order stay")
    for name, attribute in new.attributes.items():
        if not attribute.extends(old.attributes[name]):
            raise DomainError(
                f"attribute {shown(name)} does not extend what it was: values may be added after the declared ones (a "
                "higher high, further values of the same types at the end of the list, further bins of the same "
                "width), unless numbers are clipped, and all else stays"
            )


def lift(query: Query, new: Domain) -> Query:
    """The query over an extension of its domain: the same values on each attribute that it tests, and no other tested.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> old = Domain({"sex": Categorical(["F", "M"], nullable=True), "age": Integer(0, 99)})
    >>> new = Domain({"sex": Categorical(["F", "M", "X"], nullable=True), "age": Integer(0, 119)})
    >>> lift(old.query(sex={"not": "F"}), new), lift(old.query(age={"not": []}), new)
    (Query(sex=['M', None]), Query(age={'from': 0, 'to': 99}))
    """
    if query.domain is new:
        return query
    older, newer = list(query.domain.attributes.values()), list(new.attributes.values())
    return Query(new, tuple((index, _lifted(p, older[index], newer[index])) for index, p in query.tested))


def _lifted(predicate: Predicate, older: Attribute, newer: Attribute) -> Predicate:
    if older.size == newer.size:
        return predicate
    runs = []
    for start, stop in predicate.runs():
        runs.append((start, min(stop, older.null)))
        if stop > older.null:
            runs.append((newer.null, newer.null + 1))
    return Predicate.from_runs(newer.size, runs)

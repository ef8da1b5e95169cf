"""The queries that charges are for, read back from their text.

Nothing is taken on trust: a text that the model does not write is an error, which says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from parcomp.errors import LedgerError, shown
from parcomp.model import (
    Bands,
    Condition,
    Domain,
    Grouping,
    Item,
    Predicate,
    Query,
    Statement,
    read_predicate,
)

__all__ = ["ChargedQueries"]

_ITEM = {"kind", "attribute", "at", "of"}
"""What a statement may say of an item."""

_FRACTION = re.compile("[0-9]{1,7}(/[1-9][0-9]{0,6})?")


class ChargedQueries:
    """Reads queries as charges have them: few predicates make up many queries, and equal ones are read once."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._predicates: dict[tuple[str, str], Predicate] = {}

    def query(self, where: Mapping[str, object]) -> Query:
        """The query of a charge's ``where``; an error says what is wrong with it."""
        return self._domain.query({name: self._predicate(name, written) for name, written in where.items()})

    def grouped(self, groups: object) -> Query:
        """The rows that have a group, given what a statement has under ``groups``."""
        if not isinstance(groups, list):
            raise LedgerError("statement: groups are a list of attributes and of bands of attributes")
        found = Query(self._domain, ())
        for group in groups:
            match group:
                case str():
                    found &= self._domain.query({group: {"not": []}})
                case {"attribute": str(name), "bands": list(bands)} if len(group) == 2:
                    found &= self._domain.query({name: self._banded(name, bands)})
                case _:
                    raise LedgerError("statement: a group is an attribute, or an attribute with bands")
        return found

    def statement(self, document: Mapping[str, object]) -> Statement:
        """The statement that a strategy has, which must count the rows of a conjunction, in groups or not."""
        conditions, groups = document.get("where"), document.get("groups", [])
        known = document.keys() <= {"kind", "where", "groups"} and document.get("kind") == "count"
        if not known or not isinstance(conditions, list) or not isinstance(groups, list) or len(conditions) != 1:
            raise LedgerError("statement: a strategy is of counts of conjunctions")
        self.grouped(groups)
        return Statement(
            Condition.of(self.query(conditions[0])), groups=tuple(self._grouping(group) for group in groups)
        )

    def _grouping(self, group: str | Mapping[str, Any]) -> Grouping:
        if isinstance(group, str):
            return Grouping(self._domain.index(group))
        name, bands = group["attribute"], group["bands"]
        members = tuple(self._predicate(name, written) for _, written in bands)
        return Grouping(self._domain.index(name), Bands(tuple(label for label, _ in bands), members))

    def measured(self, document: Mapping[str, object]) -> Iterator[Query]:
        """Of each item of a statement the rows, among those of its condition, that it is of.

        A statement with one item has in its condition itself that rows have a value.
        """
        unknown = document.keys() - {"where", "groups", "items"} - _ITEM
        if unknown:
            raise LedgerError(f"statement: has an unknown key {shown(min(unknown))}")
        if "items" not in document:
            self._item({key: document[key] for key in _ITEM & document.keys()})
            yield Query(self._domain, ())
            return
        items = document["items"]
        if not isinstance(items, list) or not items or _ITEM & document.keys():
            raise LedgerError("statement: has items, a list of what is asked for, or is of one kind")
        for written in items:
            item = self._item(written)
            if item.attribute is None:
                yield Query(self._domain, ())
            else:
                attribute = self._domain.attributes[item.attribute]
                known = Predicate.from_runs(attribute.size, [(0, attribute.null)])
                yield self._domain.query({item.attribute: known})

    def _item(self, written: object) -> Item:
        if not isinstance(written, dict) or not written.keys() <= _ITEM or not isinstance(written.get("kind"), str):
            raise LedgerError("statement: an item has a kind, and an attribute and a place where it needs them")
        place, of, name = written.get("at"), written.get("of"), written.get("attribute")
        if "of" in written and of != "rows":
            raise LedgerError(f"statement: an item is of rows or of a sample, not of {shown(of)}")
        if name is not None:
            if not isinstance(name, str):
                raise LedgerError(f"statement: an attribute is told by name, not by {shown(name)}")
            self._domain.index(name)
        return Item(written["kind"], name, _place(place), of is None)

    def _banded(self, name: str, bands: list[Any]) -> Predicate:
        """The values that bear a label."""
        if not all(isinstance(band, list) and len(band) == 2 for band in bands):
            raise LedgerError("statement: bands are pairs of a label and the values that bear it")
        members = tuple(self._predicate(name, written) for _, written in bands)
        # A number that is not whole was written as a float, and is read exactly.
        labels = (float(label) if isinstance(label, Decimal) else label for label, _ in bands)
        checked = Bands(tuple(labels), members)
        size = self._domain.attributes[name].size
        return Predicate.from_runs(size, [run for member in checked.members for run in member.runs()])

    def _predicate(self, name: str, written: object) -> Predicate:
        key = name, repr(written)
        if key not in self._predicates:
            self._domain.index(name)
            self._predicates[key] = read_predicate(self._domain.attributes[name], written)
        return self._predicates[key]


def _place(written: object) -> Fraction | None:
    if written is None:
        return None
    if not isinstance(written, str) or not _FRACTION.fullmatch(written):
        raise LedgerError(f"statement: the place of a quantile is a fraction such as 1/2, not {shown(written)}")
    return Fraction(written)

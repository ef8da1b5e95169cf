"""The queries that charges are for, read back from their text."""

from __future__ import annotations

from collections.abc import Mapping

from parcomp.model import Domain, Predicate, Query, read_predicate

__all__ = ["ChargedQueries"]


class ChargedQueries:
    """Reads queries as charges have them: few predicates make up many queries, and equal ones are read once."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._predicates: dict[tuple[str, str], Predicate] = {}

    def query(self, where: Mapping[str, object]) -> Query:
        """The query of a charge's ``where``; an error says what is wrong with it."""
        predicates = {}
        for name, written in where.items():
            key = name, repr(written)
            if key not in self._predicates:
                self._domain.index(name)
                self._predicates[key] = read_predicate(self._domain.attributes[name], written)
            predicates[name] = self._predicates[key]
        return self._domain.query(predicates)

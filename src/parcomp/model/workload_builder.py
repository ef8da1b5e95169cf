"""Gathering queries one by one into the columns of a workload."""

from __future__ import annotations

from collections.abc import Iterable

from parcomp.costs import COST_KINDS, UNITS_PER_ONE, Cost
from parcomp.errors import WorkloadError, shown
from parcomp.model.domain import Domain
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates
from parcomp.model.text_file import is_unicode

__all__ = ["QueryId", "WorkloadBuilder", "check_id"]

QueryId = str | int


class WorkloadBuilder:
    """Gathers queries one by one into columns.

    ``whole`` has, by position, the attributes of which a query lists every declared value: no term, but a test.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.table = InternedPredicates()
        self.start: list[int] = [0]
        self.term: list[int] = []
        self.units: list[int] = []
        self.kinds: list[int] = []
        self.ids: list[QueryId] = []
        self.named = False
        self.whole: dict[int, list[int]] = {}
        self._seen: set[str] = set()

    def add(
        self,
        terms: Iterable[tuple[int, Predicate]],
        cost: Cost | None = None,
        query_id: QueryId | None = None,
        number: int | None = None,
    ) -> None:
        """Add a query: what it tests in ascending order of attribute; ``number`` is its id where it has no other."""
        position = len(self.units) + 1
        default = position if number is None else number
        name = default if query_id is None else query_id
        if str(check_id(name)) in self._seen:
            raise WorkloadError(f"the id {shown(name)} occurs twice")
        self._seen.add(str(name))
        self.named = self.named or name != position
        self.ids.append(name)
        for attribute, predicate in terms:
            if predicate.is_tautology:
                self.whole.setdefault(position - 1, []).append(attribute)
            else:
                self.term.append(self.table.number(attribute, predicate))
        self.start.append(len(self.term))
        self.units.append(UNITS_PER_ONE if cost is None else cost.units)
        self.kinds.append(0 if cost is None else COST_KINDS.index(cost.kind))


def check_id(query_id: object) -> QueryId:
    """The id itself, if it is one."""
    if isinstance(query_id, bool) or not isinstance(query_id, (str, int)) or query_id == "":
        raise WorkloadError(f"an id must be a non-empty string or an integer, not {shown(query_id)}")
    if isinstance(query_id, str) and not is_unicode(query_id):
        raise WorkloadError(f"the id {shown(query_id)} is not valid Unicode")
    return query_id

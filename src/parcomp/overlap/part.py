"""Close the bracket of one part that the reductions left: cheap bounds first, then the searches that suit its shape.

All steps count work instead of time, so that equal work gives equal brackets on every machine; and all that could take
long is done in slices, so that whoever has a clock can look at it in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.cover import group_bound, overlap_is_clique
from parcomp.overlap.graph_search import GRAPH_LIMIT, GraphSearch
from parcomp.overlap.lean import LeanSearch, suits
from parcomp.overlap.rows import RowSearch, enumeration_work, heaviest_row, sweep
from parcomp.overlap.search import Row, Search, Strategy
from parcomp.overlap.value import ValueSearch
from parcomp.slices import Slices

__all__ = ["ALL", "PartSearch"]

_ENUMERATION_WORK = 1 << 20
"""Parts whose rows can all be looked at with this much work are not worth anything cleverer."""

_HEAD_START = 1 << 23
"""Value search joins the search by the query graph once that is set up, or has spent this much work."""

_LEAN_START, _FEW = 1 << 30, 32
"""Where lean search suits, it starts at once; value search so much later if no attribute has more than ``_FEW`` values.
With more it has the better bounds at first, and does not wait."""

_ALONE = 1 << 23
"""Where lean search suits, the search by the query graph waits for this much work: many a workload is solved by then,
in less time than coloring the graph takes."""

_QUICK_ROW = 1 << 17
"""Where lean search suits, which finds rows by itself, so much work on a first one is enough."""

_ROW_SHARE, _ROW_WORK = 4, 1 << 31
"""Row search goes on beside the others for one part in so many of the work, up to this much in all."""

_PATIENCE, _LONG_PATIENCE, _LAGGING = 1 << 28, 1 << 33, 3
"""A search that has not lowered the upper end for this much work of its own, while another did so last, gets one part
in 2 to the last number of the work: searches wait for each other, and one on the wrong track may be much slower.  Where
overlaps are more than cliques, a search on values is given the second amount, as its steps are few and long: lean
search, or value search where that does not suit."""

_NEVER = 1 << 62
"""Work that is never done."""

_PARALLEL_WORK = 1 << 22
"""From this much work in a slice on, two searches run on two threads; their kernels release the interpreter's lock."""

ALL = frozenset(Strategy)
_ON_GRAPH = frozenset({Strategy.COLORING, Strategy.BOX_SEARCH})


class PartSearch(Search):
    """The bracket of one part, closed step by step; ``strategy`` names what lowered ``upper`` last."""

    def __init__(self, compiled: CompiledWorkload, strategies: Iterable[Strategy] = ALL) -> None:
        super().__init__(compiled)
        self._strategies = frozenset(strategies)
        self._overlap_is_clique: bool | None = None

    def course(self) -> Slices[None]:
        """Look at all rows if they are few, sweep over ranges, or bound and search."""
        compiled, chosen = self.compiled, self._strategies
        if Strategy.EVERY_ROW in chosen and (work := enumeration_work(compiled)) <= _ENUMERATION_WORK:
            weight, row = heaviest_row(compiled)
            self._found(weight, row, weight, Strategy.EVERY_ROW)
            yield work
            return
        if Strategy.SWEEP in chosen and compiled.attribute_count <= 2 and (swept := sweep(compiled)) is not None:
            weight, row = swept
            self._found(weight, row, weight, Strategy.SWEEP)
            yield 16 * len(compiled.term)
            return
        rows = RowSearch(compiled) if Strategy.ROW_SEARCH in chosen else None
        work = 0
        if rows is not None:
            work = rows.advance(min(self.left, _QUICK_ROW) if suits(compiled) else self.left)
            self._found(rows.lower, rows.row, self.upper, Strategy.ROW_SEARCH)
            yield work
        if Strategy.GROUPS in chosen:
            bound, _ = yield from group_bound.slices(compiled)
            self._found(self.lower, self.row, bound, Strategy.GROUPS)
        yield from self._search(rows, work)

    def _search(self, rows: RowSearch | None, spent_on_rows: int) -> Slices[None]:
        """Advance all searches side by side, and row search at times; what one finds the others are told."""
        compiled, chosen = self.compiled, self._strategies
        searches: list[Search] = []
        graph: GraphSearch | None = None
        waiting: list[type[LeanSearch] | type[ValueSearch]] = []
        if Strategy.LEAN_SEARCH in chosen and suits(compiled):
            waiting.append(LeanSearch)
        if Strategy.VALUE_SEARCH in chosen:
            waiting.append(ValueSearch)
        due = 0 if LeanSearch in waiting else _HEAD_START
        graph_due = _ALONE if LeanSearch in waiting else 0
        if not chosen & _ON_GRAPH or compiled.query_count > GRAPH_LIMIT:
            graph_due = _NEVER
        patient = LeanSearch if LeanSearch in waiting else ValueSearch
        spent = 0
        leader: Search | None = None
        in_vain: dict[Search, int] = {}
        while self.lower < self.upper:
            if graph is None and spent >= graph_due:
                graph = GraphSearch(compiled, chosen, self.lower, self.row)
                searches.append(graph)
            if due == _HEAD_START and (graph_due == _NEVER or (graph is not None and graph.searching)):
                due = spent
            if waiting and spent >= due:
                due = spent + _LEAN_START if compiled.sizes.max(initial=0) <= _FEW else _HEAD_START
                if waiting[0] is ValueSearch and graph_due != _NEVER and Strategy.BOX_SEARCH in chosen:
                    # Where cliques are overlapping sets, box search has nothing to learn from such bounds.
                    due = _NEVER if (yield from self._helly()) else spent
                if due != _NEVER:
                    searches.append(waiting.pop(0)(compiled, self.lower, self.row))
            if all(search.done for search in searches):
                if not waiting:
                    return
                searches.append(waiting.pop(0)(compiled, self.lower, self.row))
            work = self.left
            amounts: dict[Search, int] = {}
            for search in searches:
                if not search.done:
                    lags = leader not in (None, search) and in_vain.get(search, 0) > _PATIENCE
                    if lags and isinstance(search, patient) and in_vain[search] <= _LONG_PATIENCE:
                        lags = yield from self._helly()
                    amounts[search] = work >> _LAGGING if lags else work
            for search, amount in amounts.items():
                if isinstance(search, ValueSearch) and sum(amounts.values()) - amount >= work:
                    # It runs on all processors, and one of them belongs to the other search.
                    amounts[search] = amount >> 1
                in_vain[search] = in_vain.get(search, 0) + amounts[search]
            due_to_rows = min(work, min(spent // _ROW_SHARE, _ROW_WORK) - spent_on_rows)
            if rows is not None and due_to_rows > 0:
                amounts[rows] = due_to_rows
                spent_on_rows += due_to_rows
            _advance(amounts, together=work >= _PARALLEL_WORK)
            spent += work
            if rows is not None:
                self._found(rows.lower, rows.row, self.upper, Strategy.ROW_SEARCH)
            for search in searches:
                if search.upper < self.upper:
                    leader, in_vain[search] = search, 0
                self._found(search.lower, search.row, search.upper, search.strategy)
            for search in searches:
                search.learn(self.lower, self.row, self.upper)
                # One that learns in the midst of a turn looks first at what its workers have found in it.
                self._found(search.lower, search.row, search.upper, search.strategy)
            yield work

    def _helly(self) -> Slices[bool]:
        """Whether cliques are overlapping sets; looked at once."""
        if self._overlap_is_clique is None:
            self._overlap_is_clique = yield from overlap_is_clique.slices(self.compiled)
        return self._overlap_is_clique

    def _found(self, lower: int, row: Row, upper: int, by: Strategy | None) -> None:
        if upper < self.upper:
            self.strategy = by
        self.learn(lower, row, upper)


def _advance(amounts: dict[Search, int], *, together: bool) -> None:
    """Let each search do its amount of work, one after the other or ``together`` on threads.

    The threads end here: a search may be abandoned at any pause, and what the garbage collector then finds must not
    wait for threads, as it may run within the start of one.
    """
    if not together or len(amounts) < 2:
        for search, amount in amounts.items():
            search.advance(amount)
        return
    *others, (last, work) = amounts.items()
    with ThreadPoolExecutor(max_workers=len(others)) as pool:
        running = [pool.submit(search.advance, amount) for search, amount in others]
        last.advance(work)
    for one in running:
        one.result()

"""Certificates: a proof of the bracket that :mod:`parcomp.certificate.checker` checks without any of the solvers.

The prover knows the upper end already and looks for a short proof of it: dominated values are dropped, equal queries
taken together, parts that share no attribute added up, and each part is closed by the first of these that is low
enough: the plain sum, groups of disjoint queries, multipliers, cases whose rows the checker lists if these are few, a
fractional cover, cases by queries where overlapping sets are cliques, more such lists, and a value search that records
its cases.
Beyond a limit of numbers the certificate says that the upper end rests on search.  Equal workloads and brackets have
equal certificates, unless whoever asks sets a time at which the proof is given up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from parcomp.certificate import workload_digest
from parcomp.graph import Case, VertexCase, build_query_graph, fractional_cover, prove_cliques
from parcomp.model import Predicate, Workload, write_predicate
from parcomp.model.compile import Compilation
from parcomp.model.compiled import CompiledWorkload
from parcomp.overlap.bracket import Bracket
from parcomp.overlap.cover import group_bound, overlap_is_clique
from parcomp.overlap.engine import solve_within
from parcomp.overlap.lean import prove_by_listing, suits
from parcomp.overlap.masks import keep_queries
from parcomp.overlap.reduce import Leaf, Node, Rule, Sum, reduce
from parcomp.overlap.value import Splitting, prove_upper, split

__all__ = ["NUMBER_LIMIT", "certificate", "certificate_by_search"]

NUMBER_LIMIT = 20_000_000
"""The most numbers in a proof; a longer one is given up."""

_RULES = frozenset(
    {
        Rule.MERGE_VALUES,
        Rule.DROP_DOMINATED_VALUES,
        Rule.MERGE_QUERIES,
        Rule.ABSORB_QUERIES,
        Rule.DROP_ATTRIBUTES,
        Rule.SPLIT_BY_ATTRIBUTES,
    }
)
"""The reductions that a proof can repeat: dominated values, equal queries, parts that add."""

_GRAPH_LIMIT = 8192
"""The most queries of a part whose pairs are looked at."""

_CASE_WORK = 1 << 30
"""Pairs of queries that cases by queries may look at; after that, cases by values are tried."""

_LONG = 1 << 14
"""A longer list of values to be kept is left to the checker to find."""

_LISTING = 15
"""The checker may spend so many doublings of the most numbers on listing rows: it takes as long as reading the rest."""

_SHORT_LISTING = 1 << 33
"""So much of it is tried before anything else that could take long."""

_PART_WORK = 1 << 27
"""Word operations spent on bracketing one of several parts."""


def certificate(
    compilation: Compilation, bracket: Bracket, most_numbers: int | None = None, deadline: float | None = None
) -> dict[str, Any]:
    """A certificate of a bracket in units of cost, whose row has codes.

    Its proof is ``{"search": true}`` where one would take more than so many numbers, ``NUMBER_LIMIT`` if that is None,
    or is not found by ``deadline``, of ``time.monotonic``.
    """
    workload = compilation.workload
    proof = _Proof(compilation, NUMBER_LIMIT if most_numbers is None else most_numbers, deadline)
    root = _Case(
        compilation.compiled,
        [[position] for position in compilation.queries.tolist()],
        list(range(compilation.compiled.attribute_count)),
        list(compilation.codes),
    )
    try:
        proof.go_on()
        for attribute, described in enumerate(workload.domain.attributes.values()):
            if len(compilation.codes[attribute]) < described.size:
                proof.keep(attribute, compilation.codes[attribute])
        proof.close(root, bracket.upper // compilation.unit)
    except _TooLongError:
        proof.nodes, proof.multipliers = [{"search": True}], []
    return _document(workload, bracket) | {"proof": proof.nodes, "multipliers": proof.multipliers}


def certificate_by_search(workload: Workload, bracket: Bracket) -> dict[str, Any]:
    """A certificate of the row alone: a proof of the upper end needs a compiled workload."""
    return _document(workload, bracket) | {"proof": [{"search": True}], "multipliers": []}


def _document(workload: Workload, bracket: Bracket) -> dict[str, Any]:
    assert bracket.row is not None
    return {
        "parcomp": "certificate",
        "workload": workload_digest(workload),
        "lower": bracket.lower,
        "upper": bracket.upper,
        "row": workload.domain.row(bracket.row.tolist()),
    }


class _TooLongError(Exception):
    """The proof exceeds its limits, of numbers or of time."""


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A sub-workload and what its queries, attributes and values are in the original workload."""

    compiled: CompiledWorkload
    queries: list[list[int]]
    attributes: list[int]
    codes: list[npt.NDArray[np.int64]]


class _Proof:
    """Nodes in the order of the certificate: a parent is written before its children."""

    def __init__(self, compilation: Compilation, most_numbers: int, deadline: float | None = None) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.multipliers: list[dict[str, Any]] = []
        self._numbers, self._most_numbers = 0, most_numbers
        self._deadline = deadline
        self._unit = compilation.unit
        self._workload = compilation.workload
        self._weights = compilation.workload.additive_units().tolist()
        self._attributes = list(compilation.workload.domain.attributes.items())

    def go_on(self) -> None:
        """Give the proof up if its time is up; steps that take long ask this now and then."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise _TooLongError

    def keep(self, attribute: int, codes: npt.NDArray[np.int64]) -> int:
        """Write that only these values need to be looked at; the node written next is what that leaves to prove."""
        name, described = self._attributes[attribute]
        written = write_predicate(described, Predicate.from_codes(described.size, codes))
        if isinstance(written, list) and len(written) > _LONG:
            # A proof need not drop what others dominate: see ``value/proof.py``.  It is checked faster if that is done.
            return self._write({"dominated": name, "proof": len(self.nodes) + 1}, numbers=2)
        self._count(len(written) if isinstance(written, list) else 1)
        return self._write({"dominated": name, "keep": written, "proof": len(self.nodes) + 1})

    def close(self, case: _Case, target: int) -> int:
        """Write a proof that the case weighs at most ``target``; return its first node."""
        problem = reduce(case.compiled, _RULES)
        return self._reduced(problem.root, case, target)

    def _reduced(self, node: Node, case: _Case, target: int) -> int:
        first, smaller = self._drop_dominated(node, case)
        target -= node.reduction.base
        if isinstance(node, Leaf):
            below = self._leaf(smaller, target, node.reduction.base)
        else:
            assert isinstance(node, Sum)
            below = self._sum(node, smaller, target)
        return below if first is None else first

    def _drop_dominated(self, node: Node, case: _Case) -> tuple[int | None, _Case]:
        """Write a node for each attribute of which the reduction dropped values; the next node comes after the last."""
        values, query_of = node.reduction.values, node.reduction.query_of
        first = None
        attributes, codes = [-1] * values.pushed_size, [np.zeros(0, np.int64)] * values.pushed_size
        for index, source in enumerate(values.source.tolist()):
            table = values.lifted[index]
            kept = case.codes[index] if table is None else case.codes[index][table]
            if len(kept) < len(case.codes[index]):
                number = self.keep(case.attributes[index], kept)
                first = number if first is None else first
            if source >= 0:
                attributes[source], codes[source] = case.attributes[index], kept
        queries = case.queries
        if query_of is not None:
            queries = [[] for _ in range(node.reduction.compiled.query_count)]
            for position, reduced in enumerate(query_of.tolist()):
                if reduced >= 0:
                    queries[reduced] += case.queries[position]
        return first, _Case(node.reduction.compiled, queries, attributes, codes)

    def _sum(self, node: Sum, case: _Case, target: int) -> int:
        """Parts that share no attribute, each with a bound of its own; what is not in them counts in full."""
        cases = [
            _Case(
                part.compiled,
                [case.queries[query] for query in part.queries.tolist()],
                [case.attributes[attribute] for attribute in part.attributes.tolist()],
                [case.codes[attribute] for attribute in part.attributes.tolist()],
            )
            for part in node.parts
        ]
        uppers = []
        for part in cases:
            self.go_on()
            uppers.append(solve_within(part.compiled, _PART_WORK).upper)
        if sum(uppers) > target:
            raise _TooLongError
        entry: dict[str, Any] = {"sum": []}
        number = self._write(entry)
        held = {query for part in cases for group in part.queries for query in group}
        rest = [query for query in range(len(self._weights)) if query not in held]
        entry["sum"].append({"queries": rest, "proof": self._write({"cover": []})})
        for below, part, upper in zip(node.nodes, cases, uppers, strict=True):
            members = [query for group in part.queries for query in group]
            entry["sum"].append({"queries": members, "proof": self._reduced(below, part, upper)})
        return number

    def _leaf(self, case: _Case, target: int, base: int) -> int:
        """Write a proof that a case weighs at most ``target``, and ``base`` more by queries that are not in it."""
        self.go_on()
        compiled = case.compiled
        if compiled.total <= target:
            return self._write({"cover": []})
        bound, groups = group_bound(compiled)
        if bound <= target:
            return self._cover(case, zip(groups.multiplier.tolist(), groups, strict=True))
        splitting = split(compiled)
        if splitting.bound <= target:
            return self._splitting(case, splitting)
        case = self._told_apart(case)
        if (listed := self._listing(case, target, _SHORT_LISTING)) is not None:
            return self._tree(case, listed, target + base)
        if compiled.query_count <= _GRAPH_LIMIT:
            self.go_on()
            graph = build_query_graph(case.compiled)
            cover = fractional_cover(graph)
            if cover.bound <= target:
                return self._cover(case, zip(cover.multipliers.tolist(), cover.sets, strict=True))
            if overlap_is_clique(case.compiled):
                limit = max(0, self._most_numbers - self._numbers)
                cases = prove_cliques(graph, target, size_limit=limit, work_limit=_CASE_WORK, go_on=self.go_on)
                if cases is not None:
                    return self._cases(case, cases)
        if (listed := self._listing(case, target, self._most_numbers << _LISTING)) is not None:
            return self._tree(case, listed, target + base)
        room = max(0, self._most_numbers - self._numbers)
        tree = prove_upper(case.compiled, target, size_limit=room, go_on=self.go_on)
        if tree is None:
            raise _TooLongError
        return self._tree(case, tree, target + base)

    def _listing(self, case: _Case, target: int, work_limit: int) -> dict[str, Any] | None:
        if not suits(case.compiled):
            return None
        room = max(0, self._most_numbers - self._numbers)
        return prove_by_listing(case.compiled, target, size_limit=room, work_limit=work_limit, go_on=self.go_on)

    def _tree(self, case: _Case, tree: dict[str, Any], upper: int) -> int:
        """Cases by values and queries in terms of the original workload, where rows weigh more.

        They are those of :mod:`~parcomp.overlap.value.proof` or of :mod:`~parcomp.overlap.lean.proof`.
        """
        first, above = len(self.nodes), upper * self._unit
        vectors = [
            self._multipliers(case, dict(zip(*pairs.T.tolist(), strict=True)), tree["shift"])
            for pairs in tree["multipliers"]
        ]
        for node in tree["nodes"]:
            if "cases" in node:
                name, attribute = self._attributes[case.attributes[node["attribute"]]]
                codes = case.codes[node["attribute"]]
                cases = [
                    (Predicate.from_codes(attribute.size, codes[values]), below) for values, below in node["cases"]
                ]
                self._write(
                    {
                        "attribute": name,
                        "cases": [
                            {"in": write_predicate(attribute, one), "proof": first + below} for one, below in cases
                        ],
                    },
                    numbers=2 * len(codes),
                )
            elif "listing" in node:
                order = [self._attributes[case.attributes[attribute]][0] for attribute in node["order"]]
                self._write(
                    {"listing": vectors[node["listing"]], "order": order, "above": above, "most": node["most"]},
                    numbers=len(order) + 4,
                )
            elif "attribute" in node:
                name, attribute = self._attributes[case.attributes[node["attribute"]]]
                value = attribute.value(int(case.codes[node["attribute"]][node["like"]]))
                self._write(
                    {"value": value, "of": name, "like": first + node["in"], "rest": first + node["rest"]}, numbers=4
                )
            elif "query" in node:
                queries = case.queries[node["query"]]
                self._write(
                    {"queries": queries, "in": first + node["in"], "out": first + node["rest"]},
                    numbers=3 + len(queries),
                )
            elif "fix" in node:
                self._write({"fixing": vectors[node["fix"]], "above": above, "proof": first + node["rest"]}, numbers=3)
            elif "thin" in node:
                name = self._attributes[case.attributes[node["thin"]]][0]
                self._write({"dominated": name, "proof": first + node["rest"]}, numbers=2)
            elif node["leaf"] < 0:
                self._write({"cover": []})
            else:
                self._write({"splitting": vectors[node["leaf"]]})
        return first

    def _cases(self, case: _Case, cases: Sequence[Case | VertexCase]) -> int:
        """The cases of :mod:`~parcomp.graph.cases` in terms of the original workload."""
        first = len(self.nodes)
        for one in cases:
            if isinstance(one, Case):
                self._cover(case, one.sets)
            else:
                queries = case.queries[one.vertex]
                self._write({"queries": queries, "in": first + one.inside, "out": first + one.rest}, 3 + len(queries))
        return first

    def _told_apart(self, case: _Case) -> _Case:
        """The case with only those queries merged that have the same predicates to begin with.

        Of others the checker does not know that they are satisfied together.
        """
        of_group: list[int] = []
        queries: list[list[int]] = []
        for group, copies in enumerate(case.queries):
            alike: dict[bytes, list[int]] = {}
            for copy in copies:
                alike.setdefault(self._terms(copy), []).append(copy)
            queries += alike.values()
            of_group += [group] * len(alike)
        if len(queries) == len(case.queries):
            return case
        weights = np.array([sum(self._weights[copy] for copy in copies) // self._unit for copies in queries], np.int64)
        compiled = replace(keep_queries(case.compiled, np.array(of_group, np.int64)), weights=weights)
        return _Case(compiled, queries, case.attributes, case.codes)

    def _terms(self, query: int) -> bytes:
        begin, end = self._workload.start[query : query + 2]
        return np.sort(self._workload.term[begin:end]).tobytes()

    def _cover(self, case: _Case, sets: Iterable[tuple[int, Sequence[int] | npt.NDArray[np.int64]]]) -> int:
        """One set for each copy of merged queries: equal queries overlap, so no set may hold two of them.

        The copies of a query are laid end to end on the sets that hold it, by their weights, as far as the sets reach.
        """
        entries: list[dict[str, Any]] = []
        listed = [(multiplier, [int(member) for member in members]) for multiplier, members in sets]
        held = {member for _, members in listed for member in members}
        left = {query: [self._weights[q] // self._unit for q in case.queries[query]] for query in held}
        turn = dict.fromkeys(left, 0)
        for multiplier, members in listed:
            self._cover_set(case, entries, multiplier, members, left, turn)
        return self._write({"cover": entries})

    def _cover_set(
        self,
        case: _Case,
        entries: list[dict[str, Any]],
        multiplier: int,
        members: list[int],
        left: dict[int, list[int]],
        turn: dict[int, int],
    ) -> None:
        while multiplier > 0:
            for member in members:
                while turn[member] < len(left[member]) and left[member][turn[member]] == 0:
                    turn[member] += 1
            current = {member: turn[member] for member in members if turn[member] < len(left[member])}
            # The set is used in slices within which every member stays with one of its copies.
            piece = min([multiplier, *(left[member][copy] for member, copy in current.items())])
            queries = [case.queries[member][copy] for member, copy in current.items()]
            self._count(len(queries))
            entries.append({"weight": piece * self._unit, "queries": queries})
            for member, copy in current.items():
                left[member][copy] -= piece
            multiplier -= piece

    def _splitting(self, case: _Case, splitting: Splitting) -> int:
        shares = dict(enumerate(splitting.multipliers.tolist()))
        return self._write({"splitting": self._multipliers(case, shares, splitting.shift)})

    def _multipliers(self, case: _Case, given: Mapping[int, int], shift: int) -> int:
        """Multipliers of merged queries are shared out to their copies so that each copy gets its own weight in sum.

        ``given`` has those of the terms that have any; a copy without is left out, and counts in full.
        """
        compiled = case.compiled
        scale = 1 << shift
        names = [self._attributes[index][0] for index in case.attributes]
        columns: dict[str, tuple[list[int], list[int]]] = {}
        for query, copies in enumerate(case.queries):
            terms = range(int(compiled.start[query]), int(compiled.start[query + 1]))
            shares = [(names[compiled.mask_attribute[compiled.term[k]]], given[k]) for k in terms if given.get(k)]
            for copy in copies:
                wanted = self._weights[copy] // self._unit * scale
                while wanted and shares:
                    name, share = shares[0]
                    used = min(share, wanted)
                    numbers, amounts = columns.setdefault(name, ([], []))
                    numbers.append(copy)
                    amounts.append(used)
                    wanted -= used
                    shares[0] = (name, share - used)
                    if share == used:
                        shares.pop(0)
        self._count(2 * sum(len(numbers) for numbers, _ in columns.values()))
        self.multipliers.append({"scale": scale, "unit": self._unit, "shares": columns})
        return len(self.multipliers) - 1

    def _write(self, node: dict[str, Any], numbers: int = 1) -> int:
        self._count(numbers)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _count(self, numbers: int) -> None:
        self._numbers += numbers
        if self._numbers > self._most_numbers:
            raise _TooLongError

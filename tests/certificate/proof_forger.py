"""Proofs in the format of certificates, made at random by plain sets, and forgeries of them.

Nothing of the prover is used.  A proof is grown from the root: at each node a kind is drawn, and the children get what
the kind leaves them.  The maker reckons the bound of each node by the definitions alone, and remembers the box and the
counted queries of each, so that a forger knows what an honest node may not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from parcomp import Domain, Integer, Workload
from parcomp.certificate.checker import workload_digest
from parcomp.costs import Cost
from tests.workloads import SetQueries

__all__ = ["KINDS", "Problem", "ProofMaker", "random_problem"]

KINDS = ("attribute", "queries", "dominated", "value", "fixing", "parts", "sum", "cover", "splitting", "listing")

Box = tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Problem(SetQueries):
    """Queries, and what a box leaves of them."""

    def workload(self) -> Workload:
        """The same as a workload, each weight being so many units of cost."""
        domain = Domain({f"a{index}": Integer(0, size - 1) for index, size in enumerate(self.sizes)})
        queries = [domain.query({f"a{a}": sorted(accepted) for a, accepted in q.items()}) for q in self.queries]
        return Workload(domain, queries, [Cost("weight", units) for units in self.weights])

    def accepts(self, query: int, attribute: int) -> frozenset[int]:
        """The values of an attribute that a query accepts."""
        return self.queries[query].get(attribute, frozenset(range(self.sizes[attribute])))

    def within(self, query: int, box: Box) -> Box:
        """What a query leaves of a box."""
        return tuple(values & self.accepts(query, attribute) for attribute, values in enumerate(box))

    def live(self, box: Box, counted: frozenset[int]) -> list[int]:
        """The counted queries that some row of the box satisfies."""
        return [query for query in sorted(counted) if all(self.within(query, box))]

    def disjoint(self, first: int, second: int, box: Box) -> bool:
        """Whether no row of the box satisfies both."""
        return not all(a & b for a, b in zip(self.within(first, box), self.within(second, box), strict=True))

    def heaviest(self, box: Box, counted: frozenset[int]) -> tuple[int, tuple[int, ...]]:
        """The heaviest row of a box that is not empty, by looking at each."""
        rows = product(*(sorted(values) for values in box))
        weighed = [
            (sum(self.weights[q] for q in counted if all(row[a] in s for a, s in self.queries[q].items())), row)
            for row in rows
        ]
        return max(weighed)

    def certificate(self, nodes: list[dict[str, Any]], multipliers: list[Any], upper: int) -> dict[str, Any]:
        """A certificate with this proof, and the heaviest row for its lower end."""
        everything = tuple(frozenset(range(size)) for size in self.sizes)
        lower, row = self.heaviest(everything, frozenset(range(len(self.queries))))
        return {
            "parcomp": "certificate",
            "workload": workload_digest(self.workload()),
            "lower": lower,
            "upper": upper,
            "row": {f"a{attribute}": value for attribute, value in enumerate(row)},
            "proof": nodes,
            "multipliers": multipliers,
        }


@dataclass
class ProofMaker:
    """Grows a random proof of a problem; ``places[i]`` is the box and the counted queries of node i."""

    problem: Problem
    draw: np.random.Generator
    depth: int = 3
    nodes: list[dict[str, Any]] = field(default_factory=list)
    multipliers: list[dict[str, Any]] = field(default_factory=list)
    places: list[tuple[Box, frozenset[int]]] = field(default_factory=list)

    def prove(self, kind: str | None = None) -> int:
        """Make the proof, with a root of the given kind if there is one; the bound that it proves."""
        box = tuple(frozenset(range(size)) for size in self.problem.sizes)
        return self._grow(box, frozenset(range(len(self.problem.queries))), self.depth, kind)

    def _grow(self, box: Box, counted: frozenset[int], depth: int, kind: str | None = None) -> int:
        node: dict[str, Any] = {}
        self.nodes.append(node)
        self.places.append((box, counted))
        if kind is None:
            kind = str(self.draw.choice(KINDS if depth > 0 else KINDS[-3:]))
        bound = int(getattr(self, f"_{kind}")(node, box, counted, depth - 1))
        if all(box):
            assert bound >= self.problem.heaviest(box, counted)[0]
        return bound

    def _attribute(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        attribute = int(self.draw.integers(len(box)))
        size = self.problem.sizes[attribute]
        sets = [self._some(range(size)) for _ in range(int(self.draw.integers(0, 3)))]
        sets.append(box[attribute].difference(*sets) | self._some(range(size)))
        node |= {"attribute": f"a{attribute}", "cases": []}
        bounds = []
        for values in sets:
            node["cases"].append({"in": sorted(values), "proof": len(self.nodes)})
            bounds.append(self._grow(_with(box, attribute, box[attribute] & values), counted, depth))
        return max(bounds)

    def _queries(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        everyone = range(len(self.problem.queries))
        chosen = int(self.draw.choice(everyone))
        inside = self.problem.within(chosen, box)
        together = [q for q in everyone if q == chosen or (self.problem.within(q, box) == inside and self._coin())]
        node |= {"queries": together, "in": len(self.nodes)}
        satisfied = self._grow(inside, counted, depth)
        node["out"] = len(self.nodes)
        return max(satisfied, self._grow(box, counted.difference(together), depth))

    def _dominated(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        attribute = int(self.draw.integers(len(box)))
        seen_by = self.seen_by(attribute, box, counted)
        if self._coin():
            # The checker does without what others are better than, and without all but the first of what is alike.
            top = {v for v in seen_by if not any(seen_by[v] < seen_by[u] for u in seen_by)}
            alone = {v for v in top if not any(seen_by[v] == seen_by[u] and u < v for u in top)}
            node |= {"dominated": f"a{attribute}", "proof": len(self.nodes)}
            return self._grow(_with(box, attribute, frozenset(alone)), counted, depth)
        kept = set(box[attribute])
        for value in self.draw.permutation(sorted(kept)).tolist():
            if self._coin() and any(other != value and seen_by[value] <= seen_by[other] for other in kept):
                kept.remove(value)
        outside = self._some(set(range(self.problem.sizes[attribute])) - box[attribute])
        node |= {"dominated": f"a{attribute}", "keep": sorted(kept | outside), "proof": len(self.nodes)}
        return self._grow(_with(box, attribute, frozenset(kept)), counted, depth)

    def seen_by(self, attribute: int, box: Box, counted: frozenset[int]) -> dict[int, frozenset[int]]:
        """For each value of a box the counted queries that accept it."""
        live = self.problem.live(box, counted)
        return {v: frozenset(q for q in live if v in self.problem.accepts(q, attribute)) for v in box[attribute]}

    def _value(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        attribute = int(self.draw.integers(len(box)))
        value = int(self.draw.integers(self.problem.sizes[attribute]))
        live = self.problem.live(box, counted)
        rejecting = [q for q in live if value not in self.problem.accepts(q, attribute)]
        others = box[attribute].intersection(
            {v for q in rejecting for v in self.problem.accepts(q, attribute)},
        )
        node |= {"value": value, "of": f"a{attribute}", "like": len(self.nodes)}
        like = self._grow(_with(box, attribute, box[attribute] - others), counted, depth)
        node["rest"] = len(self.nodes)
        return max(like, self._grow(_with(box, attribute, others), counted, depth))

    def _fixing(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        """Rows of a box without a value, of the rows that a query covers, and without a query: whichever is bounded."""
        problem, unit = self.problem, gcd(*self.problem.weights)
        live = problem.live(box, counted)
        node["fixing"] = len(self.multipliers)
        scale, shares, short = self._shares(live)
        score = [{v: sum(shares[q][a] for q in live if v in problem.accepts(q, a)) for v in box[a]} for a in self._all]
        best = [max(scores.values(), default=0) for scores in score]
        whole = sum(short.values()) + sum(best)
        above = max(0, whole // scale + int(self.draw.integers(-2, 2)) * max(problem.weights) // 2)
        node |= {"above": above, "proof": len(self.nodes)}
        need = (above // unit + 1) * unit * scale
        left = tuple(frozenset(v for v in box[a] if whole - best[a] + score[a][v] >= need) for a in self._all)
        inside, gone = left, set()
        for query in live:
            copies = [q for q in live if problem.queries[q] == problem.queries[query]]
            accepts = [problem.accepts(query, a) for a in self._all]
            met = [max((score[a][v] for v in left[a] & accepts[a]), default=-1) for a in self._all]
            if whole - sum(best) + sum(met) < need:
                gone.add(query)
            given = [sum(shares[q][a] for q in copies) for a in self._all]
            missed = [max((score[a][v] - given[a] * (v in accepts[a]) for v in left[a]), default=-1) for a in self._all]
            if whole - sum(short[q] for q in copies) - sum(best) + sum(missed) < need:
                inside = tuple(values & accepted for values, accepted in zip(inside, accepts, strict=True))
        return max(above // unit * unit, self._grow(inside, counted - gone, depth))

    @property
    def _all(self) -> range:
        return range(len(self.problem.sizes))

    def _parts(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        components: list[set[int]] = []
        for query in self.problem.live(box, counted):
            near = [c for c in components if any(not self.problem.disjoint(query, other, box) for other in c)]
            components = [c for c in components if c not in near] + [{query}.union(*near)]
        if len(components) > 2 and self._coin():
            components[-2:] = [components[-2] | components[-1]]
        return max(self._divide(node, "parts", components, box, counted, depth), default=0)

    def _sum(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        parts: list[set[int]] = [set() for _ in range(int(self.draw.integers(1, 4)))]
        for query in self.problem.live(box, counted):
            parts[self.draw.integers(len(parts))].add(query)
            if self.draw.random() < 0.1:
                parts[self.draw.integers(len(parts))].add(query)
        return sum(self._divide(node, "sum", parts, box, counted, depth))

    def _divide(
        self, node: dict[str, Any], kind: str, parts: list[set[int]], box: Box, counted: frozenset[int], depth: int
    ) -> list[int]:
        node[kind] = []
        dead = set(range(len(self.problem.queries))).difference(self.problem.live(box, counted))
        bounds = []
        for part in parts:
            queries = part | self._some(dead)
            node[kind].append({"queries": sorted(queries), "proof": len(self.nodes)})
            bounds.append(self._grow(box, counted & queries, depth))
        return bounds

    def _cover(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        live = self.problem.live(box, counted)
        short = {query: self.problem.weights[query] for query in live}
        node["cover"] = []
        bound = 0
        for _ in range(int(self.draw.integers(0, 6))):
            members: list[int] = []
            for query in self.draw.permutation(live).tolist():
                if all(self.problem.disjoint(query, other, box) for other in members):
                    members.append(query)
            weight = int(self.draw.integers(0, max(self.problem.weights) + 1))
            node["cover"].append({"weight": weight, "queries": members + members[:1]})
            bound += weight
            for query in members:
                short[query] -= weight
        return bound + sum(max(0, rest) for rest in short.values())

    def _splitting(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        live = self.problem.live(box, counted)
        node["splitting"] = len(self.multipliers)
        scale, shares, short = self._shares(live)
        scores = [dict.fromkeys(values, 0) for values in box]
        for query in live:
            for attribute in self._all:
                for value in box[attribute] & self.problem.accepts(query, attribute):
                    scores[attribute][value] += shares[query][attribute]
        scaled = sum(short.values()) + sum(max(s.values(), default=0) for s in scores)
        unit = gcd(*self.problem.weights)
        return scaled // scale // unit * unit

    def _listing(self, node: dict[str, Any], box: Box, counted: frozenset[int], depth: int) -> int:
        """The heaviest row by what its queries have at least, their weight or their multipliers, if that is enough."""
        problem, unit = self.problem, gcd(*self.problem.weights)
        live = problem.live(box, counted)
        node["listing"] = len(self.multipliers)
        scale, shares, short = self._shares(live)
        rows = product(*(sorted(values) for values in box))
        reached = max(
            (sum(short[q] + sum(shares[q]) for q in live if _meets(problem.queries[q], row)) for row in rows), default=0
        )
        above = max(0, reached // scale + int(self.draw.integers(-2, 2)) * max(problem.weights) // 2)
        order = [f"a{a}" for a in self.draw.permutation(len(box)).tolist() if self._coin()]
        node |= {"order": order, "above": above, "most": 10**6}
        kept = above // unit * unit
        return max(kept, reached // scale // unit * unit) if reached >= (kept + unit) * scale else kept

    def _shares(self, live: list[int]) -> tuple[int, list[list[int]], dict[int, int]]:
        """Write random multipliers: their scale, those of each query, and what those of the live ones fall short by."""
        scale = int(self.draw.choice([1, 2, 3, 2**40]))
        fair = self._coin()
        shares, entries = [], []
        for query, weight in enumerate(self.problem.weights):
            parts = [0] * len(self._all)
            for attribute in self._all:
                if self._coin():
                    parts[attribute] = int(self.draw.integers(0, weight + 1)) * scale // len(parts)
            if fair and self.problem.queries[query]:
                attribute = int(self.draw.choice(list(self.problem.queries[query])))
                parts[attribute] += max(0, scale * weight - sum(parts))
            shares.append(parts)
            entries.append([query, {f"a{attribute}": share for attribute, share in enumerate(parts)}])
        self.multipliers.append(self._written(scale, entries))
        return scale, shares, {q: max(0, scale * self.problem.weights[q] - sum(shares[q])) for q in live}

    def _written(self, scale: int, entries: list[Any]) -> dict[str, Any]:
        """Multipliers query by query, or attribute by attribute in units, some of them in two pieces."""
        if self._coin():
            return {"scale": scale, "queries": entries}
        unit = gcd(*(share for _, shares in entries for share in shares.values())) or 1
        columns: dict[str, list[list[int]]] = {}
        for query, shares in entries:
            for name, share in shares.items():
                piece = int(self.draw.integers(0, min(share // unit, 2**60) + 1))
                queries, amounts = columns.setdefault(name, [[], []])
                queries += [query, query]
                amounts += [piece, share // unit - piece]
        return {"scale": scale, "unit": unit, "shares": columns}

    def _coin(self) -> bool:
        return bool(self.draw.random() < 0.5)

    def _some(self, items: Any) -> frozenset[int]:
        return frozenset(item for item in sorted(items) if self._coin())


def _meets(query: dict[int, frozenset[int]], row: tuple[int, ...]) -> bool:
    return all(row[attribute] in accepted for attribute, accepted in query.items())


def _with(box: Box, attribute: int, values: frozenset[int]) -> Box:
    return (*box[:attribute], values, *box[attribute + 1 :])


def random_problem(draw: np.random.Generator, *, wide: bool = False) -> Problem:
    """A few queries on up to three attributes, copies and contradictions among them; ``wide``: beyond 64 of both."""
    sizes = draw.integers(2, 5, draw.integers(1, 4)).tolist()
    if wide:
        sizes[0] = int(draw.integers(65, 301))
    queries: list[dict[int, frozenset[int]]] = []
    for _ in range(int(draw.integers(66, 90)) if wide else int(draw.integers(2, 9))):
        if queries and draw.random() < 0.2:
            queries.append(queries[draw.integers(len(queries))])
            continue
        density = draw.choice([0.03, 0.5, 0.9])
        queries.append(
            {
                a: frozenset(np.flatnonzero(draw.random(size) < density).tolist())
                for a, size in enumerate(sizes)
                if draw.random() < 0.6
            }
        )
    largest = int(draw.choice([1, 6, 2**55]))
    return Problem(sizes, queries, (int(draw.integers(1, 3)) * draw.integers(1, largest + 1, len(queries))).tolist())

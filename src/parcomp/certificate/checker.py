"""Check a certificate: plain Python and NumPy, exact integers, nothing shared with the solvers.

A certificate claims a bracket [lower, upper] around the maximum overlap γ of one workload.

The lower end is proven by a row: the queries that it satisfies weigh at least ``lower``.

The upper end is proven by a tree of cases.  At each node there is a *box*, the values still possible for each
attribute, and a set of *counted* queries; the root has all values and all queries.  The bound of a node is at least
the weight of the counted queries that any row of the box satisfies:

``{"attribute": name, "cases": [{"in": predicate, "proof": n}, …]}``
    Every row has some value of the attribute.  The predicates must cover the box; each child has the box cut down to
    one of them; the bound is the largest of the children's.
``{"queries": [i, …], "in": n, "out": n}``
    The queries cover the same rows of the box.  A row either satisfies them all (the box is cut down to their
    coverage) or none (they are no longer counted).  The bound is the larger of the two.
``{"dominated": name, "keep": predicate, "proof": n}``
    For each value of the attribute that is still possible there is a kept one that all counted queries accepting the
    former accept too.  A row loses nothing when it takes the latter, so the box is cut down to the kept values.
    Without ``keep``, the checker itself looks for values to do without.
``{"value": value, "of": name, "like": n, "rest": n}``
    Every row has a value of the attribute.  One child has those values of the box that each counted query which rejects
    ``value`` rejects too, the other child has the others.  The bound is the larger of the two.
``{"parts": [{"queries": [i, …], "proof": n}, …]}``
    Every counted query is in some part, and queries of different parts are disjoint within the box, so that a row
    meets only one part.  The bound is the largest of the children's.
``{"sum": [{"queries": [i, …], "proof": n}, …]}``
    Every counted query is in some part; overlap is subadditive.  The bound is the sum of the children's.
``{"cover": [{"weight": c, "queries": [i, …]}, …]}``
    The queries of each set are pairwise disjoint within the box, so that a row satisfies at most one of each set.  If
    query q of weight w is in sets that weigh W together, w ≤ W + max(0, w − W); summed over the queries that a row
    satisfies, the bound is the sum of all c and all shortfalls max(0, w − W).
``{"splitting": k}``
    By the k-th list of multipliers, s times the weight of a row with values v_a is at most R + Σ_a S_a(v_a): see
    :mod:`parcomp.certificate.shares`.  With each v_a at its worst, the bound is (R + Σ_a max_v S_a(v)) / s, rounded
    down to a multiple of the greatest common divisor of all weights, as every sum of weights is one.
``{"fixing": k, "above": c, "proof": n}``
    The same multipliers tell of values and queries that no row which weighs more than c has or satisfies, and of
    queries that each such row satisfies.  The child has the box and the counted queries without the former, cut down to
    what the latter cover: see :meth:`parcomp.certificate.shares.Shares.fix`.  A row weighs at most c or is a row of the
    child that weighs the same, so the bound is c or that of the child, whichever is larger.
``{"listing": k, "order": [name, …], "above": c, "most": n}``
    The checker itself lists the rows of the box that weigh more than c, attribute by attribute, and leaves out by the
    k-th multipliers what cannot weigh that much: see :mod:`parcomp.certificate.listing`.  The bound is c or the weight
    of the heaviest row that is left.  No more than n partial rows are listed.
``{"search": true}``
    No proof, only the word of the solver.

Nodes stand in one list; children come after their parents and have one parent each.  Boxes are those of
:mod:`parcomp.certificate.boxes`: values that no query tells apart are taken together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from parcomp.certificate.boxes import Flags, Numbers, Place, Space
from parcomp.certificate.shares import Shares, whole
from parcomp.costs import amount_down, amount_of, amount_up
from parcomp.errors import CertificateError, ParcompError
from parcomp.model import Predicate, Workload, parse_json, read_predicate, read_text

__all__ = ["Verdict", "load_certificate", "verify", "workload_digest"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a certificate proves of a workload, in the additive unit of its costs."""

    lower: int | float
    upper: int | float
    exact: bool
    nodes: int


def verify(workload: Workload, certificate: Mapping[str, Any]) -> Verdict:
    """Return what the certificate proves; raise :class:`CertificateError` if it does not prove its bracket."""
    try:
        # Most products are small: on several threads they wait for each other longer than they take.
        with threadpool_limits(1, "blas"):
            return _Checker(workload, certificate).verdict()
    except CertificateError:
        raise
    except (ParcompError, LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CertificateError(f"the certificate is ill formed ({type(error).__name__}: {error})") from None


def load_certificate(path: str | Path) -> Mapping[str, Any]:
    """Read a certificate file."""
    document = parse_json(path, read_text(path))
    if not isinstance(document, dict):
        raise CertificateError(f"{path}: a certificate is a JSON object")
    return document


def workload_digest(workload: Workload) -> str:
    """A fingerprint of domain, queries and costs, in order: it binds a certificate to its workload."""
    digest = sha256()
    for name, attribute in workload.domain.attributes.items():
        digest.update(json.dumps([name, attribute.describe()], ensure_ascii=False).encode())
    for predicate, attribute_index in zip(workload.table.predicates, workload.table.attributes, strict=True):
        digest.update(f"{attribute_index} {predicate.size} {predicate.edges} {predicate.bits or 0:x};".encode())
    for column in (workload.start, workload.term, workload.units, workload.kinds):
        digest.update(np.ascontiguousarray(column).astype("<i8").tobytes())
    return digest.hexdigest()


class _Checker:
    def __init__(self, workload: Workload, certificate: Mapping[str, Any]) -> None:
        if certificate["workload"] != workload_digest(workload):
            raise CertificateError("the certificate is for another workload (its fingerprint differs)")
        self.workload = workload
        self.certificate = certificate
        self.weights = [int(units) for units in workload.additive_units().tolist()]
        self.unit = gcd(*self.weights) or 1
        self.nodes: Sequence[Mapping[str, Any]] = certificate["proof"]
        self.predicates = [self._predicates(node) for node in self.nodes]
        by_attribute: dict[int, list[Predicate]] = {}
        for attribute, predicates in self.predicates:
            by_attribute.setdefault(attribute, []).extend(predicates)
        self.space = Space(workload, by_attribute)
        self.places: list[Place | None] = [None] * len(self.nodes)
        self.reached = [False] * len(self.nodes)
        self.shares: dict[int, Shares] = {}

    def verdict(self) -> Verdict:
        lower, upper = whole(self.certificate["lower"]), whole(self.certificate["upper"])
        proven_lower = self._row_weight(self.certificate["row"])
        if proven_lower < lower:
            raise CertificateError(f"the row proves {amount_of(proven_lower)}, not the lower end {amount_of(lower)}")
        proven_upper = self._tree_bound()
        if proven_upper > upper:
            raise CertificateError(f"the cases prove {amount_of(proven_upper)}, not the upper end {amount_of(upper)}")
        return Verdict(amount_down(lower), amount_up(upper), lower == upper, len(self.nodes))

    def _predicates(self, node: Mapping[str, Any]) -> tuple[int, list[Predicate]]:
        """The attribute that a node cuts, and the predicates that it cuts it down to."""
        match _kind(node):
            case "attribute":
                name, written = node["attribute"], [case["in"] for case in node["cases"]]
            case "dominated":
                name, written = node["dominated"], [node["keep"]] if "keep" in node else []
            case _:
                return -1, []
        attribute = self.workload.domain.attributes[name]
        return self.workload.domain.index(name), [read_predicate(attribute, one) for one in written]

    def _row_weight(self, row: Mapping[str, Any]) -> int:
        codes = []
        for name, attribute in self.workload.domain.attributes.items():
            code = attribute.code(row[name])
            if code is None:
                raise CertificateError(f"the row's value of {name!r} is not in the domain")
            codes.append(code)
        return sum(
            weight
            for weight, query in zip(self.weights, self.workload, strict=True)
            if all(codes[attribute] in predicate for attribute, predicate in query.terms)
        )

    def _tree_bound(self) -> int:
        """Places go down the tree in the order of the list, bounds come up in the reverse order."""
        children: list[list[int]] = []
        floors: list[int] = []
        self.places[0], self.reached[0] = self.space.root(), True
        for index, node in enumerate(self.nodes):
            place, self.places[index] = self.places[index], None
            if place is None:
                raise CertificateError(f"node {index} has no parent before it")
            children.append([self._place(index, child, below) for child, below in self._children(index, place)])
            floors.append(self._floor(node, place))
        bounds = [0] * len(self.nodes)
        for index in reversed(range(len(self.nodes))):
            below = [bounds[child] for child in children[index]]
            bounds[index] = sum(below) if _kind(self.nodes[index]) == "sum" else max([floors[index], *below])
        return bounds[0]

    def _place(self, parent: int, child: object, place: Place) -> int:
        index = whole(child)
        if not parent < index < len(self.nodes) or self.reached[index]:
            raise CertificateError(f"node {parent} points to node {index}, which is not a child of its own")
        self.places[index], self.reached[index] = place, True
        return index

    def _children(self, number: int, place: Place) -> Iterable[tuple[object, Place]]:
        node = self.nodes[number]
        match _kind(node):
            case "attribute":
                yield from self._value_cases(number, place)
            case "queries":
                queries = self._listed(node["queries"])
                yield node["in"], self.space.cut(place, self._common_rows(queries, place))
                yield node["out"], self._uncounted(place, queries)
            case "dominated":
                attribute, predicates = self.predicates[number]
                if predicates:
                    keep = self.space.cells(attribute).of(*predicates)
                    self._check_dominated(attribute, keep, place)
                else:
                    keep = self.space.thinned(attribute, place)
                yield node["proof"], self.space.cut(place, {attribute: keep})
            case "value":
                index = self.workload.domain.index(node["of"])
                code = self.workload.domain.attributes[node["of"]].code(node["value"])
                if code is None:
                    raise CertificateError(f"the value of {node['of']!r} is not in the domain")
                like = self.space.like(index, code, place)
                yield node["like"], self.space.cut(place, {index: like})
                yield node["rest"], self.space.cut(place, {index: ~like})
            case "fixing":
                yield node["proof"], self._shares(node["fixing"]).fix(place, self._above(node) + self.unit)
            case "parts" | "sum" as kind:
                parts = [self._listed(part["queries"]) for part in node[kind]]
                self._check_partition(parts, place, disjoint=kind == "parts")
                for part, queries in zip(node[kind], parts, strict=True):
                    yield part["proof"], Place(place.box, place.counted & self._flags(queries))
            case _:
                return

    def _floor(self, node: Mapping[str, Any], place: Place) -> int:
        """The bound of a leaf, or what a node claims of the rows that its child leaves out; 0 of any other node."""
        match _kind(node):
            case "cover":
                return self._cover_bound(node["cover"], place)
            case "splitting":
                shares = self._shares(node["splitting"])
                return shares.bound(place) // (shares.scale * self.unit) * self.unit
            case "fixing":
                return self._above(node)
            case "listing":
                shares, above = self._shares(node["listing"]), self._above(node)
                order = [self.workload.domain.index(name) for name in node["order"]]
                heaviest = shares.list_rows(place, order, above + self.unit, whole(node["most"]))
                return max(above, heaviest // self.unit * self.unit)
            case "search":
                raise CertificateError(
                    "the upper end rests on the solver's search, not on a proof; nothing was run again"
                )
            case _:
                return 0

    def _value_cases(self, number: int, place: Place) -> Iterable[tuple[object, Place]]:
        node, (attribute, predicates) = self.nodes[number], self.predicates[number]
        cells = self.space.cells(attribute)
        seen = np.zeros(len(cells.first), np.bool_)
        for case, predicate in zip(node["cases"], predicates, strict=True):
            inside = cells.of(predicate)
            seen |= inside
            yield case["proof"], self.space.cut(place, {attribute: inside})
        if not seen[self.space.left(attribute, place.box)].all():
            raise CertificateError(f"the cases of {node['attribute']!r} leave out values that are still possible")

    def _common_rows(self, queries: Numbers, place: Place) -> dict[int, Flags]:
        """What queries that are taken together cover."""
        if not self.space.same_rows(queries.tolist(), place.box):
            raise CertificateError("queries that are taken together cover different rows of the box")
        return self.space.coverage(int(queries[0]))

    def _check_dominated(self, attribute: int, keep: Flags, place: Place) -> None:
        """Group the cells that are left by the counted queries that accept them; each needs a kept one above it."""
        cells, left = self.space.cells(attribute), self.space.left(attribute, place.box)
        counted = np.unique(cells.predicate[place.counted])
        seen_by = cells.accepts[counted][:, left].T
        kept, dropped = (np.unique(part, axis=0) for part in (seen_by[keep[left]], seen_by[~keep[left]]))
        if len(dropped) and not _all_below(dropped, kept):
            name = self.workload.domain.names[attribute]
            raise CertificateError(f"a value of {name!r} is left out but not dominated")

    def _above(self, node: Mapping[str, Any]) -> int:
        """What a row must exceed to be of interest below a node: every weight of a row is a multiple of the unit."""
        return whole(node["above"]) // self.unit * self.unit

    def _shares(self, written: object) -> Shares:
        """The multipliers of a number, which are read once."""
        number = whole(written)
        if number not in self.shares:
            self.shares[number] = Shares(self.space, self.weights, self.certificate["multipliers"][number])
        return self.shares[number]

    def _listed(self, queries: Iterable[object]) -> Numbers:
        """Queries by number, each once and in the order of a certificate."""
        numbers = list(dict.fromkeys(whole(query) for query in queries))
        if any(number >= self.space.count for number in numbers):
            raise CertificateError(f"there is no query {max(numbers)}; the workload has {self.space.count}")
        return np.array(numbers, np.int64)

    def _flags(self, queries: Numbers) -> Flags:
        flags = np.zeros(self.space.count, np.bool_)
        flags[queries] = True
        return flags

    def _uncounted(self, place: Place, queries: Numbers) -> Place:
        return Place(place.box, place.counted & ~self._flags(queries))

    def _check_partition(self, parts: list[Numbers], place: Place, *, disjoint: bool) -> None:
        owner = np.full(self.space.count, -1, np.int64)
        for number, queries in enumerate(parts):
            owner[queries] = number
        if (owner[place.counted] < 0).any():
            raise CertificateError("the parts leave out a counted query")
        if disjoint:
            for first, second in self.space.overlapping(np.flatnonzero(place.counted), place.box):
                if owner[first] != owner[second]:
                    raise CertificateError(f"queries {first} and {second} of different parts overlap")

    def _cover_bound(self, sets: Sequence[Mapping[str, Any]], place: Place) -> int:
        short = {query: self.weights[query] for query in np.flatnonzero(place.counted).tolist()}
        bound = 0
        for entry in sets:
            weight = whole(entry["weight"])
            members = self._listed(entry["queries"])
            members = members[place.counted[members]]
            for first, second in self.space.overlapping(members, place.box):
                raise CertificateError(f"queries {first} and {second} of one cover set overlap")
            for query in members.tolist():
                short[query] -= weight
            bound += weight
        return bound + sum(max(0, rest) for rest in short.values())


_KINDS = (
    "attribute",
    "queries",
    "dominated",
    "value",
    "fixing",
    "parts",
    "sum",
    "cover",
    "splitting",
    "listing",
    "search",
)

_BLOCK = 256
"""So many kept values are compared with all that are dropped at once."""


def _all_below(dropped: Flags, kept: Flags) -> bool:
    """Whether each of the dropped rows of flags is contained in a kept one; the largest ones are tried first."""
    order = np.argsort(-kept.sum(axis=1), kind="stable")
    # Counts of flags are below 2**24, so that floats are exact.
    left, size = dropped.astype(np.float32), dropped.sum(axis=1)
    for begin in range(0, len(order), _BLOCK):
        common = left @ kept[order[begin : begin + _BLOCK]].T.astype(np.float32)
        above = (common == size[:, None]).any(axis=1)
        left, size = left[~above], size[~above]
        if not len(left):
            return True
    return False


def _kind(node: Mapping[str, Any]) -> str:
    for kind in _KINDS:
        if kind in node:
            return kind
    raise CertificateError(f"a node has none of {', '.join(_KINDS)}")

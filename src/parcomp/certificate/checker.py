"""Check a certificate: plain Python, exact integers, nothing shared with the solvers.

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
    The k-th list of multipliers λ[q, a] ≥ 0 over a common scale s.  A row with values v_a satisfies query q only if q
    accepts each v_a, so s·w_q ≤ Σ_a λ[q, a]·[q accepts v_a] + max(0, s·w_q − Σ_a λ[q, a]).  Summed over the queries
    and with each v_a at its worst, the bound is (shortfalls + Σ_a max_v Σ_q λ[q, a]·[q accepts v]) / s, rounded down
    to a multiple of the greatest common divisor of all weights, as every sum of weights is one.
``{"search": true}``
    No proof, only the word of the solver.

Nodes stand in one list; children come after their parents and have one parent each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a node stands: the constrained attributes of its box, and the counted queries as bits."""

    box: dict[int, Predicate]
    counted: int


class _Checker:
    def __init__(self, workload: Workload, certificate: Mapping[str, Any]) -> None:
        self.workload = workload
        self.certificate = certificate
        self.attributes = list(workload.domain.attributes.values())
        self.weights = [int(units) for units in workload.additive_units().tolist()]
        self.unit = gcd(*self.weights) or 1
        self.queries = [dict(query.terms) for query in workload]
        self.nodes: Sequence[Mapping[str, Any]] = certificate["proof"]
        self.contexts: list[_Context | None] = [None] * len(self.nodes)
        self.flags: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}

    def verdict(self) -> Verdict:
        if self.certificate["workload"] != workload_digest(self.workload):
            raise CertificateError("the certificate is for another workload (its fingerprint differs)")
        lower, upper = _whole(self.certificate["lower"]), _whole(self.certificate["upper"])
        proven_lower = self._row_weight(self.certificate["row"])
        if proven_lower < lower:
            raise CertificateError(f"the row proves {amount_of(proven_lower)}, not the lower end {amount_of(lower)}")
        proven_upper = self._tree_bound()
        if proven_upper > upper:
            raise CertificateError(f"the cases prove {amount_of(proven_upper)}, not the upper end {amount_of(upper)}")
        return Verdict(amount_down(lower), amount_up(upper), lower == upper, len(self.nodes))

    def _row_weight(self, row: Mapping[str, Any]) -> int:
        codes = []
        for name, attribute in self.workload.domain.attributes.items():
            code = attribute.code(row[name])
            if code is None:
                raise CertificateError(f"the row's value of {name!r} is not in the domain")
            codes.append(code)
        return sum(
            weight
            for weight, terms in zip(self.weights, self.queries, strict=True)
            if all(codes[attribute] in predicate for attribute, predicate in terms.items())
        )

    def _tree_bound(self) -> int:
        """Contexts go down the tree in the order of the list, bounds come up in the reverse order."""
        children: list[list[int]] = []
        self.contexts[0] = _Context({}, (1 << len(self.queries)) - 1)
        for index, node in enumerate(self.nodes):
            context = self.contexts[index]
            if context is None:
                raise CertificateError(f"node {index} has no parent before it")
            children.append([self._place(index, child, below) for child, below in self._children(node, context)])
        bounds = [0] * len(self.nodes)
        for index in reversed(range(len(self.nodes))):
            below = [bounds[child] for child in children[index]]
            node, context = self.nodes[index], self.contexts[index]
            assert context is not None
            bounds[index] = self._bound(node, context, below)
        return bounds[0]

    def _place(self, parent: int, child: object, context: _Context) -> int:
        index = _whole(child)
        if not parent < index < len(self.nodes) or self.contexts[index] is not None:
            raise CertificateError(f"node {parent} points to node {index}, which is not a child of its own")
        self.contexts[index] = context
        return index

    def _children(self, node: Mapping[str, Any], context: _Context) -> Iterable[tuple[object, _Context]]:
        match _kind(node):
            case "attribute":
                yield from self._value_cases(node, context)
            case "queries":
                bits = self._bits(node["queries"])
                yield node["in"], _Context(self._common_box(node["queries"], context), context.counted)
                yield node["out"], _Context(context.box, context.counted & ~bits)
            case "dominated":
                index = self.workload.domain.index(node["dominated"])
                keep = read_predicate(self.attributes[index], node["keep"])
                self._check_dominated(index, keep, context)
                yield node["proof"], _Context(self._cut(context.box, {index: keep}), context.counted)
            case "parts" | "sum" as kind:
                parts = [self._bits(part["queries"]) for part in node[kind]]
                self._check_partition(parts, context, disjoint=kind == "parts")
                for part, bits in zip(node[kind], parts, strict=True):
                    yield part["proof"], _Context(context.box, context.counted & bits)
            case _:
                return

    def _bound(self, node: Mapping[str, Any], context: _Context, below: list[int]) -> int:
        match _kind(node):
            case "attribute" | "queries" | "dominated" | "parts":
                return max(below, default=0)
            case "sum":
                return sum(below)
            case "cover":
                return self._cover_bound(node["cover"], context)
            case "splitting":
                return self._splitting_bound(self.certificate["multipliers"][_whole(node["splitting"])], context)
            case _:
                raise CertificateError(
                    "the upper end rests on the solver's search, not on a proof; nothing was run again"
                )

    def _value_cases(self, node: Mapping[str, Any], context: _Context) -> Iterable[tuple[object, _Context]]:
        index = self.workload.domain.index(node["attribute"])
        missed = context.box.get(index, Predicate.tautology(self.attributes[index].size))
        for case in node["cases"]:
            predicate = read_predicate(self.attributes[index], case["in"])
            missed &= ~predicate
            yield case["proof"], _Context(self._cut(context.box, {index: predicate}), context.counted)
        if not missed.is_contradiction:
            raise CertificateError(f"the cases of {node['attribute']!r} leave out values that are still possible")

    def _common_box(self, queries: Sequence[object], context: _Context) -> dict[int, Predicate]:
        boxes = [self._cut(context.box, self.queries[_whole(query)]) for query in queries]
        full = [{a: p for a, p in box.items() if not p.is_tautology} for box in boxes]
        if any(other != full[0] for other in full):
            raise CertificateError("queries that are taken together cover different rows of the box")
        return full[0]

    def _check_dominated(self, index: int, keep: Predicate, context: _Context) -> None:
        """Group the possible values by the counted queries that accept them; each group needs a kept one above it."""
        possible = context.box.get(index, Predicate.tautology(self.attributes[index].size))
        concerned = [query for query in self._live(context) if index in self.queries[query]]
        predicates = [self.queries[query][index] for query in concerned]
        kept = _patterns(predicates, possible & keep)
        for pattern in _patterns(predicates, possible & ~keep) - kept:
            if not any(pattern & ~above == 0 for above in kept):
                raise CertificateError(
                    f"a value of {self.workload.domain.names[index]!r} is left out but not dominated"
                )

    def _cut(self, box: dict[int, Predicate], terms: Mapping[int, Predicate]) -> dict[int, Predicate]:
        return box | {index: box[index] & p if index in box else p for index, p in terms.items()}

    def _bits(self, queries: Iterable[object]) -> int:
        bits = 0
        for query in queries:
            number = _whole(query)
            # The bit of a number that is no query would take as much memory as the number says.
            if number >= len(self.queries):
                raise CertificateError(f"there is no query {number}; the workload has {len(self.queries)}")
            bits |= 1 << number
        return bits

    def _live(self, context: _Context) -> list[int]:
        """The counted queries that some row of the box satisfies."""
        if any(predicate.is_contradiction for predicate in context.box.values()):
            return []
        return [
            query
            for query, terms in enumerate(self.queries)
            if context.counted >> query & 1
            and not any(
                p.is_contradiction or (a in context.box and p.isdisjoint(context.box[a])) for a, p in terms.items()
            )
        ]

    def _possible(self, attribute: int, context: _Context) -> npt.NDArray[np.int64]:
        """The codes of the values that the box leaves."""
        box = context.box.get(attribute)
        return np.arange(self.attributes[attribute].size) if box is None else np.flatnonzero(box.flags())

    def _accepts(self, query: int, attribute: int) -> npt.NDArray[np.bool_]:
        """One boolean for each value of the attribute; kept, since a proof asks for the same ones many times."""
        if (query, attribute) not in self.flags:
            size = self.attributes[attribute].size
            self.flags[query, attribute] = self.queries[query].get(attribute, Predicate.tautology(size)).flags()
        return self.flags[query, attribute]

    def _check_partition(self, parts: list[int], context: _Context, *, disjoint: bool) -> None:
        live = self._live(context)
        union = 0
        for part in parts:
            union |= part
        if any(not union >> query & 1 for query in live):
            raise CertificateError("the parts leave out a counted query")
        if disjoint:
            owner = {query: number for number, part in enumerate(parts) for query in live if part >> query & 1}
            for first, second in combinations(live, 2):
                if owner[first] != owner[second] and not self._disjoint(first, second, context.box):
                    raise CertificateError(f"queries {first} and {second} of different parts overlap")

    def _disjoint(self, first: int, second: int, box: Mapping[int, Predicate]) -> bool:
        mine, theirs = self.queries[first], self.queries[second]
        for attribute in sorted(mine.keys() & theirs.keys(), key=lambda a: self.attributes[a].size):
            joint = mine[attribute] & theirs[attribute]
            if joint.is_contradiction or (attribute in box and joint.isdisjoint(box[attribute])):
                return True
        return False

    def _cover_bound(self, sets: Sequence[Mapping[str, Any]], context: _Context) -> int:
        short = {query: self.weights[query] for query in self._live(context)}
        bound = 0
        for entry in sets:
            weight = _whole(entry["weight"])
            members = [query for query in {_whole(query) for query in entry["queries"]} if query in short]
            for first, second in combinations(members, 2):
                if not self._disjoint(first, second, context.box):
                    raise CertificateError(f"queries {first} and {second} of one cover set overlap")
            for query in members:
                short[query] -= weight
            bound += weight
        return bound + sum(max(0, rest) for rest in short.values())

    def _splitting_bound(self, splitting: Mapping[str, Any], context: _Context) -> int:
        scale = _whole(splitting["scale"])
        if scale < 1:
            raise CertificateError("the scale of the multipliers must be positive")
        live = self._live(context)
        short = {query: self.weights[query] * scale for query in live}
        # No score exceeds the sum of all multipliers: below 2**62 sums of 64 bits are exact, else Python integers are.
        largest = sum(_whole(m) for shares in splitting["queries"] for m in shares[1].values())
        dtype = np.int64 if largest < 2**62 else np.object_
        scores: dict[int, npt.NDArray[Any]] = {}
        possible: dict[int, npt.NDArray[np.int64]] = {}
        for number, shares in splitting["queries"]:
            query = _whole(number)
            if query not in short:
                continue
            for name, multiplier in shares.items():
                attribute = self.workload.domain.index(name)
                if attribute not in scores:
                    possible[attribute] = self._possible(attribute, context)
                    scores[attribute] = np.zeros(len(possible[attribute]), dtype)
                share = _whole(multiplier)
                scores[attribute][self._accepts(query, attribute)[possible[attribute]]] += share
                short[query] -= share
        best = sum(max(0, rest) for rest in short.values())
        best += sum(int(score.max()) for score in scores.values() if len(score))
        return best // (scale * self.unit) * self.unit


_KINDS = ("attribute", "queries", "dominated", "parts", "sum", "cover", "splitting", "search")


def _patterns(predicates: Sequence[Predicate], values: Predicate) -> set[int]:
    """For each of the values the set of predicates that accept it, as bits; each set once."""
    everything = [*predicates, values]
    if all(predicate.edges is not None for predicate in everything):
        # Between two neighboring edges nothing changes, so one code stands for all that lie there.
        codes = np.unique(np.array([0, *(edge for p in everything for edge in p.edges or ())], np.int64))
        codes = codes[codes < values.size]
    else:
        codes = np.arange(values.size)
    codes = codes[values.flags_at(codes)]
    if not predicates or not len(codes):
        return {0} if len(codes) else set()
    accepts = np.array([predicate.flags_at(codes) for predicate in predicates])
    columns = np.unique(np.packbits(accepts, axis=0, bitorder="little").T, axis=0)
    return {int.from_bytes(column.tobytes(), "little") for column in columns}


def _kind(node: Mapping[str, Any]) -> str:
    for kind in _KINDS:
        if kind in node:
            return kind
    raise CertificateError(f"a node has none of {', '.join(_KINDS)}")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CertificateError(f"{value!r} is not a whole number")
    return value

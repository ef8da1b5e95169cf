"""Hypothesis strategies for attributes, domains, predicates, queries and workloads.

Everything here is small enough to be checked against plain enumeration of values or rows.  Predicates are drawn in
written notation, as files have them, with values outside the domain and contradictions among them.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from math import prod
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from parcomp.costs import COST_KINDS, Cost
from parcomp.model.attribute import Attribute, Binned, Categorical, Dated, Integer, Numeric, Stepped
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload

__all__ = [
    "amounts",
    "attributes",
    "binned",
    "categoricals",
    "costs",
    "dated",
    "domains",
    "few",
    "integers",
    "many",
    "scalars",
    "stepped",
    "tiny_workloads",
    "wheres",
    "workloads",
    "written_predicates",
]

many = settings(max_examples=70, deadline=None)
few = settings(max_examples=30, deadline=None)

_MAX_ROWS = 2_000
_NAMES = ("a", "b", "c d", "größe", "not")


def categoricals(max_size: int = 8) -> st.SearchStrategy[Categorical]:
    """Named values: of one type, or strings, integers and booleans mixed (1, true and "1" are different values)."""
    kinds = [st.sampled_from(["", "a", "b", "N", "1", "true", "é\n"]), st.integers(-3, 12), st.booleans()]
    lists = [st.lists(kind, min_size=1, max_size=max_size) for kind in (*kinds, st.one_of(kinds))]
    unique = st.one_of(lists).map(lambda values: list({(type(value), value): value for value in values}.values()))
    return st.builds(Categorical, unique, st.booleans()).flatmap(_with_levels)


def _with_levels(attribute: Categorical) -> st.SearchStrategy[Categorical]:
    """The same attribute, with up to two groupings of its values."""
    level = st.lists(st.sampled_from(["x", "y", "é"]), min_size=attribute.null, max_size=attribute.null).map(
        lambda groups: {
            group: [value for value, own in zip(attribute.values, groups, strict=True) if own == group]
            for group in dict.fromkeys(groups)
        }
    )
    levels = st.dictionaries(st.sampled_from(["level 1", "level 2"]), level, max_size=2)
    return levels.map(lambda found: Categorical(attribute.values, attribute.nullable, found))


@st.composite
def integers(draw: st.DrawFn, max_size: int = 12) -> Integer:
    """Ranges of integers, negative ones and such beyond floats and 64 bits among them."""
    low = draw(st.integers(-20, 20) | st.sampled_from([-(10**18), 2**53, 2**63 - 3, 10**30, -(10**30)]))
    return Integer(low, low + draw(st.integers(0, max_size - 1)), draw(st.booleans()), draw(st.booleans()))


@st.composite
def binned(draw: st.DrawFn, max_size: int = 10) -> Binned:
    """Bins of whole and of fractional width, thirds among them, which have no finite decimal notation."""
    low = draw(st.integers(-10, 10) | st.sampled_from([Decimal("0.1"), -0.7, 2.5, 10**17]))
    extent = draw(st.integers(1, 20) | st.sampled_from([Decimal("0.3"), 0.5]))
    bins = draw(st.integers(1, max_size))
    if low == 10**17:
        extent = bins * draw(st.integers(1, 3))
    high = Decimal(str(low)) + Decimal(str(extent))
    end = draw(st.sampled_from([high, int(high) if high == int(high) else float(high)]))
    return Binned(low, end, bins, draw(st.booleans()), draw(st.booleans()))


@st.composite
def stepped(draw: st.DrawFn, max_size: int = 12) -> Stepped:
    """Multiples of whole and of fractional steps, such among them that floats can just tell apart."""
    step = Decimal(draw(st.sampled_from(["0.01", "0.05", "2.5", "0.125", "1", "3", "10", "1e30", "1e-9", "7e-300"])))
    whole = step == int(step)
    far = 10**20 // 7 if whole else (10**15 - 1) // int("".join(map(str, step.as_tuple().digits))) - max_size
    base = draw(st.integers(-30, 30) | st.sampled_from([far, -far]))
    ends = (step * base, step * (base + draw(st.integers(0, max_size - 1))))
    # Whole numbers may have more digits than floats.
    low, high, given = (
        draw(st.sampled_from([one, str(one), int(one) if whole else float(one)])) for one in (*ends, step)
    )
    return Stepped(low, high, given, draw(st.booleans()), draw(st.booleans()))


@st.composite
def dated(draw: st.DrawFn, max_size: int = 12) -> Dated:
    """Days, hours, months and years, around the turns of months and years and at the ends of the calendar."""
    day = draw(st.dates() | st.sampled_from([date(1, 1, 1), date(2020, 2, 20), date(1999, 12, 29), date(9999, 12, 30)]))
    last = min(day.toordinal() + draw(st.integers(0, max_size - 1)), date.max.toordinal())
    unit = draw(st.sampled_from(["day", "hour", "month", "year"]))
    nullable = draw(st.booleans())
    if unit == "day":
        return Dated(day, date.fromordinal(last), "day", nullable)
    if unit == "hour":
        start = datetime(day.year, day.month, day.day, draw(st.integers(0, 12)))
        return Dated(start, start + timedelta(hours=min(draw(st.integers(0, max_size - 1)), 11)), "hour", nullable)
    span = draw(st.integers(0, max_size - 1))
    if unit == "year":
        return Dated(f"{day.year:04}", f"{min(day.year + span, 9999):04}", "year", nullable)
    month = min(day.year * 12 + day.month - 1 + span, 9999 * 12 + 11)
    return Dated(day.isoformat()[:7], f"{month // 12:04}-{month % 12 + 1:02}", "month", nullable)


def attributes(max_size: int = 8) -> st.SearchStrategy[Attribute]:
    """Attributes of all kinds, nullable or not."""
    return st.one_of(categoricals(max_size), integers(max_size), binned(max_size), stepped(max_size), dated(max_size))


def _own_levels(name: str, attribute: Attribute) -> Attribute:
    """The same attribute, with levels that no other attribute of the domain has."""
    if not isinstance(attribute, Categorical):
        return attribute
    levels = {f"{level} of {name}": groups for level, groups in attribute.levels.items()}
    return Categorical(attribute.values, attribute.nullable, levels)


@st.composite
def domains(draw: st.DrawFn, max_attributes: int = 4, max_rows: int = _MAX_ROWS) -> Domain:
    """Domains with at most ``max_rows`` rows."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=max_attributes, unique=True))
    chosen: dict[str, Attribute] = {}
    for name in names:
        rows = prod(attribute.size for attribute in chosen.values())
        # One value less than what fits, to leave room for null.
        chosen[name] = _own_levels(name, draw(attributes(min(8, max(max_rows // rows - 1, 1)))))
        if rows * chosen[name].size > max_rows:
            del chosen[name]
            break
    return Domain(chosen or {"a": Integer(0, 1)})


def scalars(attribute: Attribute) -> st.SearchStrategy[Any]:
    """Values of the attribute, and others of its type."""
    inside = st.integers(0, attribute.size - 1).map(attribute.value)
    if isinstance(attribute, Categorical):
        strangers = {str: ["zz", "N "], int: [99, -99, 10**30], bool: [True, False]}
        return inside | st.sampled_from([x for value in attribute.values for x in strangers[type(value)]])
    if isinstance(attribute, Integer):
        return inside | st.integers(attribute.low - 5, attribute.high + 5) | st.just(10**400)
    if isinstance(attribute, Dated):
        strangers = {"day": 10, "hour": 13, "month": 7, "year": 4}
        return inside | st.sampled_from(["1234-12-12T12", "9998-01-01T00", "0002-02-02T23"]).map(
            lambda text: text[: strangers[attribute.unit]]
        )
    if isinstance(attribute, Stepped):
        return inside | st.sampled_from([Decimal("0.005"), 1e200, -7, 10**400, Decimal("-1e-9999"), 1 / 3])
    assert isinstance(attribute, Binned)
    low, high = attribute.low, attribute.high
    return inside | st.sampled_from([high, high + 1, high + 1000, low - 1, low - 1000, 1e200, Decimal("-1e200")])


@st.composite
def _ranges(draw: st.DrawFn, attribute: Attribute) -> dict[str, Any]:
    null = attribute.size - 1 if attribute.nullable else attribute.size
    first = draw(st.integers(0, null - 1))
    last = draw(st.integers(first, null - 1))
    low, high = attribute.value(first), attribute.edge(last + 1)
    if isinstance(attribute, Dated) and draw(st.booleans()):
        low = "0001-01-01T00"[: len(str(low))]
    if isinstance(attribute, Numeric):
        below, above = draw(st.sampled_from([(0, 0), (3, 0), (0, 3), (3, 3)]))
        assert isinstance(attribute, Integer | Binned | Stepped)
        low = low if not below else attribute.low - below  # type: ignore[operator]
        high = high if not above else attribute.high + above  # type: ignore[operator]
    return {"from": low, attribute.range_end: high}


def written_predicates(attribute: Attribute) -> st.SearchStrategy[Any]:
    """Predicates as files have them: scalars, ranges, lists of both, and the negations of all these."""
    parts = scalars(attribute) | _ranges(attribute)
    positive = parts | st.lists(parts, max_size=5)
    return st.recursive(positive, lambda inner: st.fixed_dictionaries({"not": inner}), max_leaves=3)


@st.composite
def wheres(draw: st.DrawFn, domain: Domain) -> dict[str, Any]:
    """What a query asks for, by attribute; some attributes are left out."""
    names = draw(st.lists(st.sampled_from(domain.names), unique=True, max_size=len(domain.names)))
    return {name: draw(written_predicates(domain.attributes[name])) for name in names}


def amounts() -> st.SearchStrategy[int | Decimal]:
    """Whole numbers up to a million, and decimals down to a billionth."""
    decimals = st.integers(1, 5 * 10**12).map(lambda units: Decimal(units).scaleb(-9))
    return st.one_of(st.integers(1, 10), st.integers(1, 10**6), decimals)


def costs() -> st.SearchStrategy[Cost]:
    """Costs of all kinds."""
    return st.builds(Cost.of, st.sampled_from(COST_KINDS), amounts())


@st.composite
def workloads(draw: st.DrawFn, max_queries: int = 30, one_kind: bool = True) -> Workload:
    """Workloads with costs and ids; with ``one_kind`` all costs are of one kind, so that they can be compiled."""
    domain = draw(domains())
    queries = [domain.query(where) for where in draw(st.lists(wheres(domain), max_size=max_queries))]
    if one_kind:
        kind = draw(st.sampled_from(COST_KINDS))
        # The square of a larger mu cannot be booked.
        amount = amounts() if kind != "mu" else amounts().filter(lambda amount: amount < 10_000)
        one_cost = amount.map(lambda amount: Cost.of(kind, amount))
    else:
        one_cost = costs()
    spent = draw(st.lists(one_cost, min_size=len(queries), max_size=len(queries)))
    names = st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5) | st.integers(-5, 100),
        min_size=len(queries),
        max_size=len(queries),
        unique_by=str,
    )
    return Workload(domain, queries, spent, draw(st.none() | names))


def tiny_workloads() -> st.SearchStrategy[Workload]:
    """Workloads of few queries, for checks that take every row and every query."""
    return workloads(max_queries=8)

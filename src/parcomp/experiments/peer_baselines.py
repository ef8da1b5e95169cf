"""What needs no other environment: sequential composition, a budget for every element of the domain, and Parcomp.

*Sequential composition* adds up what was spent.  *Enumeration* keeps what was spent on each element of the domain of
the attributes that are asked about, in the manner of Cohere (Küchler, Opel, Lycklama, Viand and Hithnawi 2024): its
decisions are exact, and its memory grows with the domain.  Both get exact noise from Parcomp's own sampler.  *Parcomp*
is a custodian with a ledger on the disk, as an analyst meets it.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import parcomp as pc
from parcomp.errors import RefusedError
from parcomp.experiments.peer_environments import PeerError
from parcomp.experiments.peer_work import Ask, Work
from parcomp.noise import Mechanism, add_noise

__all__ = ["Answers", "enumeration", "parcomp_online", "parcomp_planned", "sequential"]

Answers = list[list[float | None] | None]
"""For each ask its numbers, or None if it was refused."""

_LARGEST = 1 << 33
"""Bytes that the enumeration may take."""


def sequential(work: Work, epsilon: float, each: float) -> Answers:
    """Answer as long as the sum of all costs is within the budget."""
    affordable = _units(epsilon, each)
    return _answered(work, each, lambda number, _ask: number < affordable)


def enumeration(work: Work, epsilon: float, each: float) -> Answers:
    """Answer what no element of the domain has too much spent on; a byte each."""
    asked = [name for name in work.sizes if any(name in ask.where for ask in work.asks)]
    elements = math.prod(work.sizes[name] for name in asked)
    if elements > _LARGEST:
        raise PeerError(f"not started: a byte for each of {elements:.2g} elements is {elements / 2**30:,.0f} GiB")
    affordable = _units(epsilon, each)
    kind = np.min_scalar_type(affordable)
    spent = np.zeros([work.sizes[name] for name in asked], kind)

    def fits(_number: int, ask: Ask) -> bool:
        whole = {name: (0, work.sizes[name] - 1) for name in asked} | ask.where
        part = spent[tuple(slice(low, high + 1) for low, high in (whole[name] for name in asked))]
        if int(part.max()) >= affordable:
            return False
        part += 1
        return True

    return _answered(work, each, fits)


def _answered(work: Work, each: float, fits: Callable[[int, Ask], bool]) -> Answers:
    noise = Mechanism("discrete-laplace", 1 / each)
    found: Answers = []
    for number, (ask, true) in enumerate(zip(work.asks, work.truth(), strict=True)):
        found.append([float(value) for value in add_noise(noise, true)] if fits(number, ask) else None)
    return found


def _units(epsilon: float, each: float) -> int:
    return int(epsilon / each + 1e-9)


def parcomp_online(work: Work, epsilon: float, each: float) -> Answers:
    """Ask one by one, each at its cost, until and beyond the first refusal."""
    found: Answers = []
    with tempfile.TemporaryDirectory() as place, _custodian(work, epsilon, Path(place)) as custodian:
        for ask in work.asks:
            try:
                found.append(_numbers(custodian.ask(ask.sql(work.name), epsilon=f"{each:.9f}")))
            except RefusedError:
                found.append(None)
    return found


def parcomp_planned(work: Work, epsilon: float, _each: float) -> Answers:
    """Ask for all at once, with the budget shared out for the least error."""
    with tempfile.TemporaryDirectory() as place, _custodian(work, epsilon, Path(place)) as custodian:
        batch = custodian.ask_batch([ask.sql(work.name) for ask in work.asks], budget=f"{epsilon}")
        return [_numbers(answer) for answer in batch]


def _custodian(work: Work, epsilon: float, place: Path) -> pc.Custodian:
    return pc.Custodian(
        pa.table(work.columns), domain=work.domain, measure="pure", budget=f"{epsilon}", ledger=place / "ledger.db"
    )


def _numbers(answer: pc.Answer) -> list[float | None]:
    (column,) = answer.measured
    return [None if value is None else float(value) for value in column.values]

"""What a solver says: a bracket around the maximum overlap, and a row that proves its lower end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy.typing as npt

from parcomp.errors import ParcompError
from parcomp.model import QueryId, Value

__all__ = ["METHODS", "Bracket", "MaximumOverlap", "Method", "bounded"]

Method: TypeAlias = Literal["auto", "exact", "clique", "chromatic", "brute-force"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)


def bounded(why: str, *, exact: bool) -> str:
    """The line of an explanation that says why no row weighs more than the upper end of a bracket."""
    return f"no row weighs more{'' if exact else ' than the upper end'}: {why}"


@dataclass(frozen=True, slots=True)
class Bracket:
    """Bounds around a maximum overlap: no row weighs more than ``upper``, and ``row``, where kept, weighs ``lower``.

    A row has a value for each attribute: its code, or its number among those of a compiled workload.
    """

    lower: int
    upper: int
    row: npt.NDArray[Any] | None = field(default=None, repr=False, compare=False)
    explanation: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            # A fault in a kernel, or in the machine: charging by the upper end would under-state the loss.
            raise ParcompError(
                f"the solver contradicts itself: a row weighs {self.lower}, above the bound of {self.upper} that it "
                "has proven; nothing is answered by it. Reinstall Parcomp, and report this if it happens again"
            )

    @property
    def exact(self) -> bool:
        """Whether both ends meet."""
        return self.lower == self.upper


@dataclass(frozen=True, slots=True)
class MaximumOverlap:
    """A bracket [``lower``, ``upper``] around the maximum overlap γ of a workload.

    ``upper`` is proven and is what privacy is charged by; ``lower`` is the weight of ``members``, the queries that
    the row ``witness`` satisfies.  Both are in the additive unit of the workload's costs (μ² for ``mu``).
    ``explanation`` says in lines of text how the workload was made smaller, and why no row weighs more than ``upper``.
    ``prove`` works out ``certificate``; it is given the time, of ``time.monotonic``, when a proof is given up, or None.
    """

    queries: int
    method: Method
    lower: int | float
    upper: int | float
    exact: bool
    total: int | float
    witness: dict[str, Value]
    members: list[QueryId]
    seconds: float
    explanation: tuple[str, ...] = field(repr=False)
    prove: Callable[[float | None], dict[str, Any]] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        bracket = f"{self.upper:,}" if self.exact else f"{self.lower:,} … {self.upper:,}"
        queries = "1 query" if self.queries == 1 else f"{self.queries:,} queries"
        return f"<MaximumOverlap of {queries}: {bracket}, of {self.total:,} in all>"

    @property
    def certificate(self) -> dict[str, Any]:
        """A proof of the bracket that :func:`parcomp.verify` checks; it is worked out when first asked for."""
        return self.prove(None)

    @property
    def gain(self) -> float:
        """The utility gain over sequential composition, 1 − upper/total (paper §3.3)."""
        return 1 - self.upper / self.total if self.total else 0.0

    def as_json(self, workload: str) -> dict[str, Any]:
        """The answer as the command line's ``--json`` prints it."""
        return {
            "workload": workload,
            "queries": self.queries,
            "method": self.method,
            "lower": self.lower,
            "upper": self.upper,
            "exact": self.exact,
            "total": self.total,
            "gain": self.gain,
            "witness": self.witness,
            "members": self.members,
            "seconds": self.seconds,
        }

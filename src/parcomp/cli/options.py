"""The arguments and options that commands share: each means the same, and is checked the same, wherever it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from parcomp.errors import ArgumentError

__all__ = [
    "Analyst",
    "Custodian",
    "Derive",
    "DomainFile",
    "Dummy",
    "Epsilon",
    "Json",
    "Key",
    "MeasureOption",
    "Mu",
    "Picture",
    "Rho",
    "Sql",
    "TimeLimit",
    "WorkloadFile",
]


def _positive(seconds: float) -> float:
    if not 0 < seconds < float("inf"):
        raise ArgumentError(f"--time-limit must be a positive number of seconds, not {seconds}")
    return seconds


WorkloadFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A workload file (.jsonl or .sql).", show_default=False)
]
DomainFile: TypeAlias = Annotated[
    Path, typer.Option("--domain", metavar="FILE", help="The domain file (.json, .toml or .yaml).", show_default=False)
]
MeasureOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="pure|zcdp|gdp",
        help="pure: ε. zcdp: ρ. gdp: μ. Plain weights are in its additive unit (μ² for gdp).",
    ),
]
TimeLimit: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="How long a search may take.", callback=_positive)
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
Picture: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a picture of it (PNG).", show_default=False)
]
Custodian: TypeAlias = Annotated[
    Path, typer.Option("--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings.", show_default=False)
]
Sql: TypeAlias = Annotated[
    str, typer.Argument(metavar="SQL", help="SELECT COUNT(*) FROM … WHERE … GROUP BY …", show_default=False)
]
Epsilon: TypeAlias = Annotated[
    str | None, typer.Option("--epsilon", metavar="X", help="The cost, under pure DP.", show_default=False)
]
Rho: TypeAlias = Annotated[
    str | None, typer.Option("--rho", metavar="X", help="The cost, under zCDP.", show_default=False)
]
Mu: TypeAlias = Annotated[
    str | None, typer.Option("--mu", metavar="X", help="The cost, under Gaussian DP.", show_default=False)
]
Analyst: TypeAlias = Annotated[
    str, typer.Option("--as", metavar="NAME", help="The analyst who asks.", show_default=False)
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--key", metavar="KEY", help="The same request with the same key is charged once.", show_default=False
    ),
]
Dummy: TypeAlias = Annotated[
    bool, typer.Option("--dummy", help="Rehearse: answer from random rows of the domain, free, without the data.")
]
Derive: TypeAlias = Annotated[
    bool,
    typer.Option("--derive", help="Answer from what was released before, free; exit code 3 if nothing gives it."),
]

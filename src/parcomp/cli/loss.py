"""``parcomp loss``: what answering a workload discloses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcomp.cli.progress import bracket_progress
from parcomp.errors import ParcompError
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload

if TYPE_CHECKING:
    from parcomp.privacy.loss import PrivacyLoss

__all__ = ["loss"]

_BAR = 48
"""Characters of the longest bar."""


def loss(
    workload: Annotated[
        Path, typer.Argument(metavar="WORKLOAD", help="A workload file (.jsonl or .sql).", show_default=False)
    ],
    domain: Annotated[
        Path, typer.Option(metavar="FILE", help="The domain file (.json, .toml or .yaml).", show_default=False)
    ],
    measure: Annotated[
        str,
        typer.Option(
            metavar="pure|zcdp|gdp",
            help="pure: ε. zcdp: ρ. gdp: μ. Plain weights are in its additive unit (μ² for gdp).",
        ),
    ],
    neighbours: Annotated[
        str, typer.Option(metavar="add-remove|replace-one", help="What two neighboring tables differ by.")
    ] = "add-remove",
    rows_per_person: Annotated[int, typer.Option(metavar="K", help="The most rows that one person can own.")] = 1,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="For the overlap.")] = 60.0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the trade-off functions of both losses (PNG).", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Compute the privacy loss of a workload by its maximum overlap, beside the sequential loss."""
    if not 0 < time_limit < float("inf"):
        raise ParcompError(f"--time-limit must be a positive number of seconds, not {time_limit}")

    from parcomp.privacy.loss import privacy_loss  # noqa: PLC0415  numba is slow to import; --help must not wait for it
    from parcomp.privacy.measures import (  # noqa: PLC0415  the same
        check_neighbours,
        check_rows_per_person,
        find_measure,
    )

    kind, relation, rows = find_measure(measure), check_neighbours(neighbours), check_rows_per_person(rows_per_person)
    read = Workload.load(Domain.load(domain), workload)
    with bracket_progress(str(workload), time_limit) as progress:
        answer = privacy_loss(read, kind.name, relation, rows, time_limit=time_limit, progress=progress)
    if plot is not None:
        _draw(plot, answer)
    if as_json:
        print(json.dumps(answer.as_json()))
    else:
        _print(str(workload), answer, kind.symbol)


def _print(title: str, answer: PrivacyLoss, symbol: str) -> None:
    from rich.console import Console  # noqa: PLC0415  only people need it
    from rich.table import Table  # noqa: PLC0415  the same
    from rich.text import Text  # noqa: PLC0415  the same

    console = Console(highlight=False)
    console.print(Text(title, style="bold underline"))
    chart = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    chart.add_column(style="bold", no_wrap=True)
    chart.add_column(no_wrap=True)
    chart.add_column(no_wrap=True)
    for name, value, style in (("sequential", answer.sequential, "red"), ("by overlap", answer.loss, "green")):
        length = round(_BAR * value / answer.sequential) if answer.sequential else 0
        chart.add_row(name, f"{symbol} = {value:,.6g}", Text("█" * max(length, 1 if value else 0), style=style))
    console.print(chart)
    console.print(f"saved {answer.saved:.1%} of the loss of {answer.queries:,} queries in {answer.seconds:.2f} s")
    quality = (
        "the overlap is exact"
        if answer.exact
        else f"the overlap is bracketed; the loss by it is at least {answer.lower:,.6g}"
    )
    console.print(f"guarantee: {answer.guarantee}; {quality}")


def _draw(path: Path, answer: PrivacyLoss) -> None:
    from parcomp.privacy.guarantees import tradeoff_of  # noqa: PLC0415  dp-accounting is slow to import
    from parcomp.privacy.plot import save_tradeoffs  # noqa: PLC0415  the same

    functions = {
        f"sequential, {answer.sequential:,.4g}": tradeoff_of(answer.measure, answer.sequential),
        f"by overlap, {answer.loss:,.4g}": tradeoff_of(answer.measure, answer.loss),
    }
    save_tradeoffs(path, functions, f"what {answer.queries:,} queries disclose", answer.guarantee)

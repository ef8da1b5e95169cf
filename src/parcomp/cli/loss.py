"""``parcomp loss``: what answering a workload discloses."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import parcomp as pc
from parcomp import privacy
from parcomp.cli.options import DomainFile, Json, MeasureOption, Picture, TimeLimit, WorkloadFile
from parcomp.costs import short_up
from parcomp.tabular import counted

__all__ = ["loss"]


def loss(
    workload: WorkloadFile,
    domain: DomainFile,
    measure: MeasureOption,
    neighbours: Annotated[
        str, typer.Option(metavar="add-remove|replace-one", help="What two neighboring tables differ by.")
    ] = "add-remove",
    rows_per_person: Annotated[int, typer.Option(metavar="K", help="The most rows that one person can own.")] = 1,
    time_limit: TimeLimit = 60.0,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """Compute the privacy loss of a workload by its maximum overlap, beside the sequential loss."""
    # What is cheap to check is checked before a large file is read.
    kind, relation = privacy.find_measure(measure), privacy.Neighbours(neighbours)
    rows = privacy.check_rows_per_person(rows_per_person)
    read = pc.Workload.load(pc.Domain.load(domain), workload)

    from parcomp.cli.render import print_loss
    from parcomp.cli.terminal import bracket_progress

    with bracket_progress(str(workload), time_limit) as progress:
        answer = pc.privacy_loss(read, kind.name, relation, rows, time_limit=time_limit, progress=progress)
    if plot is not None:
        functions = {
            f"{name}, {short_up(amount)}": privacy.tradeoff_of(answer.measure, amount)
            for name, amount in (("sequential", answer.sequential), ("by overlap", answer.loss))
        }
        privacy.save_tradeoffs(
            plot, functions, f"what {counted(answer.queries, 'query', 'queries')} disclose", answer.guarantee
        )
    if as_json:
        print(json.dumps(answer.as_json()))
    else:
        print_loss(str(workload), answer, kind.symbol)

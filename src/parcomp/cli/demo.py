"""``parcomp demo``: two workloads and their pictures, a session with a custodian, and errors by method."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

import parcomp as pc
from parcomp.figures import predicate_in_words

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(metavar="DIRECTORY", help="Where the pictures and files go.")] = Path("out/demo"),
) -> None:
    """Show what overlap is on two workloads, how a custodian spends a budget by it, and what lowers the error."""
    from parcomp.cli.demo_errors import answer_in_four_ways, draw_errors, print_errors
    from parcomp.cli.demo_session import ROWS, SEED, run_session, write_census
    from parcomp.cli.plot import save_query_graph
    from parcomp.cli.render import print_overlap
    from parcomp.graph import build_query_graph, dsatur
    from parcomp.model.compile import compile_workload
    from parcomp.samples import census_sample, paper_example

    out.mkdir(parents=True, exist_ok=True)
    drawn = all(find_spec(name) for name in ("matplotlib", "networkx"))
    if not drawn:
        print("Without pictures, which need: pip install 'parcomp[plot]'\n")
    for name, title, workload in (
        ("paper", "The paper's six queries", paper_example()),
        ("census", "80 queries on a census", census_sample(80, seed=1)),
    ):
        answer = pc.max_overlap(workload)
        print_overlap(title, answer)
        workload.domain.save(out / f"{name}-domain.json")
        workload.save(out / f"{name}.jsonl")
        if not drawn:
            print()
            continue
        graph = build_query_graph(compile_workload(workload).compiled)
        position = {query_id: number for number, query_id in enumerate(workload.ids)}
        saved = f"{title}: overlap {answer.upper} of {len(workload)}, saved {answer.gain:.0%}"
        labels = [f"{name}\n{_label(query)}" for name, query in zip(workload.ids, workload, strict=True)]
        save_query_graph(
            out / f"{name}.png", graph, dsatur(graph), [position[member] for member in answer.members], saved, labels
        )
        print(f"picture          {out / name}.png\n")
    settings = write_census(out)
    run_session(settings)
    print()
    truth, answered = answer_in_four_ways(ROWS, SEED)
    print_errors(answered)
    if drawn:
        draw_errors(out / "errors.png", truth, answered)
        print(f"picture          {out / 'errors.png'}")
    called = sys.argv[0]
    # As it was called, where the shell would not find it by its name.
    program = called if Path(called).name == "parcomp" and which("parcomp") != called else "parcomp"
    print("\nAsk by yourself:")
    for command in ("quote", "ask"):
        sql = '"SELECT COUNT(*) FROM census WHERE age < 20"'
        print(f"  {program} {command} -c {settings} {sql} --epsilon 0.1 --as ben")
    print(f"  {program} shell -c {settings} --epsilon 0.1 --as ben")
    print(f"  {program} ledger show -c {settings}")
    print(f"  {program} overlap --domain {out}/census-domain.json {out}/census.jsonl")


def _label(query: pc.Query) -> str:
    return "\n".join(f"{name} {predicate_in_words(written)}" for name, written in query.where().items())

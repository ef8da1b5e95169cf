"""``parcomp quote``, ``ask`` and ``batch``: what an answer would cost, and answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import parcomp as pc
from parcomp.cli.interrupts import asking
from parcomp.cli.options import Analyst, Custodian, Derive, Dummy, Epsilon, Json, Key, Mu, Rho, Sql
from parcomp.errors import ArgumentError, CostError, FileError, RefusedError, SqlError, WorkloadError

if TYPE_CHECKING:
    from parcomp.custodian.request import Costs
    from parcomp.model import Selection

__all__ = ["ask", "batch", "quote"]

_ESTIMATE_SECONDS = 60.0
"""How long an estimate may take where one waits at a terminal."""


def _limit(seconds: float | None) -> float | None:
    if seconds is not None and not 0 < seconds < math.inf:
        raise ArgumentError("--time-limit must be a positive number of seconds")
    return seconds


def quote(
    sql: Sql,
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    analyst: Analyst = "",
    as_json: Json = False,
) -> None:
    """Say what asking would cost and how accurate the answer would be; charges nothing."""
    from parcomp.cli.answers import print_quote

    with pc.Custodian.open(custodian) as opened:
        found = opened.quote(sql, epsilon=epsilon, rho=rho, mu=mu, analyst=analyst)
        if as_json:
            print(json.dumps(found.as_json()))
        else:
            print_quote(found)


def ask(
    sql: Sql,
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    analyst: Analyst = "",
    key: Key = None,
    dummy: Dummy = False,
    derive: Derive = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="With --derive: say beside it what all your answers say of it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Pay for a query and answer it; exit code 3, and nothing charged, if budget or quota do not bear it."""
    from parcomp.cli.answers import print_answer

    with asking(custodian) as opened:
        costs: Costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
        answer = opened.ask(sql, analyst=analyst, key=key, dummy=dummy, derive=derive, estimate=estimate, **costs)
        if as_json:
            print(json.dumps(answer.as_json(), ensure_ascii=False))
        else:
            print_answer(answer)


def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="Statements, each ended by ;", show_default=False)],
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="X", help="A budget for all, shared out for the least mean error.", show_default=False),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="independent|correlated|atoms|auto",
            help="What a --budget measures: each count, combinations of them, classes of rows, or the best.",
        ),
    ] = "independent",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say beside each count what all answers say together; free.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long --estimate may take; 60 if not given.",
            callback=_limit,
            show_default=False,
        ),
    ] = None,
    analyst: Analyst = "",
    key: Key = None,
    dry_run: Annotated[bool, typer.Option("--quote", help="Only say what it would cost; charges nothing.")] = False,
    dummy: Dummy = False,
    as_json: Json = False,
) -> None:
    """Answer all statements of a file or none, in one pass over the table."""
    if file.suffix.lower() != ".sql":
        raise FileError(file, "a batch is a file of SQL statements and ends in .sql")
    if all(amount is None for amount in (epsilon, rho, mu, budget)):
        raise CostError("give what each statement costs (--epsilon, --rho or --mu), or a --budget for all of them")

    from parcomp.cli.answers import print_answers, print_quotes
    from parcomp.cli.places import placed
    from parcomp.cli.terminal import step_progress, waiting
    from parcomp.cli.words import statement_in_words
    from parcomp.model import read_text
    from parcomp.sql import parse_selections

    with asking(custodian) as opened:
        text = read_text(file)
        try:
            read = parse_selections(opened.settings.domain, text, opened.settings.tables)
        except SqlError as error:
            raise placed(file, error, 1, text) from None
        asked = [selection for _, selection in read]
        titles = [statement_in_words(selection.statement.text, opened.settings.domain) for selection in asked]
        costs: Costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
        if dry_run:
            with _placed_in(file, read), waiting(f"{file}: planning"):
                quoted = opened.quote_batch(asked, budget=budget, strategy=strategy, analyst=analyst, **costs)
            if as_json:
                for one in quoted.quotes:
                    print(json.dumps(one.as_json()))
            else:
                print_quotes(titles, quoted)
            return
        seconds = _ESTIMATE_SECONDS if time_limit is None else time_limit
        with _placed_in(file, read), step_progress(str(file), seconds, "asking") as progress:
            answers = opened.ask_batch(
                asked,
                budget=budget,
                strategy=strategy,
                estimate=estimate,
                analyst=analyst,
                key=key,
                dummy=dummy,
                time_limit=seconds,
                progress=progress,
                **costs,
            )
        if as_json:
            for answer in answers:
                print(json.dumps(answer.as_json(), ensure_ascii=False))
        else:
            print_answers(titles, answers)


@contextmanager
def _placed_in(file: Path, read: Sequence[tuple[int, Selection]]) -> Iterator[None]:
    """Errors with the file and the line of the statement that they are of."""
    from parcomp.model import why_not_counted

    try:
        yield
    except RefusedError as error:
        raise error.within(f"{file}:{read[(error.position or 1) - 1][0]}") from None
    except WorkloadError as error:
        lines = [line for line, selection in read if why_not_counted(selection.statement)]
        # Other reasons are of the batch, and not of a statement.
        if not lines or not str(error).startswith("statement "):
            raise
        raise FileError(file, str(error), line=lines[0]) from None

"""``parcomp quote``, ``ask`` and ``batch``: what an answer would cost, and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import parcomp as pc
from parcomp.cli.options import Analyst, Custodian, Epsilon, Json, Key, Mu, Rho, Sql
from parcomp.errors import CostError, FileError, SqlError

__all__ = ["ask", "batch", "quote"]


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
            print_quote(opened.settings, found)


def ask(
    sql: Sql,
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    analyst: Analyst = "",
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Pay for a query and answer it; exit code 3, and nothing charged, if budget or quota do not bear it."""
    from parcomp.cli.answers import print_answer

    with pc.Custodian.open(custodian) as opened:
        answer = opened.ask(sql, epsilon=epsilon, rho=rho, mu=mu, analyst=analyst, key=key)
        if as_json:
            print(json.dumps(answer.as_json(), ensure_ascii=False))
        else:
            print_answer(opened.settings, answer)


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
    analyst: Analyst = "",
    key: Key = None,
    dry_run: Annotated[bool, typer.Option("--quote", help="Only say what it would cost; charges nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Answer all statements of a file or none, in one pass over the table."""
    if file.suffix.lower() != ".sql":
        raise FileError(file, "a batch is a file of SQL statements and ends in .sql")
    if all(amount is None for amount in (epsilon, rho, mu, budget)):
        raise CostError("give what each statement costs (--epsilon, --rho or --mu), or a --budget for all of them")

    from parcomp.cli.answers import print_answers, print_quotes
    from parcomp.model import read_text
    from parcomp.sql import parse_statements

    with pc.Custodian.open(custodian) as opened:
        try:
            read = parse_statements(opened.settings.domain, read_text(file), opened.settings.tables)
        except SqlError as error:
            raise FileError(file, str(error), field="sql") from None
        statements = [statement for _, statement in read]
        costs = {"epsilon": epsilon, "rho": rho, "mu": mu, "budget": budget}
        if dry_run:
            quoted = opened.quote_batch(statements, **costs, analyst=analyst)
            if as_json:
                for one in quoted.quotes:
                    print(json.dumps(one.as_json()))
            else:
                print_quotes(opened.settings, statements, quoted)
            return
        answers = opened.ask_batch(statements, **costs, analyst=analyst, key=key)
        if as_json:
            for answer in answers:
                print(json.dumps(answer.as_json(), ensure_ascii=False))
        else:
            print_answers(opened.settings, statements, answers)

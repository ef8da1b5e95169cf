"""``parcomp quote``, ``ask`` and ``batch``: what an answer would cost, and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from parcomp.errors import CostError, FileError, SqlError
from parcomp.model.text_file import read_text

__all__ = ["ask", "batch", "quote"]

_Settings = Annotated[
    Path, typer.Option("--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings.", show_default=False)
]
_Sql = Annotated[
    str, typer.Argument(metavar="SQL", help="SELECT COUNT(*) FROM … WHERE … GROUP BY …", show_default=False)
]
_Epsilon = Annotated[str | None, typer.Option(metavar="X", help="The cost, under pure DP.", show_default=False)]
_Rho = Annotated[str | None, typer.Option(metavar="X", help="The cost, under zCDP.", show_default=False)]
_Mu = Annotated[str | None, typer.Option(metavar="X", help="The cost, under Gaussian DP.", show_default=False)]
_Analyst = Annotated[str, typer.Option("--as", metavar="NAME", help="The analyst who asks.", show_default=False)]
_Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The same request with the same key is charged once.", show_default=False),
]
_Json = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]


def quote(
    sql: _Sql,
    custodian: _Settings,
    epsilon: _Epsilon = None,
    rho: _Rho = None,
    mu: _Mu = None,
    analyst: _Analyst = "",
    as_json: _Json = False,
) -> None:
    """Say what asking would cost and how accurate the answer would be; charges nothing."""
    from parcomp.cli.answers import print_quote  # noqa: PLC0415  numba is slow to import; --help must not wait for it
    from parcomp.custodian import Custodian  # noqa: PLC0415  the same

    with Custodian.open(custodian) as opened:
        found = opened.quote(sql, epsilon=epsilon, rho=rho, mu=mu, analyst=analyst)
        if as_json:
            print(json.dumps(found.as_json()))
        else:
            print_quote(opened.settings, found)


def ask(
    sql: _Sql,
    custodian: _Settings,
    epsilon: _Epsilon = None,
    rho: _Rho = None,
    mu: _Mu = None,
    analyst: _Analyst = "",
    key: _Key = None,
    as_json: _Json = False,
) -> None:
    """Pay for a query and answer it; exit code 3, and nothing charged, if budget or quota do not bear it."""
    from parcomp.cli.answers import print_answer  # noqa: PLC0415  numba is slow to import; --help must not wait for it
    from parcomp.custodian import Custodian  # noqa: PLC0415  the same

    with Custodian.open(custodian) as opened:
        answer = opened.ask(sql, epsilon=epsilon, rho=rho, mu=mu, analyst=analyst, key=key)
        if as_json:
            print(json.dumps(answer.as_json(), ensure_ascii=False))
        else:
            print_answer(opened.settings, answer)


def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="Statements, each ended by ;", show_default=False)],
    custodian: _Settings,
    epsilon: _Epsilon = None,
    rho: _Rho = None,
    mu: _Mu = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="X", help="A budget for all, shared out for the least mean error.", show_default=False),
    ] = None,
    analyst: _Analyst = "",
    key: _Key = None,
    dry_run: Annotated[bool, typer.Option("--quote", help="Only say what it would cost; charges nothing.")] = False,
    as_json: _Json = False,
) -> None:
    """Answer all statements of a file or none, in one pass over the table."""
    if file.suffix.lower() != ".sql":
        raise FileError(file, "a batch is a file of SQL statements and ends in .sql")
    if all(amount is None for amount in (epsilon, rho, mu, budget)):
        raise CostError("give what each statement costs (--epsilon, --rho or --mu), or a --budget for all of them")

    from parcomp.cli.answers import print_answers, print_quotes  # noqa: PLC0415  numba is slow to import
    from parcomp.custodian import Custodian  # noqa: PLC0415  the same
    from parcomp.sql.parse import parse_statements  # noqa: PLC0415  the same

    with Custodian.open(custodian) as opened:
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

"""Commands that ask a server instead of the table: the same command with ``--server URL`` in place of ``-c``.

The key comes from the environment, PARCOMP_KEY or the file that PARCOMP_KEY_FILE names: on a command line, other users
of the machine could read it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcomp.errors import ArgumentError, CostError, FileError, SettingsError

if TYPE_CHECKING:
    from parcomp.client import Client
    from parcomp.custodian import Answer

__all__ = [
    "ask_server",
    "batch_server",
    "budget_server",
    "client_of",
    "estimates_server",
    "quote_server",
    "reaching",
]

_SETTINGS = Annotated[
    Path | None,
    typer.Option("--custodian", "-c", metavar="CUSTODIAN.toml", help="The settings.", show_default=False),
]
_SERVER = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Ask this server, with the key in PARCOMP_KEY.", show_default=False),
]


def reaching(local: Callable[..., None], remote: Callable[..., None]) -> Callable[..., None]:
    """A command that does ``local`` with the settings that -c names, and ``remote`` with the server that is named."""
    known = inspect.signature(local, eval_str=True).parameters.values()
    parameters = [one.replace(annotation=_SETTINGS, default=None) if one.name == "custodian" else one for one in known]
    parameters.append(inspect.Parameter("server", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_SERVER))

    def command(**given: Any) -> None:
        server, settings = given.pop("server"), given.pop("custodian")
        if (server is None) == (settings is None):
            raise ArgumentError("name the settings with -c CUSTODIAN.toml, or a server with --server URL")
        if server is None:
            local(custodian=settings, **given)
            return
        if given.pop("analyst", None):
            raise ArgumentError("a server knows the analyst by the key; leave --as out")
        taken = inspect.signature(remote).parameters
        other = [name for name, value in given.items() if name not in taken and value]
        if other:
            raise ArgumentError(f"--{other[0].replace('_', '-')} is not offered with --server")
        remote(server, **{name: value for name, value in given.items() if name in taken})

    command.__name__, command.__doc__ = local.__name__, local.__doc__
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def quote_server(server: str, sql: str, epsilon: str | None, rho: str | None, mu: str | None, as_json: bool) -> None:
    """Print what asking a server would cost."""
    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    with client_of(server) as client:
        _check_cost(client, costs)
        found = client.quote(sql, **costs)
        if as_json:
            print(json.dumps(found.as_json(), ensure_ascii=False))
        else:
            from parcomp.cli.answers import print_quote
            from parcomp.custodian import Quote

            print_quote(Quote.read(found.document))


def ask_server(
    server: str,
    sql: str,
    epsilon: str | None,
    rho: str | None,
    mu: str | None,
    key: str | None,
    dummy: bool,
    derive: bool,
    estimate: bool,
    as_json: bool,
) -> None:
    """Pay a server for an answer, and print it."""
    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    with client_of(server) as client:
        if dummy and derive:
            raise ArgumentError("what is derived follows from released answers, so there is none to rehearse")
        if estimate and not derive:
            from parcomp.custodian.custodian import ONLY_DERIVED

            raise ArgumentError(ONLY_DERIVED)
        if not derive:
            _check_cost(client, costs)
        if dummy:
            [answer] = _rehearsed(client, [sql], costs)
        else:
            from parcomp.custodian import Answer

            answer = Answer.read(client.ask(sql, key=key, derive=derive, estimate=estimate, **costs).document)
    _print_answer(answer, as_json)


def batch_server(
    server: str,
    file: Path,
    epsilon: str | None,
    rho: str | None,
    mu: str | None,
    budget: str | None,
    strategy: str,
    estimate: bool,
    key: str | None,
    dry_run: bool,
    dummy: bool,
    as_json: bool,
) -> None:
    """Pay a server for the answers of a file of statements, and print them, or what they would cost."""
    if file.suffix.lower() != ".sql":
        raise FileError(file, "a batch is a file of SQL statements and ends in .sql")
    if all(amount is None for amount in (epsilon, rho, mu, budget)):
        raise CostError("give what each statement costs (--epsilon, --rho or --mu), or a --budget for all of them")
    if dummy and budget is not None:
        raise ArgumentError(
            "how a budget is shared out is for the server to say; rehearse with --epsilon, --rho or --mu"
        )
    from parcomp.cli.answers import print_answers, print_quotes
    from parcomp.cli.written import WrittenBatch
    from parcomp.custodian import Answer, BatchQuote
    from parcomp.model import Domain

    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    with client_of(server) as client:
        domain, dataset = Domain.described(client.domain()), client.budget()["dataset"]
        written = WrittenBatch.read(file, domain, {dataset})
        with written.placing():
            if dry_run:
                told = client.quote_batch(written.statements, budget=budget, strategy=strategy, **costs)
                quoted = BatchQuote.read(told.as_json())
                if as_json:
                    for one in quoted.quotes:
                        print(json.dumps(one.as_json()))
                else:
                    print_quotes(written.titles, quoted)
                return
            if dummy:
                answers = _rehearsed(client, written.statements, costs, estimate=estimate)
            else:
                served = client.ask_batch(
                    written.statements, budget=budget, strategy=strategy, estimate=estimate, key=key, **costs
                )
                answers = [Answer.read(one.document) for one in served]
    if as_json:
        for answer in answers:
            print(json.dumps(answer.as_json(), ensure_ascii=False))
    else:
        print_answers(written.titles, answers)


def estimates_server(server: str, interval: float, as_json: bool, every_one: bool) -> None:
    """Print what all counts of a key say together, as a server tells it."""
    from parcomp.cli.estimate_render import print_estimates
    from parcomp.model import Domain

    with client_of(server) as client:
        found = client.estimates(interval=interval)
        domain = None if as_json else Domain.described(client.domain())
    print_estimates(server, found, domain, as_json=as_json, every_one=every_one)


def budget_server(server: str, as_json: bool) -> None:
    """Print what was spent, as a server tells it."""
    with client_of(server) as client:
        told = client.budget()
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        from parcomp.cli.answers import print_balance
        from parcomp.custodian import Balance

        print_balance(Balance.read(told))


def client_of(server: str) -> Client:
    """A client of a server, with the key of the environment."""
    try:
        from parcomp.client import Client
    except ImportError as error:
        raise SettingsError(f"asking a server needs {error.name}; install parcomp[service]") from None
    return Client(server)


def _check_cost(client: Client, costs: Mapping[str, str | None]) -> None:
    """Complain of a cost that is missing, or of several, as a custodian does; of others the server complains."""
    given = [name for name, amount in costs.items() if amount is not None]
    if len(given) != 1:
        from parcomp.custodian.request import cost_wanted
        from parcomp.privacy import find_measure

        told = client.budget()
        raise cost_wanted(told["dataset"], find_measure(told["measure"]), given)


def _rehearsed(
    client: Client, statements: Sequence[str], costs: Mapping[str, str | None], *, estimate: bool = False
) -> list[Answer]:
    """Answers from random rows of the domain, which the server tells, with the noise that the cost buys.

    None of its data is needed for that, and nothing is charged.
    """
    from contextlib import closing

    from parcomp.custodian import Balance, Settings
    from parcomp.custodian.rehearsal import Rehearsal
    from parcomp.custodian.request import read_request
    from parcomp.model import Domain
    from parcomp.privacy import find_measure

    described, told = client.domain(), Balance.read(client.budget())
    measure = find_measure(told.measure)
    settings = Settings(
        told.dataset,
        told.version,
        "",
        Domain.described(described),
        measure,
        measure.budget_down(str(told.budget)),
        "",
        # What a sum may change by, and so its noise, follows from both.
        neighbours=told.neighbours,
        rows_per_person=told.rows_per_person,
        complete=tuple(described.get("complete", ())),
    )
    given: Any = costs
    asked = read_request(settings, "", statements, estimate=estimate, **given)
    with closing(Rehearsal(settings)) as rehearsal:
        return rehearsal.answers(asked)


def _print_answer(answer: Answer, as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer.as_json(), ensure_ascii=False))
    else:
        from parcomp.cli.answers import print_answer

        print_answer(answer)

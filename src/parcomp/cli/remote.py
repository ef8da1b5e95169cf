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

from parcomp.cli.served_answers import print_served_answer, print_served_balance, print_served_quote
from parcomp.errors import ArgumentError, FileError, SettingsError, SqlError

if TYPE_CHECKING:
    from parcomp.client import Client, ServedAnswer

__all__ = [
    "ask_server",
    "batch_server",
    "budget_server",
    "client_of",
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
    with client_of(server) as client:
        found = client.quote(sql, epsilon=epsilon, rho=rho, mu=mu)
        if as_json:
            print(json.dumps(found.as_json(), ensure_ascii=False))
        else:
            print_served_quote(found, client.budget()["measure"])


def ask_server(
    server: str,
    sql: str,
    epsilon: str | None,
    rho: str | None,
    mu: str | None,
    key: str | None,
    dummy: bool,
    as_json: bool,
) -> None:
    """Pay a server for an answer, and print it."""
    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    with client_of(server) as client:
        if dummy:
            _rehearse(client, [sql], costs, as_json)
        else:
            _print_answer(client.ask(sql, key=key, **costs), as_json)


def batch_server(
    server: str,
    file: Path,
    epsilon: str | None,
    rho: str | None,
    mu: str | None,
    budget: str | None,
    key: str | None,
    dry_run: bool,
    dummy: bool,
    as_json: bool,
) -> None:
    """Pay a server for the answers of a file of statements, and print them."""
    if file.suffix.lower() != ".sql":
        raise FileError(file, "a batch is a file of SQL statements and ends in .sql")
    if dry_run:
        raise ArgumentError(
            "a server quotes one statement at a time, and what a batch adds is less than the sum; --quote is not "
            "offered with --server, ask for each with: parcomp quote --server URL SQL"
        )
    if dummy and budget is not None:
        raise ArgumentError(
            "how a budget is shared out is for the server to say; rehearse with --epsilon, --rho or --mu"
        )
    costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
    with client_of(server) as client:
        statements = _statements(file, list(client.domain()["attributes"]))
        if dummy:
            _rehearse(client, statements, costs, as_json)
            return
        for answer in client.ask_batch(statements, budget=budget, key=key, **costs):
            _print_answer(answer, as_json)


def budget_server(server: str, as_json: bool) -> None:
    """Print what was spent, as a server tells it."""
    with client_of(server) as client:
        told = client.budget()
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print_served_balance(told)


def client_of(server: str) -> Client:
    """A client of a server, with the key of the environment."""
    try:
        from parcomp.client import Client
    except ImportError as error:
        raise SettingsError(f"asking a server needs {error.name}; install parcomp[service]") from None
    return Client(server)


def _rehearse(client: Client, statements: Sequence[str], costs: Mapping[str, str | None], as_json: bool) -> None:
    """Answer from random rows of the domain, which the server tells, with the noise that the cost buys.

    None of its data is needed for that, and nothing is charged.
    """
    from contextlib import closing

    from parcomp.cli.answers import print_answer
    from parcomp.custodian import Settings
    from parcomp.custodian.rehearsal import Rehearsal
    from parcomp.custodian.request import read_request
    from parcomp.model import Domain
    from parcomp.privacy import find_measure

    domain, told = Domain.described(client.domain()), client.budget()
    measure = find_measure(told["measure"])
    budget = measure.budget_down(str(told["budget"]))
    settings = Settings(domain.name, "", "", domain, measure, budget, "")
    given: Any = costs
    asked = read_request(settings, "", statements, **given)
    with closing(Rehearsal(domain)) as rehearsal:
        for answer in rehearsal.answers(asked):
            if as_json:
                print(json.dumps(answer.as_json(), ensure_ascii=False))
            else:
                print_answer(settings, answer)


def _statements(file: Path, names: Sequence[str]) -> list[str]:
    """The statements of a file, as they are written there; ``names`` are those of the attributes."""
    from parcomp.model import read_text
    from parcomp.sql.tokens import split_statements

    text = read_text(file)
    try:
        found = split_statements(text, names)
    except SqlError as error:
        raise FileError(file, str(error), field="sql") from None
    if not found:
        raise FileError(file, "holds no statement")
    return [text[one.tokens[0].start : one.tokens[-1].end + 1] for one in found]


def _print_answer(answer: ServedAnswer, as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer.as_json(), ensure_ascii=False))
    else:
        print_served_answer(answer)

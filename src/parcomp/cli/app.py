"""The commands together, and the one place where an error becomes an exit code and a line."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from parcomp.cli.ask import ask, batch, quote
from parcomp.cli.budget import budget
from parcomp.cli.demo import demo
from parcomp.cli.domain import domain
from parcomp.cli.estimate import estimate
from parcomp.cli.experiment import experiment
from parcomp.cli.interrupts import Interrupts, heeding_interrupts, what_was_charged
from parcomp.cli.keys import keys
from parcomp.cli.ledger import ledger
from parcomp.cli.loss import loss
from parcomp.cli.overlap import overlap, verify
from parcomp.cli.plan import plan
from parcomp.cli.problems import Problem, wants_json
from parcomp.cli.remote import ask_server, batch_server, budget_server, quote_server, reaching
from parcomp.cli.serve import serve
from parcomp.cli.shell import shell, shell_server
from parcomp.cli.tables import check, init, load
from parcomp.cli.warm_up import warm_up
from parcomp.errors import LedgerWarning, ParcompError

__all__ = ["app", "main"]

app = typer.Typer(
    name="parcomp",
    help="Make the most of parallel composition in differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    # Commands take this over from the program.
    context_settings={"help_option_names": ["-h", "--help"]},
)
# These ask a server as well.
quote, ask, batch, budget, shell = (
    reaching(local, remote)
    for local, remote in (
        (quote, quote_server),
        (ask, ask_server),
        (batch, batch_server),
        (budget, budget_server),
        (shell, shell_server),
    )
)
for command in (overlap, verify, loss, plan, estimate, check, init, load, quote, ask, batch, shell, budget):
    app.command()(command)
app.add_typer(ledger, name="ledger")
app.add_typer(domain, name="domain")
app.command()(serve)
app.add_typer(keys, name="keys")
app.command()(demo)
app.command()(experiment)
app.command()(warm_up)

_INTERRUPTED = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        import parcomp

        print(f"parcomp {parcomp.__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, expose_value=False, callback=_print_version
        ),
    ] = False,
) -> None:
    """Make the most of parallel composition in differential privacy."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or with a line on standard error 2 for bad input, 3 for a refusal.

    Without arguments of its own it is the program, and an interrupt after the command has ended is ignored.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = wants_json(arguments)
    interrupts = Interrupts()
    ended: int | Problem = _INTERRUPTED
    try:
        with heeding_interrupts(interrupts, to_the_end=argv is None):
            ended = _run(arguments, as_json=as_json)
    except KeyboardInterrupt:
        ended = _INTERRUPTED
    except Exception:
        # What an interrupt breaks, it may break in any way.
        if not interrupts.came:
            raise
    if ended == _INTERRUPTED or (interrupts.came and isinstance(ended, Problem)):
        words, charges = what_was_charged()
        ended = Problem("interrupted", f"interrupted; {words}", _INTERRUPTED, {"charges": charges})
    if isinstance(ended, Problem):
        print(ended.line(as_json=as_json), file=sys.stderr)
        return ended.exit_code
    return ended


def _run(arguments: Sequence[str], *, as_json: bool) -> int | Problem:
    """Run a command: its exit code, or why it did not do what it was told."""
    command = typer.main.get_command(app)
    _take_version(command)
    for stream in (sys.stdout, sys.stderr):
        # An answer that was paid for is shown, on whatever terminal.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", LedgerWarning)
            try:
                result = command.main(args=list(arguments) or ["--help"], prog_name="parcomp", standalone_mode=False)
            finally:
                for one in noted:
                    if issubclass(one.category, LedgerWarning):
                        note = str(one.message)
                        print(json.dumps({"note": note}) if as_json else f"parcomp: note: {note}", file=sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except (ParcompError, TyperException, OSError) as error:
        return Problem.of(error)
    except SystemExit as ended:
        # Typer and rich end a program whose output nobody reads by exit code 1, and a shell's completion by others.
        if ended.code != 1:
            raise
        return _unread()
    # Typer makes an interrupt an exit code.
    return result if isinstance(result, int) else 0


def _take_version(command: Any) -> None:
    """Let every command take ``--version``, as each of them takes ``--help``."""
    for below in getattr(command, "commands", {}).values():
        below.params.append(next(one for one in command.params if one.name == "version"))
        _take_version(below)


def _unread() -> int:
    """The exit code of a program whose output nobody reads any more."""
    # What is still buffered must not fail as Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141

"""The commands together, and the one place where an error becomes an exit code and a line."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from parcomp.cli.ask import ask, batch, quote
from parcomp.cli.demo import demo
from parcomp.cli.domain import domain
from parcomp.cli.ledger import init, ledger
from parcomp.cli.loss import loss
from parcomp.cli.overlap import overlap, verify
from parcomp.cli.plan import plan
from parcomp.cli.warm_up import warm_up
from parcomp.errors import LedgerWarning, ParcompError, RefusedError

__all__ = ["app", "main"]

app = typer.Typer(
    name="parcomp",
    help="Make the most of parallel composition in differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (overlap, verify, loss, plan, init, quote, ask, batch):
    app.command()(command)
app.add_typer(ledger, name="ledger")
app.add_typer(domain, name="domain")
app.command()(demo)
app.command()(warm_up)


@app.callback()
def _commands() -> None:
    """Make the most of parallel composition in differential privacy."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or with a line on standard error 2 for bad input, 3 for a refusal."""
    command = typer.main.get_command(app)
    for stream in (sys.stdout, sys.stderr):
        # An answer that was paid for is shown, on whatever terminal.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", LedgerWarning)
            try:
                result = command.main(args=arguments or ["--help"], prog_name="parcomp", standalone_mode=False)
            finally:
                for one in noted:
                    if issubclass(one.category, LedgerWarning):
                        print(f"parcomp: note: {one.message}", file=sys.stderr)
        sys.stdout.flush()
    except (ParcompError, TyperException) as error:
        message = error.format_message() if isinstance(error, TyperException) else str(error)
        print(f"parcomp: {' '.join(message.split())}", file=sys.stderr)
        return 3 if isinstance(error, RefusedError) else 2
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        print(f"parcomp: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except SystemExit as ended:
        # Typer and rich end a program whose output nobody reads by exit code 1, and a shell's completion by others.
        if ended.code != 1:
            raise
        return _unread()
    # Typer makes an interrupt an exit code.
    if result == 130:
        print("parcomp: interrupted", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _unread() -> int:
    """The exit code of a program whose output nobody reads any more."""
    # What is still buffered must not fail as Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141

"""The commands together, and the one place where an error becomes an exit code and a line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from parcomp.cli.ask import ask, batch, quote
from parcomp.cli.demo import demo
from parcomp.cli.domain import domain
from parcomp.cli.init import init
from parcomp.cli.ledger import ledger
from parcomp.cli.loss import loss
from parcomp.cli.overlap import overlap
from parcomp.cli.plan import plan
from parcomp.cli.verify import verify
from parcomp.errors import LedgerWarning, ParcompError, RefusedError

__all__ = ["app", "main"]

app = typer.Typer(
    name="parcomp",
    help="Make the most of parallel composition in differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(overlap)
app.command()(verify)
app.command()(loss)
app.command()(plan)
app.command()(init)
app.command()(quote)
app.command()(ask)
app.command()(batch)
app.add_typer(ledger, name="ledger")
app.add_typer(domain, name="domain")
app.command()(demo)


@app.callback()
def _commands() -> None:
    """Make the most of parallel composition in differential privacy."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or with a line on standard error 2 for bad input, 3 for a refusal."""
    command = typer.main.get_command(app)
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
    except (ParcompError, TyperException) as error:
        message = error.format_message() if isinstance(error, TyperException) else str(error)
        print(f"parcomp: {' '.join(message.split())}", file=sys.stderr)
        return 3 if isinstance(error, RefusedError) else 2
    except (KeyboardInterrupt, typer.Abort):
        print("parcomp: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 141
    return result if isinstance(result, int) else 0

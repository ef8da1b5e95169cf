"""The command ``parcomp``: commands read files, call the library and print; they hold no logic of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see :func:`parcomp.cli.app.main`."""
    try:
        from parcomp.cli.app import main as run

        return run(argv)
    except KeyboardInterrupt:
        # Interrupted before there was a command: one that has begun heeds interrupts itself.
        words = "interrupted; nothing was charged"
        as_json = f'{{"error": {{"type": "interrupted", "message": "{words}", "charges": []}}}}'
        print(as_json if "--json" in (argv or sys.argv) else f"parcomp: {words}", file=sys.stderr)
        return 130

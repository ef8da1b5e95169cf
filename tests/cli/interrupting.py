"""Interrupt a command at chosen lines: a program of its own, which prints what came of it as JSON.

``python interrupting.py MOMENTS SEED COMMAND...`` runs the command in so many processes.  One in ten runs to its end,
to count the lines of Parcomp that it goes through; the others are sent SIGINT at one of these lines, drawn at random.
``{n}`` in the command is the number of the run.  Processes are forked once everything is imported, so that they start
at once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
from types import FrameType
from typing import Any

import parcomp
from parcomp.cli import app, main, shell_session

PACKAGE = os.path.dirname(parcomp.__file__)
# The steps of an answer, and how a command begins and ends; the searches are many lines and charge nothing.
WATCHED = tuple(f"{PACKAGE}/{name}/" for name in ("custodian", "ledger", "cli", "data"))


class Lines:
    """Counts the lines that are run, and interrupts at one of them."""

    def __init__(self, stop: int) -> None:
        self.count = 0
        self._stop = stop

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Lines | None:
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._stop:
                os.kill(os.getpid(), signal.SIGINT)
        return self


def run(arguments: list[str], stop: int) -> dict[str, Any]:
    """Run a command in a process of its own; its exit code, what it printed, and how many lines it went through."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as counted:
        process = os.fork()
        if process == 0:
            code = 99
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.argv = ["parcomp", *arguments]
                lines = Lines(stop)
                sys.settrace(lines)
                try:
                    code = main()
                finally:
                    sys.settrace(None)
                os.write(counted.fileno(), str(lines.count).encode())
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException:
                # What is not caught would be a traceback.
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            finally:
                os._exit(code)
        _, status = os.waitpid(process, 0)
        texts = []
        for file in (out, err, counted):
            file.seek(0)
            texts.append(file.read().decode())
    return {
        "stop": stop,
        "code": os.waitstatus_to_exitcode(status),
        "out": texts[0],
        "err": texts[1],
        "lines": int(texts[2] or 0),
    }


if __name__ == "__main__":
    import duckdb  # noqa: F401
    import opendp.prelude  # noqa: F401
    import pyarrow.compute  # noqa: F401

    import parcomp.cli.answers
    import parcomp.custodian
    import parcomp.data.codes
    import parcomp.ledger.sqlite
    import parcomp.noise
    import parcomp.overlap
    import parcomp.sql

    moments, seed, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert app is not None
    assert shell_session is not None

    def numbered(number: int) -> list[str]:
        return [word.replace("{n}", str(number)) for word in command]

    draw, lines = random.Random(int(seed)), 0
    for number in range(int(moments)):
        # A ledger that grows takes more lines, so that they are counted again now and then, by a run to the end.
        whole = number % 10 == 0
        # On its first line the program is not yet in charge of interrupts.
        result = run(numbered(number), 0 if whole else draw.randint(2, lines))
        lines = result["lines"] if whole else lines
        print(json.dumps(result), flush=True)

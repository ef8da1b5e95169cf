"""``parcomp shell`` on a real pseudo-terminal, with a screen that shows what a person would see."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
import pyte

__all__ = ["CTRL_C", "CTRL_D", "ENTER", "TAB", "UP", "Terminal"]

CTRL_C, CTRL_D, ENTER, TAB, UP = "\x03", "\x04", "\r", "\t", "\x1b[A"
_SECONDS = 60.0
_ROWS, _COLUMNS = 200, 100
"""So high that nothing leaves the screen."""


class Terminal:
    """The program on a terminal and with a home of its own."""

    def __init__(self, arguments: Sequence[str], home: Path, *, program: Sequence[str] = ("-m", "parcomp.cli")) -> None:
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "TERM": "xterm",
            # Nobody here answers where the cursor is.
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        # Whatever is started in the background of a shell ignores Ctrl-C, and so would the program.
        self.process = pexpect.spawn(
            "env",
            ["--default-signal=INT", sys.executable, *program, *arguments],
            env=environment,  # type: ignore[arg-type]  any mapping will do
            dimensions=(_ROWS, _COLUMNS),
            timeout=_SECONDS,
        )
        self._screen = pyte.Screen(_COLUMNS, _ROWS)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def shown(self) -> str:
        """What is on the screen, without empty lines."""
        return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    @property
    def line(self) -> str:
        """The line with the cursor."""
        return self._screen.display[self._screen.cursor.y].rstrip()

    def type(self, keys: str) -> None:
        """Press keys."""
        self.process.send(keys)

    def wait_for(self, seen: str | Callable[[], bool], seconds: float = _SECONDS) -> str:
        """Wait until a text, or more generally something, is seen on the screen; what is on it then."""
        deadline = time.monotonic() + seconds
        while not (seen in self.shown if isinstance(seen, str) else seen()):
            assert time.monotonic() < deadline, f"{seen!r} is not on the screen:\n{self.shown}"
            self._read()
        return self.shown

    def wait_for_prompts(self, count: int, prompt: str) -> str:
        """Wait until so many prompts were shown and the last one is empty; what is on the screen then."""
        return self.wait_for(lambda: self.shown.count(prompt) == count and self.line == prompt)

    def wait_for_end(self) -> int | None:
        """Wait until the program has ended; its exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._read():
            assert time.monotonic() < deadline, f"the program goes on:\n{self.shown}"
        self.process.close()
        return self.process.exitstatus

    def _read(self) -> bool:
        try:
            self._stream.feed(self.process.read_nonblocking(65536, timeout=0.1))
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        return True

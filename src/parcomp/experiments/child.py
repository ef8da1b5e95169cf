"""An instance in a process of its own, which is ended at a limit in processor seconds whatever it does.

A child takes one instance after the other, since loading the compiled kernels takes longer than most of them.  Tasks
and rows are lines of JSON through pipes: a child can be started from any process, a daemon of a cluster included.

``python -m parcomp.experiments.child`` is the child.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from parcomp.experiments.clock import processor_seconds, seconds_of, use_processor_seconds

__all__ = ["Outcome", "Task", "begin", "end_children", "run_in_child"]

_LOOK_SECONDS = 0.2
"""How often a child's processor seconds are looked at."""

_CLOCK = 8.0
"""By the clock on the wall a child has so many times its limit: other work may slow it down, and it might sleep."""


@dataclass(frozen=True, slots=True)
class Task:
    """An instance of a named experiment, by its key, and the processor seconds after which it is ended.

    With ``fresh`` it has a child that did nothing before.  ``place`` is the directory that it works in.
    """

    experiment: str
    key: dict[str, Any]
    limit: float
    fresh: bool = False
    place: str = "."


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of a task; ``ended`` says why they are not all, ``failed`` that the experiment is at fault.

    ``seconds`` are the child's processor seconds, as far as it could tell.
    """

    task: Task
    rows: list[dict[str, Any]] = field(default_factory=list)
    ended: str = ""
    failed: str = ""
    seconds: float = 0.0


class _Child:
    """A process that measures."""

    def __init__(self) -> None:
        # In a session of its own: an interrupt at the terminal is for the parent, which then ends it.
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._unread = b""
        # Importing is no part of a task's time.
        self.usable = self._line(time.monotonic() + 300.0, float("inf")) is not None

    def run(self, task: Task) -> Outcome:
        deadline = time.monotonic() + _CLOCK * task.limit
        most = seconds_of(self._process.pid) + task.limit
        rows: list[dict[str, Any]] = []
        try:
            stdin = self._process.stdin
            assert stdin is not None
            stdin.write(json.dumps([task.experiment, task.key, task.place]).encode() + b"\n")
            stdin.flush()
            while (line := self._line(deadline, most)) is not None:
                message = json.loads(line)
                if "row" in message:
                    rows.append(message["row"])
                    continue
                return Outcome(task, rows, "", message.get("failed", ""), message["seconds"])
        except (OSError, ValueError):
            pass
        self.usable = False
        late = time.monotonic() >= deadline or seconds_of(self._process.pid) >= most
        return Outcome(task, rows, "timed out" if late else "ended by the system", "", task.limit if late else 0.0)

    def _line(self, deadline: float, most: float) -> bytes | None:
        """The next line; None if it does not come by a time, or before so many processor seconds, or at all."""
        stdout = self._process.stdout
        assert stdout is not None
        while b"\n" not in self._unread:
            if not select.select([stdout], [], [], _LOOK_SECONDS)[0]:
                if time.monotonic() >= deadline or seconds_of(self._process.pid) >= most:
                    return None
                continue
            if not (read := os.read(stdout.fileno(), 1 << 16)):
                return None
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def end(self) -> None:
        self.usable = False
        self._process.kill()

    def buried(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


_own = threading.local()
_children: set[_Child] = set()
_lock = threading.Lock()
_ended = threading.Event()


def run_in_child(task: Task) -> Outcome:
    """Run a task in this thread's child, which is started when it is first needed and after one was ended."""
    if _ended.is_set():
        return Outcome(task, ended="ended by the system")
    child = getattr(_own, "child", None)
    if child is not None and task.fresh:
        _dismiss(child)
    if child is None or not child.usable:
        child = _own.child = _Child()
        with _lock:
            _children.add(child)
        if _ended.is_set():
            # Set before the children were ended, perhaps without this one.
            child.end()
    outcome: Outcome = child.run(task)
    if not child.usable:
        _dismiss(child)
    return outcome


def _dismiss(child: _Child) -> None:
    with _lock:
        _children.discard(child)
    child.end()
    child.buried()


def end_children(*, for_good: bool = False) -> None:
    """End all children of this process; with ``for_good`` until :func:`begin` no other one is started."""
    if for_good:
        _ended.set()
    with _lock:
        ending = list(_children)
        _children.clear()
    for child in ending:
        child.end()
        child.buried()


def begin() -> None:
    """Let children be started again."""
    _ended.clear()


def _end_with_parent(parent: int) -> None:
    """End when the parent has: killed by -9, it cannot tell."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _main(tasks: IO[str], answers: IO[str]) -> None:
    from parcomp.experiments.registry import EXPERIMENTS  # noqa: PLC0415  the parent has no use for it here

    use_processor_seconds()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    say({"ready": True})
    for line in tasks:
        name, key, place = json.loads(line)
        experiment = EXPERIMENTS[name]
        began = processor_seconds()
        try:
            os.makedirs(place, exist_ok=True)
            os.chdir(place)
            for row in experiment.measure(experiment.made(key)):
                say({"row": row})
        except MemoryError:
            os._exit(1)
        except Exception:  # whatever it is, the parent reports it
            say({"failed": traceback.format_exc(limit=-3), "seconds": processor_seconds() - began})
        else:
            say({"done": True, "seconds": processor_seconds() - began})


if __name__ == "__main__":
    # What libraries print is no answer.
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _main(sys.stdin, kept)

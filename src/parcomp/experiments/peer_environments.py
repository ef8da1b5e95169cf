"""Other tools, each in an environment of its own, made when it is first needed with the versions in a file of pins.

``peer_tools`` holds the pins, ``NAME.txt``, and the program that asks the tool, ``ask_NAME.py``.  A program knows
nothing of Parcomp.  It reads from standard input what is to be asked, and prints one line of JSON: the tool's
``version`` and its ``answers``, for each ask a list of numbers, or null if it was refused.  A number is null where the
tool leaves out a cell of a table.

What cannot be installed or run is reported in the words of pip or of the tool, never guessed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parcomp.errors import ParcompError
from parcomp.experiments.clock import process_fields

__all__ = ["PeerError", "ToldBy", "ask_tool", "environment"]

_TOOLS = Path(__file__).parent / "peer_tools"
_SAMPLE_SECONDS = 0.2


class PeerError(ParcompError):
    """A tool could not be installed, or failed; the message is its own."""


@dataclass(slots=True)
class ToldBy:
    """What a tool printed, and what its processes took: processor seconds, and the most memory at a time in bytes."""

    told: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    memory: int = 0


def environment(tool: str, under: Path) -> Path:
    """The interpreter of a tool's environment below a directory, which is made if it is not there."""
    place = under.resolve() / tool
    python, done = place / "bin" / "python", place / "installed.txt"
    wanted = _TOOLS / f"{tool}.txt"
    if done.exists() and done.read_bytes() == wanted.read_bytes():
        return python
    shutil.rmtree(place, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(place)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", str(wanted)])
    shutil.copyfile(wanted, done)
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=_outside(), check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise PeerError(f"not installed: {_short((errors or [done.stderr])[-1])}")


def _outside() -> dict[str, str]:
    """The surroundings, without what would let a tool see the packages of this process."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}


def ask_tool(python: Path, tool: str, work: dict[str, Any], limit: float) -> ToldBy:
    """Run the program that asks a tool, and wait for what it prints, at most ``limit`` seconds by the clock."""
    script = _TOOLS / f"ask_{tool}.py"
    process = subprocess.Popen(
        [str(python), str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_outside(),
        # Spark starts others; in a session of its own, all of them can be told and ended.
        start_new_session=True,
    )
    meter = _Meter(process.pid)
    try:
        printed, complaints = process.communicate(json.dumps(work), timeout=limit)
    except subprocess.TimeoutExpired:
        raise PeerError(f"not finished within {limit:.0f} s") from None
    finally:
        meter.stop()
        _end_session(process)
    if process.returncode:
        raise PeerError(f"failed: {_short(complaints.strip().splitlines()[-1] if complaints.strip() else 'silently')}")
    return ToldBy(json.loads(printed.splitlines()[-1]), meter.seconds, meter.memory)


def _end_session(process: subprocess.Popen[str]) -> None:
    for pid in _session(process.pid):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _short(text: str) -> str:
    return " ".join(text.split())[:160]


class _Meter:
    """Adds up what the processes of a session take, by looking at them a few times a second."""

    def __init__(self, session: int) -> None:
        self._session, self._stopped = session, threading.Event()
        self._ticks: dict[int, int] = {}
        self.memory = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            resident = 0
            for pid in _session(self._session):
                try:
                    fields = process_fields(pid)
                    self._ticks[pid] = int(fields[11]) + int(fields[12])
                    resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
                except (OSError, IndexError):
                    continue
            self.memory = max(self.memory, resident)
            time.sleep(_SAMPLE_SECONDS)


def _session(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = process_fields(int(entry))
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry))
    return found

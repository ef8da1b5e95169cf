"""Other tools, each in an environment of its own, made when it is first needed with the versions in a file of pins.

``peer_tools`` holds the pins, ``NAME.txt``, and the program that asks the tool, ``ask_NAME.py``.  A program knows
nothing of Parcomp.  It reads from standard input what is to be asked, and prints one line of JSON: the tool's
``version`` and its ``answers``, for each ask a list of numbers, or null if it was refused.  A number is null where the
tool leaves out a cell of a table.

Environments are kept in the user's cache.  A tool runs in a scratch directory, which is its current, its home and its
temporary directory, and which is gone when it ends: Spark leaves a warehouse wherever it is started.

What cannot be installed or run is reported in the words of pip or of the tool, never guessed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
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


def environment(tool: str, under: Path | None = None) -> Path:
    """The interpreter of a tool's environment, which is made if it is not there; below the user's cache by default."""
    base = _cache() if under is None else under.resolve()
    base.mkdir(parents=True, exist_ok=True)
    place = base / tool
    python, done = place / "bin" / "python", place / "installed.txt"
    wanted = _TOOLS / f"{tool}.txt"
    with (base / f"{tool}.lock").open("w") as lock:
        # Another run may be at it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_bytes() == wanted.read_bytes():
            return python
        shutil.rmtree(place, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(place)])
        options = ("--quiet", "--disable-pip-version-check", "--requirement", str(wanted))
        _run([str(python), "-m", "pip", "install", *options])
        shutil.copyfile(wanted, done)
    return python


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given else Path.home() / ".cache").resolve() / "parcomp" / "peers"


def _run(command: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="parcomp-peer-") as scratch:
        done = subprocess.run(command, capture_output=True, text=True, env=_outside(), cwd=scratch, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise PeerError(f"not installed: {_short((errors or [done.stderr])[-1])}")


def _outside() -> dict[str, str]:
    """The surroundings, without what would let a tool see this process's packages or its current directory."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "PWD", "OLDPWD"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


def _within(scratch: str) -> dict[str, str]:
    """Surroundings in which whatever a program writes without being told where goes into one directory."""
    homes = ("HOME", "PWD", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    # Java takes neither home nor temporary directory from these.
    java = f"-Djava.io.tmpdir={scratch} -Duser.home={scratch} {os.environ.get('JAVA_TOOL_OPTIONS', '')}"
    return {**_outside(), **dict.fromkeys(homes, scratch), "JAVA_TOOL_OPTIONS": java.strip()}


def ask_tool(python: Path, tool: str, work: dict[str, Any], limit: float) -> ToldBy:
    """Run the program that asks a tool, and wait for what it prints, at most ``limit`` seconds by the clock.

    Paths in ``work`` must be absolute.
    """
    with tempfile.TemporaryDirectory(prefix="parcomp-peer-", ignore_cleanup_errors=True) as scratch:
        return _asked(python.absolute(), tool, work, limit, scratch)


def _asked(python: Path, tool: str, work: dict[str, Any], limit: float, scratch: str) -> ToldBy:
    script = _TOOLS.absolute() / f"ask_{tool}.py"
    process = subprocess.Popen(
        [str(python), str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_within(scratch),
        cwd=scratch,
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

"""Time as experiments count it: the seconds that a processor worked for this process, all its threads together.

Limits and measurements in these seconds hold on a machine that others use too.  Two threads at work count twice, which
is to the disadvantage of Parcomp: the paper's method has one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["process_fields", "processor_seconds", "seconds_of", "use_processor_seconds"]

processor_seconds = time.process_time


def use_processor_seconds() -> None:
    """Let time limits of the library be in processor seconds, from now on in this process.

    The library reads its clock as ``time.monotonic()`` in many places, all for limits and durations.  Modules that
    imported the function by name, as those of threads and processes do, keep the clock on the wall.
    """
    time.monotonic = time.process_time


def process_fields(pid: int) -> list[str]:
    """What /proc tells of a process, from its state on; before that stands its name, which may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def seconds_of(pid: int) -> float:
    """The processor seconds of another process so far, in steps of a hundredth or so; 0 if it has ended.

    A limit that the process sets itself (``RLIMIT_CPU``) would be simpler, but makes Linux round the process's own
    clock to some milliseconds.
    """
    try:
        fields = process_fields(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""Time as experiments count it: the seconds that a processor worked for this process, all its threads together.

Limits and measurements in these seconds hold on a machine that others use too.  Two threads at work count twice, which
is to the disadvantage of Parcomp: the paper's method has one.
"""

from __future__ import annotations

import resource
import time

__all__ = ["end_after", "processor_seconds", "use_processor_seconds"]

processor_seconds = time.process_time


def use_processor_seconds() -> None:
    """Let time limits of the library be in processor seconds, from now on in this process.

    The library reads its clock as ``time.monotonic()`` in many places, all for limits and durations.  Modules that
    imported the function by name, as those of threads and processes do, keep the clock on the wall.
    """
    time.monotonic = time.process_time


def end_after(seconds: float) -> None:
    """Let the system end this process by SIGXCPU after so many more processor seconds, whatever it does then."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    # The limit is in whole seconds.
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, most))

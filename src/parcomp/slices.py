"""Computations that pause: each does its work in slices, so that whoever runs it can look at the clock in between.

Between two pauses lies a bounded amount of work, counted in word operations and not in time: how a computation is cut
never changes what it returns.  A function that may take long is written as a generator and marked :func:`sliced`; a
search, whose state is of interest at each pause, is a :class:`Course`.  Only :func:`run` has a clock.
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import nullcontext, suppress
from typing import Final, Generic, ParamSpec, TypeAlias, TypeVar

__all__ = ["LARGEST_SLICE", "LEAST_SLICE", "SLICE", "Course", "Slices", "run", "sliced"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Slices: TypeAlias = Generator[int, None, Result]
"""Yields the work done since the last pause, and returns its result."""

SLICE: Final = 1 << 22
"""The work aimed at between two pauses: some milliseconds."""

LEAST_SLICE: Final = 1 << 16
LARGEST_SLICE: Final = 1 << 24
"""Slices get shorter as a deadline comes near, but no shorter than the first; the second takes some 60 ms."""

_FIRST_SLICE: Final = 1 << 18
"""How much is done before the clock tells how fast this machine is."""


class sliced(Generic[Parameters, Result]):  # noqa: N801  (a decorator)
    """A function written as slices: called, it runs to its end; ``.slices(…)`` with the same arguments pauses."""

    def __init__(self, function: Callable[Parameters, Slices[Result]]) -> None:
        self.slices = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Run all slices without a pause."""
        slices = self.slices(*args, **kwargs)
        while True:
            try:
                next(slices)
            except StopIteration as end:
                result: Result = end.value
                return result


class Course(ABC):
    """A computation with a state that others look at between its slices.

    ``left`` is how much work may be done before the next pause, for slices of a length to choose; ``ended`` tells
    whether there is nothing left to do.
    """

    def __init__(self) -> None:
        self.left = 0
        self.ended = False
        self._slices = self.course()

    @abstractmethod
    def course(self) -> Slices[None]:
        """All that there is to do, in slices."""

    @property
    def done(self) -> bool:
        """Whether going on would change nothing."""
        return self.ended

    def advance(self, work: int) -> int:
        """Go on for about ``work`` word operations; return how many it were, 0 if nothing was left to do."""
        self.left = work
        while self.left > 0 and not self.done:
            step = next(self._slices, None)
            if step is None:
                self.ended = True
                break
            self.left -= step
        return work - self.left


def run(
    course: Course,
    deadline: float,
    watch: Callable[[], bool | None] | None = None,
    *,
    until_interrupted: bool = False,
) -> None:
    """Let a course go on until it is done or ``time.monotonic()`` passes ``deadline``.

    ``watch`` is called at each pause, and ends the run by returning true; with ``until_interrupted`` Ctrl-C does too,
    for who wants to know how far the course has come.
    """
    with suppress(KeyboardInterrupt) if until_interrupted else nullcontext():
        _run(course, deadline, watch)


def _run(course: Course, deadline: float, watch: Callable[[], bool | None] | None) -> None:
    pace, most = 0.0, _FIRST_SLICE
    while (now := time.monotonic()) < deadline and (work := course.advance(most)):
        if watch is not None and watch():
            break
        # As much as half of the time left allows at the slowest pace of late.
        later = time.monotonic()
        pace = max((later - now) / work, 0.8 * pace)
        most = int(max(LEAST_SLICE, min(LARGEST_SLICE, (deadline - later) / (2 * pace + 1e-15))))

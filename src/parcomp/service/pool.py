"""Work off the event loop: a bounded pool of threads, and a bounded queue before it.

A decision can take a solver's time and a count a pass over the table.  Neither ever runs on the event loop, so that
probes, sign-ins and refusals stay quick; and what comes when the queue is full is told to come again, at once.

Work that has begun is finished, whether or not somebody still waits for it: a charge may stand already.  What nobody
waits for any more before it has begun is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from parcomp.service.problems import Problem

__all__ = ["Pool"]

P = ParamSpec("P")
T = TypeVar("T")


class Pool:
    """So many threads, and so many calls that may wait for one."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self.pending = 0
        """Calls that run or wait."""

    async def run(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call the function in a thread; 503 if too many calls wait already."""
        if self.pending >= self._most:
            raise Problem(
                503, "busy", "more is asked than can be worked on; try again shortly", headers={"Retry-After": "1"}
            )
        self.pending += 1
        loop = asyncio.get_running_loop()
        future = self._executor.submit(partial(call, *args, **named))
        # When the thread is done, not when whoever waits for it goes: until then it is taken.
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Wait for what has begun; nothing that only waits is begun any more."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _ended(self) -> None:
        self.pending -= 1

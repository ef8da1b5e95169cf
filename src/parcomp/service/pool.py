"""Work off the event loop: a bounded pool of threads, and a bounded queue before it.

A decision can take a solver's time and a count a pass over the table.  Neither ever runs on the event loop, so that
probes, sign-ins and refusals stay quick; and what comes when the queue is full is told to come again, at once.

Whoever asks much keeps nobody else from asking.  Calls that are made for somebody take half of the threads and half of
the queue at most, and of those who wait, whoever has the fewest calls running is next.

Work that has begun is finished, whether or not somebody still waits for it: a charge may stand already.  What nobody
waits for any more before it has begun is left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from parcomp.service.problems import Problem

__all__ = ["Pool"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """Something to do for somebody ("" for all), and who waits for it."""

    owner: str
    work: Callable[[], Any]
    waiter: asyncio.Future[Any]


class Pool:
    """So many threads, and so many calls that may wait for one; all of it is used from one event loop."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._threads, self._most = threads, threads + waiting
        self._waiting: list[_Call] = []
        self._running: Counter[str] = Counter()
        self._owned: Counter[str] = Counter()

    @property
    def pending(self) -> int:
        """Calls that run or wait."""
        return self._owned.total()

    async def run(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call the function in a thread; 503 if too many calls wait already."""
        return await self.run_for("", call, *args, **named)

    async def run_for(self, owner: str, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """The same for somebody, who is told to come again if too many of the own calls wait already."""
        if self.pending >= self._most or (owner and self._owned[owner] >= max(self._most // 2, 1)):
            raise Problem(
                503, "busy", "more is asked than can be worked on; try again shortly", headers={"Retry-After": "1"}
            )
        made = _Call(owner, partial(call, *args, **named), asyncio.get_running_loop().create_future())
        self._owned[owner] += 1
        self._waiting.append(made)
        self._begin_next()
        try:
            found: T = await made.waiter
        finally:
            if made in self._waiting:
                self._waiting.remove(made)
                self._leave(made)
        return found

    def close(self) -> None:
        """Wait for what has begun; nothing that only waits is begun any more."""
        self._threads = 0
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _begin_next(self) -> None:
        """Begin what may begin."""
        while self._running.total() < self._threads:
            share = max(self._threads // 2, 1)
            ready = [one for one in self._waiting if not one.owner or self._running[one.owner] < share]
            if not ready:
                return
            # Of equals the one that waits longest: min takes the first.
            self._begin(min(ready, key=lambda one: self._running[one.owner]))

    def _begin(self, made: _Call) -> None:
        self._waiting.remove(made)
        self._running[made.owner] += 1
        loop = made.waiter.get_loop()
        future = self._executor.submit(made.work)
        # When the thread is done, not when whoever waits for it goes: until then it is taken.
        future.add_done_callback(lambda done: loop.call_soon_threadsafe(self._ended, made, done))

    def _ended(self, made: _Call, done: Any) -> None:
        self._running[made.owner] -= 1
        self._leave(made)
        if not made.waiter.done():
            if error := done.exception():
                made.waiter.set_exception(error)
            else:
                made.waiter.set_result(done.result())
        self._begin_next()

    def _leave(self, made: _Call) -> None:
        self._owned[made.owner] -= 1

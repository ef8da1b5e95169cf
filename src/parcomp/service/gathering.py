"""Asks that wait at the same time are answered together (:mod:`parcomp.custodian.together`).

While one group is counted, the next one gathers.  Alone, an ask waits for nobody; among many, they share a commit, a
pass over the table and a mark, so that the service answers more of them the more there are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from parcomp.custodian import Answer, Ask
from parcomp.service.problems import Problem

__all__ = ["Gathering"]

_LARGEST = 32
"""Asks in a group: the ledger is locked for as long as it takes to decide on them."""

Outcomes: TypeAlias = Sequence[Answer | Exception]


class Gathering:
    """Asks that wait, at most ``waiting`` of them, and at most ``groups`` groups of them under way."""

    def __init__(self, answer: Callable[[Sequence[Ask]], Awaitable[Outcomes]], groups: int, waiting: int) -> None:
        self._answer = answer
        self._groups = groups
        self._waiting = waiting
        self._asks: deque[tuple[Ask, asyncio.Future[Answer]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, ask: Ask) -> Answer:
        """The answer, or the error that the ask gets in its place; 503 if too many wait already."""
        if len(self._asks) >= self._waiting:
            raise Problem(
                503, "busy", "more is asked than can be worked on; try again shortly", headers={"Retry-After": "1"}
            )
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asks.append((ask, future))
        if len(self._under_way) < self._groups:
            task = asyncio.create_task(self._work())
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return await future

    async def _work(self) -> None:
        """Answer groups until nobody waits."""
        while self._asks:
            group = [self._asks.popleft() for _ in range(min(len(self._asks), _LARGEST))]
            # Whoever no longer waits has not been charged yet, and is left out.
            group = [(ask, future) for ask, future in group if not future.done()]
            if group:
                await self._answer_group(group)

    async def _answer_group(self, group: Sequence[tuple[Ask, asyncio.Future[Answer]]]) -> None:
        try:
            outcomes = await self._answer([ask for ask, _ in group])
        except Exception as error:  # what concerns all of them is told to each
            outcomes = [error] * len(group)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

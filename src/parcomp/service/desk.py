"""What the requests of one worker share: the custodian, the keys, the threads and the limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import parcomp.noise
from parcomp.custodian import Access, Answer, Ask, Custodian, Settings, ask_together
from parcomp.errors import LedgerError, ParcompError
from parcomp.ledger import AccessKey, find_key
from parcomp.noise import Mechanism
from parcomp.service.gathering import Gathering
from parcomp.service.pool import Pool
from parcomp.service.watch import logger

__all__ = ["Desk"]

P = ParamSpec("P")
T = TypeVar("T")

_KEYS_SECONDS = 0.4
"""How old the list of keys may be: a revoked key stops within a second on every worker."""

_REOPEN_SECONDS = 2.0
"""How often a custodian that does not work is opened again, at most."""

_VIEW_THREADS = 1
_VIEWS_WAITING = 32


class Desk:
    """The custodian of a settings file, for the requests of one process."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._custodian = Custodian.open(self.path)
        self.settings: Settings = self._custodian.settings
        self._access = Access(self.settings)
        serving = self.settings.serving
        self.asking = Pool("asking", serving.threads, serving.waiting)
        self.gathering = Gathering(self._ask_together, max(serving.threads // 2, 1), max(serving.waiting, 1))
        # Graphs and maps take longer than answers and are for the eye: they have a thread of their own.
        self.viewing = Pool("viewing", _VIEW_THREADS, _VIEWS_WAITING)
        self._looking_up = Pool("keys", 1, 1)
        self._keys: list[AccessKey] = []
        self._keys_at = float("-inf")
        self._refreshing = asyncio.Lock()
        self._reopened_at = float("-inf")
        self._former: list[Custodian] = []
        self._warm_up()

    def close(self) -> None:
        """Finish what has begun, and let go of the ledger and the table."""
        for pool in (self.asking, self.viewing, self._looking_up):
            pool.close()
        for custodian in (*self._former, self._custodian):
            custodian.close()
        self._access.close()

    async def find(self, key: str) -> AccessKey | None:
        """The key that was presented, if it is good."""
        if time.monotonic() - self._keys_at > _KEYS_SECONDS:
            async with self._refreshing:
                began = time.monotonic()
                if began - self._keys_at > _KEYS_SECONDS:
                    self._keys = await self._looking_up.run(self._access.keys)
                    self._keys_at = began
        return find_key(self._keys, key)

    async def _ask_together(self, asks: Sequence[Ask]) -> Sequence[Answer | ParcompError]:
        return await self.ask(ask_together, asks)

    async def ask(self, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Call a function of the custodian in a thread."""
        return await self._run(self.asking, call, *args, **named)

    async def view(self, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The same for what only looks, and may take longer."""
        return await self._run(self.viewing, call, *args, **named)

    def _warm_up(self) -> None:
        """Open and load what the first request would wait for; what is wrong with it is for that request to say."""
        parcomp.noise.add_noise(Mechanism("discrete-laplace", 1.0), [0])
        with suppress(ParcompError):
            self._custodian.ready()

    async def _run(
        self, pool: Pool, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        try:
            return await pool.run(call, self._custodian, *args, **named)
        except LedgerError as error:
            logger.warning("ledger", reason=str(error))
            await self._reopen(pool)
            raise

    async def _reopen(self, pool: Pool) -> None:
        """Open the custodian again: the table may have been loaded anew, or a database restarted."""
        if time.monotonic() - self._reopened_at < _REOPEN_SECONDS:
            return
        self._reopened_at = time.monotonic()
        try:
            fresh = await pool.run(Custodian.open, self.path)
        except ParcompError as error:
            logger.error("reopening failed", reason=str(error))
            return
        # Others may still work with the former one; it is closed at the end.
        self._former.append(self._custodian)
        self._custodian, self.settings = fresh, fresh.settings

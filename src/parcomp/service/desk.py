"""What the requests of one worker share: the custodian, the keys, the threads and the limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import parcomp.noise
from parcomp.custodian import Access, Answer, Ask, Custodian, Settings, ask_together, read_ask, waited_for
from parcomp.errors import LedgerError, ParcompError
from parcomp.ledger import AccessKey, Role, find_key
from parcomp.noise import Mechanism
from parcomp.service.gathering import Gathering
from parcomp.service.pace import Pacing
from parcomp.service.pool import Pool
from parcomp.service.problems import Problem
from parcomp.service.tenure import Tenure
from parcomp.service.watch import logger

__all__ = ["Desk", "Viewer"]

P = ParamSpec("P")
T = TypeVar("T")

_KEYS_SECONDS = 0.4
"""How old the list of keys may be: a revoked key stops within a second on every worker."""

_REOPEN_SECONDS = 2.0
"""How often a custodian that does not work is opened again, at most."""

_READY_SECONDS = 3.0
"""How long whoever asks whether the service is ready waits at most."""

_VIEWS_WAITING = 8
_LOOK_THREADS = 2
_LOOKS_WAITING = 64

Viewer = ContextVar[Role | None]("viewer", default=None)
"""Whose key the request came with that is being worked on."""


class Desk:
    """The custodian of a settings file, for the requests of one process."""

    def __init__(self, path: str | Path, custodian: Custodian | None = None, head: str | None = None) -> None:
        """``custodian`` is one that was opened already; one that is opened here must hold ``head``."""
        self.path = Path(path)
        self._tenure = Tenure(custodian or Custodian.open(self.path, head=head))
        self.settings: Settings = self._tenure.custodian.settings
        self._access = Access(self.settings)
        serving = self.settings.serving
        self.asking = Pool("asking", serving.threads, serving.waiting)
        self.gathering = Gathering(self._ask_together, max(serving.threads // 2, 1), max(serving.waiting, 1))
        # Graphs and maps of all charges take longer than answers and are for the eye: they have a thread of their own,
        # what analysts look at others, and neither keeps the service from saying that it is ready.
        self.viewing = Pool("viewing", 1, _VIEWS_WAITING)
        self.looking = Pool("looking", _LOOK_THREADS, _LOOKS_WAITING)
        # Whoever has paid is never told that too much waits.
        self.writing = Pool("writing", 1, 2**31)
        self._probing = Pool("probing", 1, 1)
        self._opening = Pool("opening", 1, 1)
        self._looking_up = Pool("keys", 1, 1)
        self._probe: asyncio.Task[None] | None = None
        self._batching: set[str] = set()
        self._keys: list[AccessKey] = []
        self._keys_at = float("-inf")
        self._refreshing = asyncio.Lock()
        self._reopened_at = float("-inf")
        self._warm_up()

    def close(self) -> None:
        """Finish what has begun, and let go of the ledger and the table."""
        for pool in (
            self.asking,
            self.writing,
            self.viewing,
            self.looking,
            self._probing,
            self._opening,
            self._looking_up,
        ):
            pool.close()
        self._tenure.close()
        self._access.close()

    async def find(self, key: str) -> AccessKey | None:
        """The key that was presented, if it is good."""
        if time.monotonic() - self._keys_at > _KEYS_SECONDS:
            async with self._refreshing:
                began = time.monotonic()
                if began - self._keys_at > _KEYS_SECONDS:
                    try:
                        self._keys = await self._looking_up.run(self._access.keys)
                    except LedgerError as error:
                        logger.warning("keys", reason=str(error))
                        raise
                    self._keys_at = began
        return find_key(self._keys, key)

    async def ready(self) -> None:
        """Raise unless requests can be answered; it is looked at once for all who ask at the same time."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._run(self._probing, "", self._check_usable))
            # Whoever waited may be gone, and then nobody else asks for the exception.
            self._probe.add_done_callback(lambda probe: probe.cancelled() or probe.exception())
        try:
            async with asyncio.timeout(_READY_SECONDS):
                await asyncio.shield(self._probe)
        except TimeoutError:
            detail = f"the ledger or the table did not answer within {_READY_SECONDS:g} s"
            raise Problem(503, "unavailable", detail, headers={"Retry-After": "2"}) from None

    def _check_usable(self, custodian: Custodian) -> None:
        custodian.ready()
        self._access.keys()

    async def _ask_together(self, asks: Sequence[Ask]) -> Sequence[Answer | Exception]:
        # For all who ask: it is short, since what they ask was read before.
        return await self.ask("", ask_together, asks)

    async def answer(self, ask: Ask) -> Answer:
        """The answer to an ask, or the error that it gets in its place."""
        return await self.gathering.ask(await self.ask(ask.analyst, read_ask, ask))

    async def ask(self, name: str, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Call a function of the custodian in a thread, for the analyst of this name."""
        until = time.monotonic() + self.settings.serving.deadline_seconds

        def while_waited_for(custodian: Custodian) -> T:
            with waited_for(until):
                return call(custodian, *args, **named)

        return await self._run(self.asking, name, while_waited_for)

    async def batch(
        self, name: str, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        """The same for a batch, of which a name has one in work at a time: it can take all threads for long.

        The name is taken until the response is sent: were it free when the work has ended, whoever tries would know how
        long that took.
        """
        if name in self._batching:
            detail = "a batch of this key is being worked on; send the next when it is answered"
            raise Problem(429, "rate", detail, headers={"Retry-After": "1"})
        begun, pace, loop = False, Pacing.get(), asyncio.get_running_loop()
        free = partial(self._batching.discard, name)

        def alone(custodian: Custodian) -> T:
            nonlocal begun
            begun = True
            try:
                return call(custodian, *args, **named)
            finally:
                loop.call_soon_threadsafe(pace.when_sent, free)

        self._batching.add(name)
        try:
            return await self.ask(name, alone)
        finally:
            # What has begun goes on, whether or not somebody waits for it.
            if not begun:
                pace.when_sent(free)

    async def look(self, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The same for what only looks, and is quick."""
        return await self._run(self.looking, "", call, *args, **named)

    async def view(self, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The same for what only looks, and takes longer for a custodian, who sees all charges."""
        pool = self.looking if Viewer.get() == Role.ANALYST else self.viewing
        return await self._run(pool, "", call, *args, **named)

    def _warm_up(self) -> None:
        """Open and load what the first request would wait for; what is wrong with it is for that request to say."""
        parcomp.noise.add_noise(Mechanism("discrete-laplace", 1.0), [0])
        with suppress(ParcompError):
            self._tenure.custodian.ready()
            self._tenure.custodian.balance()

    async def _run(
        self, pool: Pool, name: str, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        try:
            return await pool.run_for(name, partial(self._tenure.call, call, *args, **named))
        except LedgerError as error:
            logger.warning("ledger", reason=str(error))
            await self._reopen()
            raise

    async def _reopen(self) -> None:
        """Open the custodian again: the table may have been loaded anew, or a database restarted.

        A ledger that lacks what was seen of it here was rolled back, and is not taken, whatever its mark says.
        """
        if time.monotonic() - self._reopened_at < _REOPEN_SECONDS:
            return
        self._reopened_at = time.monotonic()
        try:
            fresh = await self._opening.run(self._tenure.call, Custodian.successor, self.path)
        except ParcompError as error:
            logger.error("reopening failed", reason=str(error))
            return
        self.settings = fresh.settings
        await self._opening.run(self._tenure.hand_over, fresh)

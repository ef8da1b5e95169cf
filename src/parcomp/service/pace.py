"""When a response is sent, and what must not be seen to change before that.

With ``answer_delay`` a response is sent at a multiple of the delay after its request came in, so that time tells little
of the work.  What others can see of a request while it is worked on, such as that another batch of the same name is
turned away, must then not end with the work either: it ends with the response, or at the next multiple if the work
goes on after the response was sent, as after a deadline.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["Pace", "Pacing"]


class Pace:
    """The times at which a request that came in at ``began`` may be answered; all of it is used from one event loop."""

    def __init__(self, began: float, delay: float) -> None:
        self._began, self._delay = began, delay
        self._sent = False
        self._then: list[Callable[[], object]] = []

    def left(self, now: float) -> float:
        """How long it is until the next multiple of the delay, of which the first one is not zero.

        >>> round(Pace(100.0, 0.5).left(100.2), 3), round(Pace(100.0, 0.5).left(100.6), 3), Pace(100.0, 0.0).left(101.0)
        (0.3, 0.4, 0.0)
        """
        if not self._delay:
            return 0.0
        elapsed = now - self._began
        return max(math.ceil(elapsed / self._delay), 1) * self._delay - elapsed

    async def wait(self) -> None:
        """Wait until the response may be sent."""
        now = time.monotonic()
        due = now + self.left(now)
        # A loop may wake up a little early.
        while (left := due - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def end(self) -> None:
        """The response is sent, or nobody waits for it any more: do what waits for that."""
        self._sent = True
        for call in self._then:
            call()

    def when_sent(self, call: Callable[[], object]) -> None:
        """Call this when the response is sent; at the next multiple of the delay if it was."""
        if self._sent:
            asyncio.get_running_loop().call_later(self.left(time.monotonic()), call)
        else:
            self._then.append(call)


Pacing = ContextVar[Pace]("pacing")
"""The pace of the request that is being worked on."""

"""What the settings say of the service: how long a request may take, how many there may be, when answers are sent.

.. code-block:: toml

    [service]                       # all of it optional
    answer_delay = "0.5"            # seconds; answers are sent at multiples of it after the request, "0" for at once
    deadline = "30"                 # seconds that a request may take
    threads = 4                     # requests that are worked on at once, in each worker
    waiting = 256                   # requests that may wait for that, in each worker
    body_bytes = 1048576            # the largest body of a request
    rate = 200                      # requests a second with one key, in each worker
    proxies = ["10.0.0.5"]          # addresses of proxies whose X-Forwarded-For and -Proto are believed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from ipaddress import ip_network
from typing import Final

from parcomp.errors import SettingsError, shown

__all__ = ["SERVING_KEYS", "Serving"]

_LONGEST = 3600


@dataclass(frozen=True, slots=True)
class Serving:
    """The limits of the service; seconds are decimals, written as strings.

    >>> Serving(answer_delay="0.5").delay_seconds
    0.5
    """

    answer_delay: str = "0"
    deadline: str = "30"
    threads: int = 4
    waiting: int = 256
    body_bytes: int = 1 << 20
    rate: int = 200
    proxies: Sequence[str] = ()

    def __post_init__(self) -> None:
        _seconds("answer_delay", self.answer_delay, least=0.0)
        _seconds("deadline", self.deadline, least=0.1)
        if self.delay_seconds >= self.deadline_seconds:
            raise SettingsError("answer_delay must be below the deadline of a request")
        _whole("threads", self.threads, 1, 1_000)
        _whole("waiting", self.waiting, 0, 100_000)
        _whole("body_bytes", self.body_bytes, 1_000, 1 << 30)
        _whole("rate", self.rate, 1, 1_000_000)
        object.__setattr__(self, "proxies", _addresses("proxies", self.proxies))

    @property
    def delay_seconds(self) -> float:
        """The time between a request and its answer, or what that is a multiple of."""
        return float(self.answer_delay)

    @property
    def deadline_seconds(self) -> float:
        """The most that a request may take."""
        return float(self.deadline)


SERVING_KEYS: Final = tuple(Serving.__dataclass_fields__)


def _addresses(name: str, written: object) -> tuple[str, ...]:
    """Addresses and networks; one of all addresses would let anybody say where a request comes from."""
    if not isinstance(written, Sequence) or isinstance(written, str):
        raise SettingsError(f'{name} is a list of addresses such as ["10.0.0.5"], not {shown(written)}')
    for one in written:
        try:
            trusted = isinstance(one, str) and ip_network(one).prefixlen > 0
        except ValueError:
            trusted = False
        if not trusted:
            raise SettingsError(
                f'{name} holds IP addresses such as "10.0.0.5", or networks such as "10.0.0.0/24", not {shown(one)}'
            )
    return tuple(written)


def _seconds(name: str, written: object, least: float) -> None:
    try:
        seconds = Decimal(written) if isinstance(written, str) else None
    except InvalidOperation:
        seconds = None
    if seconds is None or not seconds.is_finite() or not least <= seconds <= _LONGEST:
        raise SettingsError(f'{name} is seconds as a string such as "0.5", at most {_LONGEST}, not {shown(written)}')


def _whole(name: str, number: object, least: int, most: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise SettingsError(f"{name} must be a whole number from {least:,} to {most:,}, not {shown(number)}")

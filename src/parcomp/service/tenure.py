"""The custodian in office: the one that requests are put to, and former ones until nobody works with them any more.

A custodian is replaced when the table was loaded anew or a database came back.  Requests that have begun with the
former one end with it; whoever is the last to leave it closes it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from parcomp.custodian import Custodian

__all__ = ["Tenure"]

P = ParamSpec("P")
T = TypeVar("T")


class Tenure:
    """One custodian after the other, for threads that each work with one of them."""

    def __init__(self, custodian: Custodian) -> None:
        self.custodian = custodian
        """The one in office."""
        self._lock = threading.Lock()
        self._working: Counter[Custodian] = Counter()

    def call(self, call: Callable[Concatenate[Custodian, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Call a function with the custodian who is in office when it begins."""
        with self._lock:
            custodian = self.custodian
            self._working[custodian] += 1
        try:
            return call(custodian, *args, **named)
        finally:
            self._leave(custodian)

    def hand_over(self, custodian: Custodian) -> None:
        """Put another one into office."""
        with self._lock:
            former, self.custodian = self.custodian, custodian
            self._working[former] += 1
        self._leave(former)

    def close(self) -> None:
        """Close the one in office, once nobody works any more."""
        self.custodian.close()

    def _leave(self, custodian: Custodian) -> None:
        with self._lock:
            self._working[custodian] -= 1
            last = self._working[custodian] == 0
            if last:
                del self._working[custodian]
            left = last and custodian is not self.custodian
        if left:
            custodian.close()

"""A session with a server: the same lines, over the network, as the analyst of a key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from parcomp.cli.answers import print_answer, print_balance, print_quote
from parcomp.cli.shell_session import Session
from parcomp.custodian import Answer, Balance, Quote
from parcomp.ledger import Charge
from parcomp.model import Domain
from parcomp.privacy import find_measure

if TYPE_CHECKING:
    from parcomp.client import Client
    from parcomp.custodian import Estimates

__all__ = ["ServedSession"]


class ServedSession(Session):
    """A session with a server; the domain is asked for once, at its beginning."""

    def __init__(self, client: Client, costs: Mapping[str, str | None]) -> None:
        self._client = client
        try:
            domain = Domain.described(client.domain())
            balance = Balance.read(client.budget())
            measure = find_measure(balance.measure)
            super().__init__(domain.name, domain, measure, balance.rows_per_person, {domain.name}, costs)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _ask(self, sql: str) -> None:
        cost = self._cost()
        print_answer(Answer.read(self._client.ask(sql, derive=False, estimate=False, **cost).document))
        self._print_left(self._client.quote(sql, **cost).remaining)

    def _derive(self, sql: str) -> None:
        print_answer(Answer.read(self._client.ask(sql, derive=True).document))

    def _estimates(self) -> Estimates:
        return self._client.estimates()

    def _quote(self, sql: str) -> None:
        print_quote(Quote.read(self._client.quote(sql, **self._cost()).document))

    def _balance(self) -> None:
        print_balance(Balance.read(self._client.budget()))

    def _history(self) -> list[Charge]:
        # Digests of the chain are not for analysts.
        names = [one.name for one in fields(Charge)]
        charges = (Charge(**{name: one.get(name, "") for name in names}) for one in self._client.ledger())
        return [one for one in charges if not one.is_load]

    def _after_interrupt(self) -> None:
        # Only the server knows on which side of its commit the interrupt came.
        words = (
            "whether something was charged is to be seen by \\history; if it was, asking the same again is free "
            "until the table is loaded anew"
            if self._asks
            else "nothing was charged"
        )
        print(f"parcomp: interrupted; {words}", file=sys.stderr)

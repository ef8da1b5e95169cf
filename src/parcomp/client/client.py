"""The client that waits: one connection to a server, and what can be asked of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from parcomp.client.exchange import (
    Amount,
    Amounts,
    Exchange,
    address_of,
    answer_exchange,
    batch_exchange,
    batch_quote_exchange,
    derive_exchange,
    headers_for,
    look_exchange,
    quote_exchange,
    read_key,
    resent_after,
    result_of,
)
from parcomp.client.results import ServedAnswer, ServedBatch, ServedBatchQuote, ServedQuote, estimates_read
from parcomp.errors import ArgumentError, ServiceError
from parcomp.figures import Estimates

__all__ = ["Client"]


class Client:
    """Asks a server, as the analyst of a key; without one the environment's is taken (PARCOMP_KEY).

    Requests are sent again after a lost connection or a busy server; one that pays is charged once all the same.
    Errors are those of a custodian, and :class:`~parcomp.errors.ServiceError` for the rest.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=address_of(url), headers=headers_for(read_key(key)), timeout=timeout, transport=transport
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._http.base_url}>"

    def quote(
        self, sql: str, *, epsilon: Amount | None = None, rho: Amount | None = None, mu: Amount | None = None
    ) -> ServedQuote:
        """What asking at a cost would mean; charges nothing."""
        return ServedQuote.read(self._send(quote_exchange(sql, {"epsilon": epsilon, "rho": rho, "mu": mu})))

    def quote_batch(
        self,
        statements: Sequence[str | Mapping[str, Any]],
        *,
        epsilon: Amounts = None,
        rho: Amounts = None,
        mu: Amounts = None,
        budget: Amount | None = None,
        strategy: str = "independent",
    ) -> ServedBatchQuote:
        """What asking a batch would mean, with costs or a budget as :meth:`ask_batch` takes them; charges nothing."""
        costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
        return ServedBatchQuote.read(self._send(batch_quote_exchange(statements, costs, budget, strategy)))

    def ask(
        self,
        sql: str,
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        mu: Amount | None = None,
        key: str | None = None,
        derive: bool = False,
        estimate: bool = False,
    ) -> ServedAnswer:
        """Pay for a statement and get its answer; :class:`~parcomp.errors.RefusedError` if nothing bears it.

        With ``derive`` it is worked out from answers that were released before, for nothing, whatever cost is stated;
        :class:`~parcomp.errors.UnderivableError` if it does not follow from them.  With ``estimate`` too it has beside
        it what all answers of the key say of it.
        """
        if derive:
            return ServedAnswer.read(self._send(derive_exchange(sql, estimate)))
        if estimate:
            raise ArgumentError("an estimate stands beside an answer that is derived; ask with derive=True too")
        costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
        return ServedAnswer.read(self._send(answer_exchange(sql, costs, key)))

    def ask_batch(
        self,
        statements: Sequence[str | Mapping[str, Any]],
        *,
        epsilon: Amounts = None,
        rho: Amounts = None,
        mu: Amounts = None,
        budget: Amount | None = None,
        strategy: str = "independent",
        estimate: bool = False,
        key: str | None = None,
    ) -> ServedBatch:
        """Answers to all statements or none; a list of them, and a data frame (``to_pandas()``).

        Costs are one for all or one for each statement, which may also carry its own: ``{"sql": …, "epsilon": "0.1"}``.
        A ``budget`` instead is shared out so that the mean expected error is least.  With a budget, counts may be
        measured together by a ``strategy`` (``correlated``, ``atoms`` or ``auto``), which is one charge; with
        ``estimate`` each count has beside it what all answers say together.
        """
        costs = {"epsilon": epsilon, "rho": rho, "mu": mu}
        document = self._send(batch_exchange(statements, costs, budget, key, strategy, estimate))
        return ServedBatch.read(document, statements)

    def estimates(self, *, interval: float = 0.95) -> Estimates:
        """What all counts that the key has paid for since the last load say together, for nothing.

        Each has an estimate beside its answer, with an interval that holds the true count about as often as
        ``interval`` says, which is measured; the answer's own interval is guaranteed, and stays.
        """
        return estimates_read(self._look("/v1/estimates", interval=interval))

    def domain(self) -> dict[str, Any]:
        """The domain as a domain file has it, and the names of ``complete`` attributes, if there are any."""
        return self._look("/v1/domain")

    def budget(self) -> dict[str, Any]:
        """What was spent of the budget."""
        return self._look("/v1/budget")

    def ledger(self) -> list[dict[str, Any]]:
        """The charges that the key may see, in order."""
        charges: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self._look("/v1/ledger", after=after)
            charges += page["charges"]
            after = page["next"]
        return charges

    def graph(self) -> dict[str, Any]:
        """The query graph of the charges that the key may see."""
        return self._look("/v1/graph")

    def budget_map(self, x: str, y: str) -> dict[str, Any]:
        """The most that was spent on any row, for each cell of two attributes; for custodians."""
        return self._look("/v1/budget/map", x=x, y=y)

    def _look(self, path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._send(look_exchange(path, **query))
        return found

    def _send(self, exchange: Exchange) -> Any:
        attempt, options = 0, exchange.options()
        while True:
            attempt += 1
            response, lost = None, ""
            try:
                response = self._http.request(exchange.method, exchange.path, **options)
            except httpx.TransportError as error:
                lost = type(error).__name__
            except httpx.InvalidURL as error:
                raise ServiceError(f"the server's address is not well formed ({error})", status=0) from None
            wait = resent_after(response, attempt)
            if wait is None:
                if response is None:
                    raise ServiceError(f"the server at {self._http.base_url} cannot be reached ({lost})", status=0)
                return result_of(response)
            time.sleep(wait)

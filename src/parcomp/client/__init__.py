"""A client of the service: quotes and answers over the network, and a DB-API connection on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.client.async_client import AsyncClient
    from parcomp.client.client import Client
    from parcomp.client.dbapi import connect
    from parcomp.client.results import (
        EstimatedCount,
        Estimates,
        ServedAnswer,
        ServedBatch,
        ServedBatchQuote,
        ServedQuote,
    )

__all__ = [
    "AsyncClient",
    "Client",
    "EstimatedCount",
    "Estimates",
    "ServedAnswer",
    "ServedBatch",
    "ServedBatchQuote",
    "ServedQuote",
    "connect",
]

_, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "async_client": "AsyncClient",
        "client": "Client",
        "dbapi": "connect",
        "results": "EstimatedCount Estimates ServedAnswer ServedBatch ServedBatchQuote ServedQuote",
    },
)

"""The reading half: from the address of a table to batches of its stored values, strictly and once."""

from __future__ import annotations

from parcomp.data.sources.address import installed, open_source, spark_address
from parcomp.data.sources.source import Source

__all__ = ["Source", "installed", "open_source", "spark_address"]

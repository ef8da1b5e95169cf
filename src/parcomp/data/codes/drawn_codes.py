"""Rows drawn at random from a domain, in memory: what a question is rehearsed on.

Each attribute's values, null among them where it is declared, are equally likely and independent of one another.  So
the rows depend on nothing but the domain, which is public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.codes.coded_table import CodedTable
from parcomp.data.layout import MULTIPLICITY, Imprint, column
from parcomp.model import Domain

__all__ = ["DrawnCodes"]

_RELATION = "drawn"


class DrawnCodes(CodedTable):
    """So many random rows of a domain."""

    engine = "DuckDB"

    def __init__(self, domain: Domain, rows: int) -> None:
        source = np.random.default_rng()
        codes = {
            column(index): source.integers(0, attribute.size, rows, np.int64)
            for index, attribute in enumerate(domain.attributes.values())
        }
        imprint = Imprint("rehearsal", "", "", "", rows=rows, kept=rows, stored=rows)
        super().__init__(domain, imprint, _RELATION)
        self._connection = duckdb.connect(":memory:", config={"threads": "1"})
        self._connection.execute("SET python_enable_replacements = false")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.register(_RELATION, pa.table({**codes, MULTIPLICITY: np.ones(rows, np.int64)}))

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return list(self._connection.execute(sql).fetchall())

    def _chunks(self, sql: str) -> Iterator[Sequence[npt.NDArray[Any]]]:
        yield list(self._connection.execute(sql).fetchnumpy().values())

    def _make_ready(self) -> None:
        """Nothing to do: the rows are in memory."""

    def _disconnect(self) -> None:
        self._connection.close()

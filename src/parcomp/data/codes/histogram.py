"""How many rows have each value, group by group: what squares, different values and ranks follow from.

The table is asked for the codes in use with how many rows have them, and what follows is worked out here, in integers
without bounds: nothing in it can overflow or fail for one row and not for another.  A long condition is no part of the
query but tested here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcomp.data.codes.keys import Key, Terms, condition_sql
from parcomp.data.layout import MULTIPLICITY, column
from parcomp.model import Domain

__all__ = ["Histogram", "HistogramPass"]

Histogram: TypeAlias = dict[int, int]
"""How many rows have each value that some row has."""

_LONG = 2**20
"""So many pairs of a group and a code, or twice as many as differ, are gathered before equal ones are added up."""


class HistogramPass:
    """A pass that finds, in each group of the rows of a condition, how many have each code of an attribute.

    The condition leaves only rows that have a value of the attribute.
    """

    def __init__(
        self,
        domain: Domain,
        condition: Sequence[Terms],
        groups: Sequence[Key],
        index: int,
        relation: str,
        *,
        in_sql: bool,
    ) -> None:
        self._groups = groups
        self._condition = None if in_sql else condition
        tested = () if in_sql else {i for terms in condition for i, _ in terms}
        used = sorted({index, *(key.index for key in groups), *tested})
        self._at = {i: place for place, i in enumerate(used)}
        self._index = index
        self._size = list(domain.attributes.values())[index].size + 1
        names = ", ".join(column(i) for i in used)
        where = condition_sql(condition) if in_sql else "TRUE"
        # The sum of an engine is wider than 64 bits, and what it holds is not.
        self.sql = f"SELECT {names}, CAST(SUM({MULTIPLICITY}) AS BIGINT) AS {MULTIPLICITY} FROM {relation}"
        self.sql += f"{'' if where == 'TRUE' else f' WHERE {where}'} GROUP BY {names}"
        self._keys: list[npt.NDArray[np.int64]] = []
        self._counts: list[npt.NDArray[np.int64]] = []
        self._gathered, self._most = 0, _LONG
        self._by_base: dict[int, list[Histogram]] = {}

    def add(self, chunk: Sequence[npt.NDArray[Any]]) -> None:
        """Take some records, given as the columns of the query's result."""
        *columns, counts = (np.asarray(values, np.int64) for values in chunk)
        kept = np.ones(len(counts), np.bool_)
        if self._condition is not None:
            kept = np.zeros(len(counts), np.bool_)
            for terms in self._condition:
                met = np.ones(len(counts), np.bool_)
                for i, predicate in terms:
                    codes = columns[self._at[i]]
                    inside = codes < predicate.size
                    met &= inside & predicate.flags_at(np.where(inside, codes, 0))
                kept |= met
        group = np.zeros(len(counts), np.int64)
        for key in self._groups:
            position = key.positions(columns[self._at[key.index]])
            kept &= position >= 0
            group = group * key.count + position
        self._keys.append((group * self._size + columns[self._at[self._index]])[kept])
        self._counts.append(counts[kept])
        self._gathered += len(self._keys[-1])
        if self._gathered > self._most:
            self._add_up()

    def groups(self, base: int = 0) -> list[Histogram]:
        """How many rows of each group have each code, counted from ``base`` on, once all records were taken.

        It is made once, and not to be changed: hundreds of quantiles may go by it.
        """
        if base not in self._by_base:
            self._add_up()
            found: list[Histogram] = [{} for _ in range(math.prod(key.count for key in self._groups))]
            for key, many in zip(self._keys[0].tolist(), self._counts[0].tolist(), strict=True):
                group, code = divmod(key, self._size)
                found[group][base + code] = many
            self._by_base[base] = found
        return self._by_base[base]

    def _add_up(self) -> None:
        """Add up equal pairs; all rows together fit 64 bits."""
        keys = np.concatenate([np.zeros(0, np.int64), *self._keys])
        counts = np.concatenate([np.zeros(0, np.int64), *self._counts])
        distinct, place = np.unique(keys, return_inverse=True)
        total = np.zeros(len(distinct), np.int64)
        np.add.at(total, place, counts)
        self._keys, self._counts = [distinct], [total]
        self._gathered, self._most = len(distinct), max(_LONG, 2 * len(distinct))

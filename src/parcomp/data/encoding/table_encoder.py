"""From batches of stored values to batches of codes, and what was met on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.encoding.encoder import ColumnEncoder
from parcomp.data.encoding.persons import PersonHasher
from parcomp.data.encoding.report import Report, attribute_report
from parcomp.data.layout import PERSON, RANK, Given, column, staging_schema
from parcomp.model import Domain

__all__ = ["TableEncoder"]


class TableEncoder:
    """Encodes batches with the columns ``x0``, ``x1``, … of the attributes, and then that of persons if there is a key.

    Rows without a person are left out.  ``given`` is what batches have held so far as they were given out.
    """

    def __init__(self, domain: Domain, nulls: tuple[str, ...], timezone: str, key: bytes | None = None) -> None:
        self._columns = [ColumnEncoder(name, one, nulls, timezone) for name, one in domain.attributes.items()]
        self._schema = staging_schema(domain, persons=key is not None)
        self._hasher = None if key is None else PersonHasher(key)
        self._nulls = nulls
        self._rows = 0
        self._inside = 0
        self.given = Given(0, (0,) * len(self._columns))
        # The first bytes of the hashes of the persons of all rows: enough to count them.
        self._persons: list[npt.NDArray[np.int64]] = []

    def encoded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as codes."""
        for batch in batches:
            if batch.num_rows:
                yield self._encoded(batch)

    def report(self, rows_per_person: int = 1) -> Report:
        """What was met in all batches so far, with so many rows of each person taken."""
        found = {one.name: attribute_report(one, self._rows) for one in self._columns}
        if self._hasher is None:
            return Report(self._rows, self._inside, found)
        owned = np.unique(np.concatenate([*self._persons, np.zeros(0, np.int64)]), return_counts=True)[1]
        taken = int(np.minimum(owned, rows_per_person).sum())
        return Report(self._rows, self._inside, found, len(owned), self._rows - taken)

    def tallies(self) -> dict[str, Any]:
        """What was met, to be added to another encoder's."""
        return {
            "rows": self._rows,
            "inside": self._inside,
            "given": [self.given.rows, self.given.outside],
            "columns": [[one.tally, one.samples, one.has_text] for one in self._columns],
            "persons": [person for some in self._persons for person in some.tolist()],
        }

    def add(self, tallies: Mapping[str, Any]) -> None:
        """Add what another encoder has met."""
        self._rows += tallies["rows"]
        self._inside += tallies["inside"]
        self.given += Given(*tallies["given"])
        for one, (tally, samples, has_text) in zip(self._columns, tallies["columns"], strict=True):
            one.add(tally, samples)
            one.has_text = has_text
        self._persons.append(np.array(tallies["persons"], np.int64))

    def _encoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        codes = [one.codes(batch.column(index)) for index, one in enumerate(self._columns)]
        inside = np.ones(batch.num_rows, np.bool_)
        for one, column_codes in zip(self._columns, codes, strict=True):
            inside &= column_codes < one.attribute.size
        self._rows += batch.num_rows
        self._inside += int(inside.sum())
        arrays = {column(index): pa.array(one) for index, one in enumerate(codes)}
        if self._hasher is not None:
            persons = self._hasher.persons(batch.column(len(codes)), self._nulls)
            known = np.array([person is not None for person in persons], np.bool_)
            owners = [person for person in persons if person is not None]
            self._persons.append(np.array([int.from_bytes(one[:8], "big", signed=True) for one in owners], np.int64))
            codes = [one[known] for one in codes]
            arrays = {column(index): pa.array(one) for index, one in enumerate(codes)}
            arrays[PERSON] = pa.array(owners, pa.binary(16))
            arrays[RANK] = pa.array(self._hasher.ranks(owners, codes), pa.binary(16))
        outside = [int((found == one.attribute.size).sum()) for one, found in zip(self._columns, codes, strict=True)]
        self.given += Given(len(codes[0]), outside)
        fields = [arrays[name].cast(self._schema.field(name).type) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(fields, schema=self._schema)

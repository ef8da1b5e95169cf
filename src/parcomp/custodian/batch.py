"""The answers of a batch, as a custodian hands them out."""

from __future__ import annotations

from dataclasses import dataclass

from parcomp.custodian.answer import Answer
from parcomp.figures import FiguredBatch

__all__ = ["Batch"]


@dataclass(frozen=True, slots=True, repr=False)
class Batch(FiguredBatch[Answer]):
    """Answers in the order of their statements, which are given as they were asked for."""

    def _repr_html_(self) -> str:
        from parcomp.custodian.html import batch_html  # noqa: PLC0415  only a notebook asks for it

        return batch_html(self)

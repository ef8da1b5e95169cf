"""Answers as columns of labels and of figures, whoever hands them out."""

from parcomp.figures.batches import FiguredBatch
from parcomp.figures.figured import (
    AnswerColumn,
    Figure,
    Figured,
    Value,
    columns_of,
    figure_columns,
    free_name,
    interval_text,
    unit_of,
    whose,
)

__all__ = [
    "AnswerColumn",
    "Figure",
    "Figured",
    "FiguredBatch",
    "Value",
    "columns_of",
    "figure_columns",
    "free_name",
    "interval_text",
    "unit_of",
    "whose",
]

"""Answers as columns of labels and of figures, whoever hands them out."""

from parcomp.figures.batches import FiguredBatch
from parcomp.figures.estimates import EstimatedCount, Estimates
from parcomp.figures.figured import (
    AnswerColumn,
    Figure,
    Figured,
    Value,
    columns_of,
    figure_columns,
    free_name,
    growth_text,
    interval_text,
    unit_of,
    whose,
)
from parcomp.figures.listing import batch_lines, notes_below
from parcomp.figures.words import conditions_in_words, count_in_words, is_one_value, predicate_in_words

__all__ = [
    "AnswerColumn",
    "EstimatedCount",
    "Estimates",
    "Figure",
    "Figured",
    "FiguredBatch",
    "Value",
    "batch_lines",
    "columns_of",
    "conditions_in_words",
    "count_in_words",
    "figure_columns",
    "free_name",
    "growth_text",
    "interval_text",
    "is_one_value",
    "notes_below",
    "predicate_in_words",
    "unit_of",
    "whose",
]

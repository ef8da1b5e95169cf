"""The answers of a batch as one table of text, with what is to be said of them once below.

Numbers stand in the table, each under the number of its statement; groups follow in tables of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from parcomp.figures.figured import AnswerColumn, Figured
from parcomp.tabular import error_text, shortened, text_table

__all__ = ["batch_lines", "notes_below", "places_in_words"]

_WORDS = 60
"""Characters of a statement that tell it from others."""


def batch_lines(titles: Sequence[str], answers: Sequence[Figured], width: int | None = None) -> list[str]:
    """The answers to statements of these titles; tables are no wider than ``width``, as far as numbers allow."""
    cautions = sorted({answer.caution for answer in answers} - {""})
    # One sentence about what pays for all of them, or a column about what paid for each.
    paid = {answer.paid for answer in answers}
    together = _together(answers) or (paid.pop() if len(paid) == 1 else "")
    single = [(place, one) for place, one in enumerate(answers, 1) if not one.grouped and one.measured]
    rest = [(place, one) for place, one in enumerate(answers, 1) if one.grouped or not one.measured]
    lines = list(cautions)
    if single:
        lines += _numbers(titles, single, with_paid=not together, width=width).splitlines()
    for place, answer in rest:
        more = "; ".join(filter(None, (answer.off_by, "" if together else answer.paid)))
        lines += ["", f"{place}  {shortened(titles[place - 1], _WORDS)}", *answer.lines(), *([more] if more else [])]
    lines = lines[1:] if lines[:1] == [""] else lines
    return [*lines, *([""] if rest else []), *([together] if together else []), *notes_below(answers)]


def notes_below(answers: Sequence[Figured]) -> list[str]:
    """What is to be said of the answers, each once, and of which statements if not of all."""
    said: dict[str, list[int]] = {}
    for place, answer in enumerate(answers, 1):
        for note in answer.notes:
            said.setdefault(note, []).append(place)
    return [
        note if len(places) == len(answers) else f"{places_in_words(places)}: {note}" for note, places in said.items()
    ]


def places_in_words(places: Sequence[int]) -> str:
    """Numbers of statements, those that follow each other as a range.

    >>> places_in_words([3]), places_in_words([1, 2, 3, 7])
    ('statement 3', 'statements 1 to 3, 7')
    """
    breaks = [0, *(place for place, (one, other) in enumerate(pairwise(places), 1) if other != one + 1), len(places)]
    runs = [places[start:stop] for start, stop in pairwise(breaks)]
    listed = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
    return f"statement{'' if len(places) == 1 else 's'} {listed}"


def _together(answers: Sequence[Figured]) -> str:
    """What was paid for a batch that one charge pays for; "" where there are several."""
    charges = {answer.charge for answer in answers}
    if len(charges) > 1 or not all(answer.strategy for answer in answers):
        return ""
    payer = next((answer for answer in answers if answer.cost), None)
    return "" if payer is None else f"{payer.paid}, for all statements together"


def _numbers(
    titles: Sequence[str], single: Iterable[tuple[int, Figured]], *, with_paid: bool, width: int | None
) -> str:
    """A line for each figure of answers without groups."""
    listed = [(place, answer, column) for place, answer in single for column in answer.measured]
    estimated = any(column.estimates is not None for _, _, column in listed)
    # Columns of one kind share their decimals, so that numbers stand beneath each other.
    texts = _texts([column for _, _, column in listed])
    headings = ["number", "statement", "value", "95 % interval"]
    headings += ["estimate", "about 95 %"] if estimated else []
    headings += ["expected error", *(["paid"] if with_paid else [])]
    rows = []
    for (place, answer, column), (value, interval, estimate, about) in zip(listed, texts, strict=True):
        title = shortened(titles[place - 1], _WORDS)
        name = title if len(answer.measured) == 1 else f"{column.name}: {title}"
        error = column.known[0].error
        rows.append(
            [
                str(place),
                name,
                value,
                interval,
                *([estimate, about] if estimated else []),
                "–" if error is None else error_text(error),
                *([answer.paid] if with_paid else []),
            ]
        )
    right = [name not in ("number", "statement", "paid") for name in headings]
    return text_table(headings, rows, right, 1, width)


def _texts(columns: Sequence[AnswerColumn]) -> list[tuple[str, str, str, str]]:
    told = []
    for column in columns:
        [value], [interval] = column.texts(1)
        [estimate], [about] = column.estimated_texts(1)
        told.append((value, interval, estimate, about.removeprefix("about ")))
    return told

"""The kernel that splits the bytes of a CSV file into fields, one byte after the other and strictly.

Between two calls the whole state is in arrays of integers, so a file may be cut into chunks at any byte.  ``state``
holds the numbers at the places that are named below.  Of the fields in column ``j`` those with ``slots[j] >= 0`` are
kept, in the slot of that number: of slot ``s``, ``counts[s]`` fields have ended, field ``i`` of them is
``data[s, ends[s, i]:ends[s, i + 1]]``, and it is null unless ``present[s, i]``; ``used[s]`` bytes are in use, those of
the field that has not ended among them.
"""

# mypy: ignore-errors

from __future__ import annotations

from parcomp.jit import kernel

__all__ = [
    "COLUMN",
    "DELIMITER",
    "HIGH",
    "LINE",
    "LOW",
    "MISSING",
    "NEWLINE",
    "OPENED",
    "PLACE",
    "PROBLEM",
    "QUOTED",
    "ROWS",
    "STATE_SIZE",
    "split_fields",
]

PLACE, COLUMN, ROWS, LINE, OPENED, NEWLINE, QUOTED, MISSING, LOW, HIGH, PROBLEM, DELIMITER = range(12)
"""Where in the grammar the next byte stands (below); the column it belongs to; rows that have ended; its line, from 1;
the line of the last quote that opened a field; the newline of the file (below); whether the field is a quoted one;
how many bytes of its character are missing, and the least and the largest that the next of them may be; what is wrong
(below), 0 for nothing; the byte that separates fields."""
STATE_SIZE = 12

AT_START, BARE, IN_QUOTES, AFTER_QUOTES, AFTER_RETURN = range(5)
"""Places: before a field, in one without quotes, within quotes, after a quote that may close the field, after a CR."""

UNKNOWN, LF, CRLF = range(3)
"""Newlines: the first one outside quotes is that of the file."""

SOUND, NOT_UTF8, NUL, STRAY_QUOTE, AFTER_CLOSING_QUOTE, STRAY_RETURN, MIXED_NEWLINES, FIELD_COUNT = range(8)
"""Problems."""


@kernel
def split_fields(chunk, start, slots, most_rows, state, data, ends, present, counts, used):
    """Go through ``chunk`` from ``start`` on; return where it stopped.

    That is at the end of the chunk, after the row with which there are ``most_rows``, or at a byte that cannot stand
    there, which ``state[PROBLEM]`` tells.  Every slot must have room for ``most_rows + 1`` fields and for the rest of
    the chunk.  Without ``slots`` it reads the row of names: all fields go to slot 0, however many there are.
    """
    place, column, rows, line = state[PLACE], state[COLUMN], state[ROWS], state[LINE]
    missing, low, high = state[MISSING], state[LOW], state[HIGH]
    width = len(slots)
    problem = SOUND
    at = start
    while at < len(chunk) and rows < most_rows:
        byte = chunk[at]
        if missing > 0:
            if byte < low or byte > high:
                problem = NOT_UTF8
                break
            missing, low, high = missing - 1, 0x80, 0xBF
        elif byte >= 0x80:
            # The table of well-formed sequences in the Unicode standard: no surrogates, no longer form than needed.
            if byte < 0xC2 or byte > 0xF4:
                problem = NOT_UTF8
                break
            missing = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            low = 0xA0 if byte == 0xE0 else 0x90 if byte == 0xF0 else 0x80
            high = 0x9F if byte == 0xED else 0x8F if byte == 0xF4 else 0xBF
        elif byte == 0:
            problem = NUL
            break
        slot = 0 if width == 0 else slots[column]
        keep = False
        ended = False
        if place == IN_QUOTES:
            if byte == 0x22:
                place = AFTER_QUOTES
            else:
                keep = True
        elif place == AFTER_RETURN and byte != 0x0A:
            problem = STRAY_RETURN
            break
        elif byte == 0x22:
            if place == BARE:
                problem = STRAY_QUOTE
                break
            # After a quote within quotes it is the second of two that stand for one.
            keep = place == AFTER_QUOTES
            place = IN_QUOTES
            if not keep:
                state[QUOTED] = 1
                state[OPENED] = line
        elif byte == state[DELIMITER]:
            if column + 1 == width:
                problem = FIELD_COUNT
                break
            ended = True
        elif byte == 0x0D:
            place = AFTER_RETURN
        elif byte == 0x0A:
            newline = CRLF if place == AFTER_RETURN else LF
            if state[NEWLINE] == UNKNOWN:
                state[NEWLINE] = newline
            if newline != state[NEWLINE]:
                problem = MIXED_NEWLINES
                break
            if width > 0 and column + 1 != width:
                problem = FIELD_COUNT
                break
            ended = True
        elif place == AFTER_QUOTES:
            problem = AFTER_CLOSING_QUOTE
            break
        else:
            place = BARE
            keep = True
        if keep and slot >= 0:
            data[slot, used[slot]] = byte
            used[slot] += 1
        if ended:
            if slot >= 0:
                count = counts[slot]
                ends[slot, count + 1] = used[slot]
                present[slot, count] = state[QUOTED] == 1 or used[slot] > ends[slot, count]
                counts[slot] = count + 1
            place = AT_START
            state[QUOTED] = 0
            column += 1
            if byte == 0x0A:
                column = 0
                rows += 1
        line += byte == 0x0A
        at += 1
    state[PLACE], state[COLUMN], state[ROWS], state[LINE] = place, column, rows, line
    state[MISSING], state[LOW], state[HIGH] = missing, low, high
    state[PROBLEM] = problem
    return at

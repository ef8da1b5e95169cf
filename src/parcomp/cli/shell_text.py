"""Where statements end in what is typed or piped, and what could be typed next.

This looks at words and quotes only; whether a statement means something is for the parser to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

__all__ = ["COMMANDS", "Completions", "is_complete", "split_command", "split_pieces"]

COMMANDS = {
    "\\budget": "what is spent of the budget",
    "\\domain": "the attributes; \\domain NAME has all values of an attribute, or all groups of a level",
    "\\history": "your charges",
    "\\derive": "\\derive SELECT … answers from what was released before, free",
    "\\estimate": "what all counts that you have paid for say together, free",
    "\\cost": "\\cost X sets what each answer costs",
    "\\help": "this list",
    "\\quit": "leave, as Ctrl-D does",
}

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | (?P<open>['"]|/\*) | \w+ | \S""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = (
    *("SELECT", "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "MEDIAN(", "STDDEV(", "VARIANCE(", "FROM", "WHERE"),
    *("GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL"),
    *("IS NOT NULL", "TRUE", "FALSE", "AS", "CASE", "WHEN", "THEN", "ELSE", "END", "DESC", "ROUND(", "FLOOR("),
    *("EXTRACT(", "DATE_TRUNC("),
)
_ONCE = {"SELECT", "FROM", "WHERE"}
"""A statement has these once."""

_GOES_ON = {
    *("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "AS", "HAVING"),
    *("CASE", "WHEN", "THEN", "ELSE", "LIKE", "LIMIT", ",", "=", "<", ">", "+", "-", "*", "/", ".", "("),
}
"""A statement does not end after these."""


def is_complete(text: str) -> bool:
    """Whether a line end after this text ends it.

    What is asked is paid for, so it ends at a semicolon or an empty line; a quote ends where it can.

    >>> is_complete("SELECT COUNT(*) FROM census"), is_complete("SELECT COUNT(*) FROM census;")
    (False, True)
    >>> is_complete("? SELECT COUNT(*) FROM census WHERE"), is_complete("? SELECT COUNT(*) FROM census")
    (False, True)
    """
    statement = text.strip().removeprefix("?").strip()
    if not statement or split_command(text)[1]:
        return True
    found = list(_TOKEN.finditer(statement))
    if any(one["open"] for one in found):
        return False
    tokens = [one[0].upper() for one in found if not one[0].startswith(("--", "/*"))]
    if not tokens or tokens[-1] == ";":
        return True
    if tokens[0] != "SELECT":
        return True
    if not text.lstrip().startswith("?"):
        return text.endswith("\n")
    return "FROM" in tokens and tokens[-1] not in _GOES_ON and tokens.count("(") <= tokens.count(")")


def split_command(text: str) -> tuple[str, str]:
    r"""A statement that was begun, and the command on the last line; "" where the last line is none.

    A line of a text in quotes is no command, whatever it begins with.

    >>> split_command("SELECT COUNT(*)\n\\budget"), split_command("\\budget")
    (('SELECT COUNT(*)\n', '\\budget'), ('', '\\budget'))
    >>> split_command("SELECT COUNT(*) FROM t WHERE a = 'b\n\\c"), split_command("SELECT 1;")
    (("SELECT COUNT(*) FROM t WHERE a = 'b\n\\c", ''), ('SELECT 1;', ''))
    """
    ended = text.rstrip("\n")
    begun, line_end, last = ended.rpartition("\n")
    if not last.lstrip().startswith("\\") or any(one["open"] for one in _TOKEN.finditer(begun)):
        return text, ""
    return begun + line_end, last.lstrip()


def split_pieces(text: str) -> list[tuple[int, str]]:
    r"""The statements and commands of a text, with the line on which each begins.

    A statement ends at a semicolon, at an empty line, before a command or with the text; a command ends with its line.
    A line end alone does not end a statement: nobody sees what is piped before it is paid for.

    >>> split_pieces("SELECT COUNT(*)\nFROM census;\n\\budget\n? SELECT 1")
    [(1, 'SELECT COUNT(*)\nFROM census'), (3, '\\budget'), (4, '? SELECT 1')]
    """
    pieces: list[tuple[int, str]] = []
    begin = 0

    def end(at: int) -> None:
        piece = text[begin:at]
        if piece.strip():
            first = begin + len(piece) - len(piece.lstrip())
            pieces.append((text.count("\n", 0, first) + 1, piece.strip()))

    for one in re.finditer(
        rf"(?P<blank>\n[ \t]*(?=\n)) | (?P<command>^[ \t]*\\[^\n]*) | {_TOKEN.pattern}", text, _FLAGS
    ):
        if one["blank"] is not None or one[0] == ";":
            end(one.start())
            begin = one.end()
        elif one["command"] is not None:
            end(one.start())
            begin = one.start()
            end(one.end())
            begin = one.end()
    end(len(text))
    return pieces


_FLAGS = re.DOTALL | re.VERBOSE | re.MULTILINE


class Completions:
    """What could be typed next: words of SQL, the tables, attributes and levels, and in quotes the declared values.

    ``values`` are the declared texts of each attribute and level.

    >>> Completions(["census"], {"sex": ["F", "M"], "age": []}).after("SELECT COUNT(*) FROM census WHERE s")
    ('s', ['sex', 'SUM(', 'STDDEV('])
    >>> Completions(["census"], {"sex": ["F", "M"], "age": []}).after("SELECT COUNT(*) FROM census WHERE sex = '")
    ("'", ["'F'", "'M'"])
    """

    def __init__(self, tables: Collection[str], values: Mapping[str, Sequence[str]]) -> None:
        self._tables = sorted(tables)
        self._values = values

    def after(self, text: str) -> tuple[str, list[str]]:
        """What the end of a text begins, and the words that it may become."""
        if command := split_command(text)[1]:
            return self._after_command(command)
        tokens = list(_TOKEN.finditer(text))
        opened = next((place for place, one in enumerate(tokens) if one["open"] is not None), None)
        if opened is not None:
            return self._within_quotes(text, tokens, opened)
        found = re.search(r"\w+$", text)
        begun = found[0] if found else ""
        before = [one[0].upper() for one in tokens if one.end() <= len(text) - len(begun)]
        words = [word for word in _WORDS if not (word in _ONCE and word in before)]
        names = self._tables if before[-1:] == ["FROM"] else [*map(_as_name, self._values), *self._tables, *words]
        return begun, [name for name in dict.fromkeys(names) if name.lstrip('"').lower().startswith(begun.lower())]

    def _after_command(self, text: str) -> tuple[str, list[str]]:
        word, space, begun = text.partition(" ")
        if not space:
            return word, [name for name in COMMANDS if name.startswith(word.lower())]
        if word.lower() != "\\domain":
            return begun, []
        return begun, [name for name in self._values if name.lower().startswith(begun.lower())]

    def _within_quotes(self, text: str, tokens: list[re.Match[str]], opened: int) -> tuple[str, list[str]]:
        """The values of the attribute that was named last, or names, by the kind of quotes."""
        begun = text[tokens[opened].start() :]
        quote, written = begun[0], begun[1:].lower()
        if quote == '"':
            names = [*self._values, *self._tables]
            return begun, [f'"{name}"' for name in names if name.lower().startswith(written)]
        known = {name.lower(): name for name in self._values}
        named = (known.get(one[0].strip('"').lower()) for one in reversed(tokens[:opened]))
        attribute = next((name for name in named if name is not None), None)
        values = self._values[attribute] if quote == "'" and attribute is not None else ()
        escaped = (value.replace("'", "''") for value in values if value.lower().startswith(written.replace("''", "'")))
        return begun, [f"'{value}'" for value in escaped]


def _as_name(name: str) -> str:
    """A name as it is written in SQL."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"{}"'.format(name.replace('"', '""'))

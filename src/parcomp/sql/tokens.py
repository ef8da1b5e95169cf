"""SQL text cut into statements, each a list of tokens of the small language that is answered.

The parser behind this package knows many dialects, and takes exponential time on some texts.  So it is shown only what
can be part of a statement here: anything else is named and refused at its first character, and a keyword that plays no
part is a plain name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import Token, TokenType
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError

from parcomp.errors import SqlError, shown

__all__ = ["DIALECT", "SHAPE", "WHERE_TAKES", "SourceText", "StatementTokens", "split_statements", "word_of"]

DIALECT = Postgres()
"""Read as PostgreSQL does: 'strings' have no escapes but '', and names go in "double quotes"."""

SHAPE = "a statement is SELECT COUNT(*), SUM(a) or AVG(a) FROM table [WHERE …] [GROUP BY …]"
WHERE_TAKES = "WHERE takes =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, NOT, AND and OR"

_MAX_NESTING = 24
"""Parentheses may be this deep; each takes some 25 calls to parse, and Python allows 1,000."""


def _types(names: str) -> set[TokenType]:
    return {TokenType[name] for name in names.split()}


_WORDS = _types("SELECT FROM WHERE GROUP_BY ALIAS AND OR NOT IN BETWEEN IS ISNULL NOTNULL NULL TRUE FALSE DISTINCT")
_SYMBOLS = _types("L_PAREN R_PAREN COMMA DOT STAR DASH PLUS EQ NEQ LT LTE GT GTE")
_VALUES = _types("STRING NUMBER IDENTIFIER VAR")
_SPECIAL_STRINGS = _types("BIT_STRING HEX_STRING BYTE_STRING NATIONAL_STRING RAW_STRING HEREDOC_STRING UNICODE_STRING")
_OPERATORS = {
    *("LIKE", "ILIKE", "RLIKE", "REGEXP", "SIMILAR TO", "GLOB", "COLLATE", "ESCAPE", "CASE", "INTERVAL", "OVERLAPS"),
    *("XOR", "MEMBER OF"),
}
_CLAUSES = {
    *("WITH", "DISTINCT", "ALL", "INTO", "JOIN", "LATERAL", "USING", "TABLESAMPLE", "HAVING", "ORDER BY", "SORT BY"),
    *("CLUSTER BY", "LIMIT", "OFFSET", "FETCH", "FOR", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "ROLLUP", "CUBE"),
    *("GROUPING SETS", "PIVOT", "UNPIVOT"),
}
_NOT_A_FUNCTION = {"ANY", "SOME", "ALL", "EXISTS", "CAST", "TRY_CAST", "OVER", "FILTER", "WITHIN GROUP", "ARRAY", "ROW"}
_AGGREGATES = {"COUNT", "SUM", "AVG"}

# What may precede an opening parenthesis beside symbols; any other word there is a function.
_BEFORE_PARENTHESIS = _types("SELECT FROM WHERE GROUP_BY AND OR NOT IN BETWEEN IS")

_NEVER_AFTER_COMMA = _types("COMMA R_PAREN FROM WHERE GROUP_BY AND OR")
_AROUND_A_CONSTANT = _types("L_PAREN R_PAREN DASH PLUS DATE")

_QUOTED = re.compile(r"""(?P<whole>'[^']*'|"[^"]*"|--[^\n]*|/\*.*?\*/)|(?P<open>['"]|/\*|\$\w*\$)""", re.DOTALL)


class SourceText:
    """The text as it was sent, and where in it things are."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def refuse(self, offset: int, message: str) -> NoReturn:
        """Raise the error that stands at an offset."""
        line, column = self.place(offset)
        raise SqlError(message, line=line, column=column) from None


@dataclass(frozen=True, slots=True)
class StatementTokens:
    """One statement's tokens, not empty, without its semicolon."""

    source: SourceText
    tokens: list[Token]

    @property
    def line(self) -> int:
        """The line on which the statement begins."""
        return self.source.place(self.tokens[0].start)[0]


def split_statements(text: str, names: Collection[str]) -> list[StatementTokens]:
    """The statements of a text, each checked to be made of what the dialect has.

    ``names`` are the attributes: where one is a word of SQL that is refused, the message says how to write it.
    """
    source = SourceText(text)
    try:
        tokens = DIALECT.tokenize(text)
    except TokenError:
        offset = next((match.start() for match in _QUOTED.finditer(text) if match["open"]), None)
        if offset is None:
            offset = next((match.start() for match in _QUOTED.finditer(text)), 0)
            source.refuse(offset, "cannot be read; strings are written '…', names \"…\", and comments /* … */")
        source.refuse(offset, "what begins here with a quote or a comment has no end")
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    folded = {name.upper(): name for name in names}
    return [StatementTokens(source, _checked(source, found, folded)) for found in statements if found]


def word_of(token: Token) -> str:
    """A token's text in capitals, with single spaces."""
    return " ".join(token.text.upper().split())


def _checked(source: SourceText, tokens: list[Token], names: dict[str, str]) -> list[Token]:
    if tokens[0].token_type != TokenType.SELECT:
        word = word_of(tokens[0]) if tokens[0].text[:1].isalpha() else shown(tokens[0].text)
        source.refuse(tokens[0].start, f"a statement begins with SELECT, not with {word[:60]}; {SHAPE}")
    depth = 0
    around = list(zip([None, *tokens], tokens, [*tokens[1:], None], strict=False))
    for previous, token, following in around:
        problem = _problem(token, previous, following)
        if problem is not None:
            name = names.get(token.text.upper()) if token.text[:1].isalpha() else None
            hint = "" if name is None else f'; the attribute of this name is written "{name}"'
            source.refuse(token.start, problem + hint)
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth > _MAX_NESTING:
            source.refuse(
                token.start, f"parentheses are nested deeper than {_MAX_NESTING}; write the condition flatter"
            )
    for position, (previous, token, following) in enumerate(around):
        if _is_misplaced(token, previous, following):
            source.refuse(token.start, f"a syntax error at {shown(token.text)}; {SHAPE}")
        if token.token_type == TokenType.BETWEEN and not _has_its_and(tokens[position + 1 : position + 20]):
            source.refuse(token.start, f"a syntax error at {shown(token.text)}; write BETWEEN 1 AND 2")
    return [_plain(token, following) for _, token, following in around]


def _problem(token: Token, previous: Token | None, following: Token | None) -> str | None:
    """Why a token cannot stand in a statement, if it can't."""
    kind, word = token.token_type, word_of(token)
    if kind in {TokenType.STRING, TokenType.NUMBER}:
        return None
    called = following is not None and following.token_type == TokenType.L_PAREN
    if kind == TokenType.IDENTIFIER:
        return f"the function {shown(token.text)} is not supported; {SHAPE}" if called else None
    if kind in _SPECIAL_STRINGS:
        return "constants with a prefix or in dollars are not supported; write '…' for strings, and decimal numbers"
    if kind == TokenType.SELECT and previous is not None:
        return "a subquery is not supported; FROM takes one table, and WHERE compares attributes with constants"
    if kind == TokenType.DISTINCT and previous is not None and previous.token_type in {TokenType.IS, TokenType.NOT}:
        return None
    if kind in _SYMBOLS:
        return None
    if not word[:1].isalpha() and word[:1] != "_" and kind != TokenType.VAR:
        if word[:1] in {"?", "$", ":", "@"} and word != "::":
            return "parameters are not supported; write the constant itself"
        return f"{shown(token.text)} is not supported; {WHERE_TAKES}"
    if word in _OPERATORS or (word == "SYMMETRIC" and previous is not None and word_of(previous) == "BETWEEN"):
        return f"{word} is not supported; {WHERE_TAKES}"
    if word in _CLAUSES:
        return f"{word} is not supported; {SHAPE}"
    if called and kind not in _BEFORE_PARENTHESIS and word not in _AGGREGATES:
        return f"{'' if word in _NOT_A_FUNCTION else 'the function '}{word[:60]} is not supported; {SHAPE}"
    return None


def _is_misplaced(token: Token, previous: Token | None, following: Token | None) -> bool:
    """Whether a token stands where the parser would overlook it, though it makes no sense there."""
    before = None if previous is None else previous.token_type
    after = None if following is None else following.token_type
    match token.token_type:
        case TokenType.COMMA:
            return before == TokenType.L_PAREN or after is None or after in _NEVER_AFTER_COMMA
        case TokenType.ALIAS:
            return after is None or after in _SYMBOLS
        case TokenType.NOT:
            return after in {TokenType.IS, TokenType.ISNULL, TokenType.NOTNULL}
        case TokenType.DOT:
            return before is None or before in _SYMBOLS or after == TokenType.NUMBER
        case TokenType.PLUS:
            return after != TokenType.NUMBER
    return False


def _has_its_and(following: list[Token]) -> bool:
    """Whether what follows BETWEEN is a constant or a name, and then AND, which the parser does not ask for."""
    constants = 0
    for token in following:
        if token.token_type == TokenType.AND:
            return constants == 1
        constants += token.token_type not in _AROUND_A_CONSTANT
    return False


def _plain(token: Token, following: Token | None) -> Token:
    """The token as the parser shall see it: a keyword of no meaning here is a name."""
    is_date = token.token_type == TokenType.DATE and following is not None and following.token_type == TokenType.STRING
    if is_date or token.token_type in _WORDS | _SYMBOLS | _VALUES:
        return token
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)

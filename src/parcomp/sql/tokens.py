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
from typing import ClassVar, NoReturn

from sqlglot import Token, TokenType
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError

from parcomp.errors import SqlError, shown
from parcomp.sql.instead import SHAPE, WHERE_TAKES, instead_of, nearest

__all__ = [
    "CAST_TYPES",
    "DIALECT",
    "MAX_LENGTH",
    "PREFIXES",
    "SourceText",
    "StatementTokens",
    "split_statements",
    "word_of",
]


class _Dialect(Postgres):
    """PostgreSQL's, but for what has no value, which is sorted last: groups without rows are answered too.

    Names in [brackets] and `backticks`, and operators of other databases that can mean one thing only, are read too.
    """

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(Postgres.Tokenizer):
        """What texts are cut into."""

        IDENTIFIERS: ClassVar = ['"', "`", ("[", "]")]
        KEYWORDS: ClassVar = {
            **Postgres.Tokenizer.KEYWORDS,
            "==": TokenType.EQ,
            "<=>": TokenType.NULLSAFE_EQ,
            "!>": TokenType.LTE,
            "!<": TokenType.GTE,
            "//": TokenType.DIV,
        }


DIALECT = _Dialect()
"""Read as PostgreSQL does: 'strings' have no escapes but '', and names go in "double quotes"."""

MAX_LENGTH = 20_000
"""The most characters of one statement."""

_MAX_NESTING = 24
"""Parentheses and CASE may be this deep; each takes some 25 calls to parse, and Python allows 1,000."""


def _types(names: str) -> set[TokenType]:
    return {TokenType[name] for name in names.split()}


_WORDS = _types(
    "SELECT FROM WHERE GROUP_BY HAVING ORDER_BY LIMIT OFFSET FETCH ALIAS AND OR NOT IN BETWEEN IS ISNULL NOTNULL NULL "
    "TRUE FALSE DISTINCT CASE WHEN THEN ELSE END LIKE ILIKE ESCAPE"
)
_SYMBOLS = _types(
    "L_PAREN R_PAREN COMMA DOT STAR DASH PLUS SLASH DIV MOD DCOLON DPIPE EQ NEQ LT LTE GT GTE NULLSAFE_EQ"
)
_VALUES = _types("STRING NUMBER IDENTIFIER VAR")
_SPECIAL_STRINGS = _types("BIT_STRING HEX_STRING BYTE_STRING NATIONAL_STRING RAW_STRING HEREDOC_STRING UNICODE_STRING")
_CLAUSES = {
    *("WITH", "DISTINCT", "ALL", "INTO", "JOIN", "LATERAL", "USING", "TABLESAMPLE", "SORT BY", "CLUSTER BY", "FOR"),
    *("UNION", "EXCEPT", "INTERSECT", "QUALIFY", "ROLLUP", "CUBE", "GROUPING SETS", "PIVOT", "UNPIVOT"),
    *("RLIKE", "REGEXP", "SIMILAR TO", "GLOB", "COLLATE", "INTERVAL", "OVERLAPS", "XOR", "MEMBER OF"),
}
_NOT_A_FUNCTION = {"ANY", "SOME", "ALL", "EXISTS", "TRY_CAST", "OVER", "FILTER", "ARRAY", "ROW"}
_OF_ALL = {
    *("COUNT", "SUM", "AVG", "VAR", "VARIANCE", "VAR_SAMP", "VAR_POP", "STD", "STDEV", "STDDEV", "STDDEV_SAMP"),
    *("STDDEV_POP", "MEDIAN"),
}
"""The aggregates in which ALL may stand, which changes nothing."""

_FUNCTIONS = {
    *_OF_ALL,
    *("PERCENTILE_CONT", "PERCENTILE_DISC", "QUANTILE_CONT", "QUANTILE_DISC", "QUANTILE"),
    *("ABS", "CEIL", "CEILING", "FLOOR", "ROUND", "TRUNC", "SIGN", "SQRT", "EXP", "LN", "LOG", "LOG10", "POWER", "POW"),
    *("MOD", "GREATEST", "LEAST", "COALESCE", "NULLIF", "CAST", "UPPER", "LOWER", "LENGTH", "LEFT", "RIGHT", "TRIM"),
    *("SUBSTRING", "SUBSTR", "EXTRACT", "DATE_PART", "DATE_TRUNC", "YEAR", "QUARTER", "MONTH", "DAY", "HOUR"),
    *("CBRT", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "DEGREES", "RADIANS", "SQUARE", "PI", "IIF"),
    *("DIV", "LOG2", "ATANH", "TRUNCATE", "CHOOSE", "CONCAT", "POSITION", "CHAR_LENGTH", "CHARACTER_LENGTH", "DAYNAME"),
}
_ORDER_WORDS = _types("ASC DESC")
_FETCH_WORDS = _types("FIRST NEXT ROW ROWS ONLY")
CAST_TYPES = _types("INT BIGINT SMALLINT DECIMAL DOUBLE FLOAT DATE TIMESTAMP VARCHAR CHAR NVARCHAR NCHAR TEXT BOOLEAN")
"""What a cast may make of a value."""

# What may precede an opening parenthesis beside symbols; any other word there is a function.
_BEFORE_PARENTHESIS = _types(
    "SELECT FROM WHERE GROUP_BY HAVING ORDER_BY AND OR NOT IN BETWEEN IS CASE WHEN THEN ELSE LIKE ILIKE ESCAPE DISTINCT"
)

_NEVER_AFTER_COMMA = _types("COMMA R_PAREN FROM WHERE GROUP_BY HAVING ORDER_BY LIMIT OFFSET FETCH AND OR")
PREFIXES = _types("DATE TIMESTAMP")
"""What may precede a string to say what it is."""

_ENDS_A_VALUE = _VALUES | _types("R_PAREN NULL TRUE FALSE END")
_BEGINS_A_VALUE = _VALUES | PREFIXES | _types("NULL TRUE FALSE CASE")

_QUOTED = re.compile(
    r"""(?P<whole>'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/)|(?P<open>['"`\[]|/\*|\$\w*\$)""", re.DOTALL
)


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
    """One statement's tokens, not empty, without its semicolon; ``top`` is the number after SELECT TOP."""

    source: SourceText
    tokens: list[Token]
    top: Token | None = None

    @property
    def line(self) -> int:
        """The line on which the statement begins."""
        return self.source.place(self.tokens[0].start)[0]


def split_statements(text: str, names: Collection[str]) -> list[StatementTokens]:
    """The statements of a text, each checked to be made of what the dialect has.

    ``names`` are the attributes and levels: where one is a word of SQL that is refused, the message says how to write
    it.
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
    return [_statement(source, _plain_tokens(source, found, folded)) for found in statements if found]


def word_of(token: Token) -> str:
    """A token's text in capitals, with single spaces."""
    return " ".join(token.text.upper().split())


def _statement(source: SourceText, tokens: list[Token]) -> StatementTokens:
    """A statement without ALL, which changes nothing, and TOP, which the parser does not know."""
    openings = {TokenType.SELECT, TokenType.L_PAREN}
    kept = [
        token
        for previous, token in zip([None, *tokens], tokens, strict=False)
        if token.token_type != TokenType.ALL or previous is None or previous.token_type not in openings
    ]
    top = kept[2] if len(kept) > 2 and _is_top(kept[1], kept[2]) else None
    statement = StatementTokens(source, kept if top is None else [kept[0], *kept[3:]], top)
    _check_places(statement)
    return statement


def _is_top(token: Token, following: Token | None) -> bool:
    is_word = token.token_type != TokenType.IDENTIFIER and word_of(token) == "TOP"
    return is_word and following is not None and following.token_type == TokenType.NUMBER


def _plain_tokens(source: SourceText, tokens: list[Token], names: dict[str, str]) -> list[Token]:
    if tokens[0].token_type != TokenType.SELECT:
        word = word_of(tokens[0]) if tokens[0].text[:1].isalpha() else shown(tokens[0].text)
        source.refuse(
            tokens[0].start, f"a statement begins with SELECT, not with {word[:60]}; {instead_of(word, SHAPE)}"
        )
    length = tokens[-1].end - tokens[0].start + 1
    if length > MAX_LENGTH:
        source.refuse(
            tokens[0].start,
            f"the statement has {length:,} characters, at most {MAX_LENGTH:,} are taken; list values by a range, "
            "a level or LIKE, or ask in parts",
        )
    around = list(zip([None, *tokens], tokens, [*tokens[1:], None], strict=False))
    openings: list[str] = []
    plain = []
    seen: set[TokenType] = set()
    for previous, token, following in around:
        kind = token.token_type
        is_type = _names_a_type(previous, openings)
        problem = _cast_problem(token) if is_type else _problem(token, previous, following, openings, seen)
        if problem is None and _is_subscript(source.text, token, previous):
            problem = "subscripts are not supported; a name in brackets stands after a space"
        if problem is not None:
            name = names.get(token.text.upper()) if token.text[:1].isalpha() else None
            hint = "" if name is None else f'; the attribute of this name is written "{name}"'
            source.refuse(token.start, problem + hint)
        if kind in {TokenType.L_PAREN, TokenType.CASE}:
            openings.append("" if previous is None else word_of(previous) if kind == TokenType.L_PAREN else "CASE")
        elif kind in {TokenType.R_PAREN, TokenType.END} and openings:
            openings.pop()
        if len(openings) > _MAX_NESTING:
            message = f"parentheses and CASE are nested deeper than {_MAX_NESTING}; write the condition flatter"
            source.refuse(token.start, message)
        plain.append(token if is_type else _plain(token, following, seen))
        seen.add(kind)
    return plain


def _check_places(statement: StatementTokens) -> None:
    source, tokens = statement.source, statement.tokens
    around = zip([None, *tokens], tokens, [*tokens[1:], None], strict=False)
    for position, (previous, token, following) in enumerate(around):
        if _is_misplaced(token, previous, following):
            source.refuse(token.start, f"a syntax error at {shown(token.text)}; {SHAPE}")
        if token.token_type == TokenType.BETWEEN and not _has_its_and(tokens[position + 1 :]):
            source.refuse(token.start, f"a syntax error at {shown(token.text)}; write BETWEEN 1 AND 2")


def _names_a_type(previous: Token | None, openings: list[str]) -> bool:
    """Whether what follows a token is the type of a cast."""
    if previous is None:
        return False
    is_as = previous.token_type == TokenType.ALIAS
    return previous.token_type == TokenType.DCOLON or (is_as and bool(openings) and openings[-1] == "CAST")


def _cast_problem(token: Token) -> str | None:
    if token.token_type in CAST_TYPES:
        return None
    return f"a cast to {word_of(token)[:60]} is not supported; {instead_of('TRY_CAST')}"


def _is_subscript(text: str, token: Token, previous: Token | None) -> bool:
    """Whether a name in brackets stands right after a value, which it would else be taken for the alias of."""
    if token.token_type != TokenType.IDENTIFIER or previous is None or text[token.start] != "[":
        return False
    return previous.token_type in _ENDS_A_VALUE and previous.end + 1 == token.start


def _problem(
    token: Token, previous: Token | None, following: Token | None, openings: list[str], seen: Collection[TokenType]
) -> str | None:
    """Why a token cannot stand in a statement, if it can't; ``seen`` are the kinds of those before it."""
    kind, word = token.token_type, word_of(token)
    if kind in {TokenType.STRING, TokenType.NUMBER}:
        return None
    called = following is not None and following.token_type == TokenType.L_PAREN
    before = None if previous is None else previous.token_type
    if kind == TokenType.IDENTIFIER:
        return f"the function {shown(token.text)} is not supported; {SHAPE}" if called else None
    if kind in _SPECIAL_STRINGS:
        return "constants with a prefix or in dollars are not supported; write '…' for strings, and decimal numbers"
    if kind == TokenType.SELECT and previous is not None:
        return (
            "a subquery is not supported; FROM takes one table, and WHERE compares attributes with constants: "
            "ask the custodian for a view of what you need"
        )
    if kind == TokenType.DISTINCT and (
        before in {TokenType.IS, TokenType.NOT} or (before == TokenType.L_PAREN and openings[-1] == "COUNT")
    ):
        return None
    if kind in {TokenType.LIMIT, TokenType.OFFSET}:
        is_number = following is not None and (following.token_type == TokenType.NUMBER or word_of(following) == "ALL")
        return None if is_number else f"{word} takes a whole number"
    if word == "ALL" and (before == TokenType.LIMIT or _is_default(before, following, openings)):
        return None
    if kind in _SYMBOLS:
        return None
    if not word[:1].isalpha() and word[:1] != "_" and kind != TokenType.VAR:
        if word[:1] in {"?", "$", ":", "@"} and word != "::":
            return "parameters are not supported; write the constant itself"
        compares = TokenType.WHERE in seen or TokenType.HAVING in seen
        instead = instead_of("SIMILAR TO") if "~" in word else WHERE_TAKES if compares else SHAPE
        return f"{shown(token.text)} is not supported; {instead}"
    if kind == TokenType.FOR and openings and openings[-1] == "SUBSTRING":
        return None
    if word in _CLAUSES or (word == "SYMMETRIC" and before == TokenType.BETWEEN):
        return f"{word} is not supported; {instead_of(word, SHAPE)}"
    if (
        word == "TOP"
        and before in {TokenType.SELECT, TokenType.ALL}
        and following is not None
        and following.token_type not in {TokenType.COMMA, TokenType.NUMBER}
    ):
        return f"{word} is not supported here; {instead_of(word)}"
    if called and kind not in _BEFORE_PARENTHESIS and word not in _FUNCTIONS and not _is_within_group(token, previous):
        near = nearest(word, _FUNCTIONS)
        instead = instead_of(word, near.removeprefix("; ").replace("'", "")) if near else instead_of(word)
        return f"{'' if word in _NOT_A_FUNCTION else 'the function '}{word[:60]} is not supported; {instead}"
    return None


def _is_default(before: TokenType | None, following: Token | None, openings: list[str]) -> bool:
    """Whether ALL stands where DISTINCT could, and before what it is about."""
    if following is None or following.token_type in {TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN}:
        return False
    if before == TokenType.L_PAREN and openings[-1] in _OF_ALL:
        return following.token_type != TokenType.STAR
    return before == TokenType.SELECT


def _is_within_group(token: Token, previous: Token | None) -> bool:
    return word_of(token) == "GROUP" and previous is not None and word_of(previous) == "WITHIN"


def _is_misplaced(token: Token, previous: Token | None, following: Token | None) -> bool:
    """Whether a token stands where the parser would overlook it, though it makes no sense there."""
    before = None if previous is None else previous.token_type
    after = None if following is None else following.token_type
    match token.token_type:
        case TokenType.COMMA:
            return before in {TokenType.L_PAREN, TokenType.SELECT} or after is None or after in _NEVER_AFTER_COMMA
        case TokenType.GROUP_BY:
            return after is None or after in _NEVER_AFTER_COMMA
        case TokenType.ALIAS:
            return after is None or after in _SYMBOLS
        case TokenType.NOT:
            return after in {TokenType.IS, TokenType.ISNULL, TokenType.NOTNULL}
        case TokenType.DOT:
            return before is None or before in _SYMBOLS or after == TokenType.NUMBER
        case TokenType.PLUS:
            return after is None or (before not in _ENDS_A_VALUE and after != TokenType.NUMBER)
    return False


def _has_its_and(following: list[Token]) -> bool:
    """Whether what follows BETWEEN is one value and then AND, which the parser does not ask for."""
    depth, before = 0, None
    for token in following:
        kind = token.token_type
        if depth == 0 and kind == TokenType.AND:
            return before is not None
        if depth == 0 and before in _ENDS_A_VALUE and kind in _BEGINS_A_VALUE:
            return False
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0:
            return False
        before = kind
    return False


def _plain(token: Token, following: Token | None, seen: set[TokenType]) -> Token:
    """The token as the parser shall see it: a keyword of no meaning here is a name."""
    kind = token.token_type
    is_prefix = kind in PREFIXES and following is not None and following.token_type == TokenType.STRING
    is_order = kind in _ORDER_WORDS and TokenType.ORDER_BY in seen
    is_fetch = kind in _FETCH_WORDS and bool(seen & {TokenType.FETCH, TokenType.OFFSET})
    # What is not refused has its meaning: LIMIT ALL, and SUBSTRING(a FROM 1 FOR 2).
    is_all = kind in {TokenType.ALL, TokenType.FOR}
    # An attribute or a function may be called DIV; the operator is written //.
    is_name = kind == TokenType.DIV and token.text != "//"
    if is_prefix or is_order or is_fetch or is_all or (kind in _WORDS | _SYMBOLS | _VALUES and not is_name):
        return token
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)

"""The parser's tree, read with suspicion: a node is taken only if everything it holds is expected.

The parser records what it understands of a text in the arguments of nodes.  One that is not looked at could change
what is asked, so every argument that is set must be named by whoever reads the node.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from sqlglot import TokenType, exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parsers.postgres import PostgresParser

from parcomp.errors import ParcompError, shown
from parcomp.model import Attribute, Categorical, Domain, Level
from parcomp.sql.instead import SHAPE, TODAY, WHERE_TAKES, instead_of, nearest
from parcomp.sql.tokens import DIALECT, SourceText, StatementTokens

__all__ = ["TreeReader", "match_name", "parse_tree", "shown_name", "unwrapped"]


class _Parser(PostgresParser):
    """The parser, with % as strong as * and /: left to itself it would read ``a - a % 5`` as ``(a - a) % 5``."""

    TERM: ClassVar = {kind: node for kind, node in PostgresParser.TERM.items() if kind != TokenType.MOD}
    FACTOR: ClassVar = {**PostgresParser.FACTOR, TokenType.MOD: exp.Mod, TokenType.DIV: exp.IntDiv}


def parse_tree(statement: StatementTokens) -> exp.Select:
    """The tree of one statement."""
    source, tokens = statement.source, statement.tokens
    parser = _Parser(dialect=DIALECT, error_level=ErrorLevel.IMMEDIATE)
    try:
        trees = parser.parse(list(tokens), source.text)
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        at = (found.get("line"), found.get("col"))
        token = next((token for token in tokens if (token.line, token.col) == at), tokens[-1])
        source.refuse(token.start, f"a syntax error at {shown(token.text)}; {SHAPE}")
    except RecursionError:
        source.refuse(tokens[0].start, "the statement is nested too deeply; write the condition flatter")
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        source.refuse(tokens[0].start, f"this is no single SELECT; {SHAPE}")
    return trees[0]


@dataclass(frozen=True, slots=True)
class TreeReader:
    """Reads the nodes of one statement, and refuses at their places what it cannot read."""

    domain: Domain
    statement: StatementTokens

    @property
    def source(self) -> SourceText:
        """The text that the statement is part of."""
        return self.statement.source

    def offset(self, node: exp.Expr) -> int:
        """Where a node begins: its first token that the tree knows of, or else its parent's."""
        at: exp.Expr | None = node
        while at is not None:
            starts = [found.meta["start"] for found in at.walk() if "start" in found.meta]
            if starts:
                return int(min(starts))
            at = at.parent
        return self.statement.tokens[0].start

    def refuse(self, node: exp.Expr, message: str) -> NoReturn:
        """Raise an error that stands at a node."""
        self.source.refuse(self.offset(node), message)

    def unsupported(self, node: exp.Expr, instead: str = WHERE_TAKES) -> NoReturn:
        """Refuse a node by the name of what it is."""
        self.refuse(node, f"{_name(node)} is not supported here; {instead}")

    def only(self, node: exp.Expr, *arguments: str) -> None:
        """Check that a node has no other arguments than these."""
        for key, value in node.args.items():
            if value and key not in arguments:
                held = value[0] if isinstance(value, list) else value
                self.unsupported(held if isinstance(held, exp.Expr) else node, SHAPE)

    def attribute(self, node: exp.Expr, table: exp.Identifier | None) -> tuple[int, str, Attribute]:
        """Position, name and attribute that a column stands for; ``table`` is what it may be qualified by."""
        name = self._column_name(node, table)
        if name in self.domain.attributes:
            return self.domain.index(name), name, self.domain.attributes[name]
        owner = shown_name(self.domain.names[self.domain.levels[name][0]])
        self.refuse(
            node,
            f"{shown_name(name)} is a level of {owner}, and this takes an attribute; GROUP BY {shown_name(name)} works",
        )

    def attribute_or_level(
        self, node: exp.Expr, table: exp.Identifier | None
    ) -> tuple[int, str, Attribute, Level | None]:
        """The same where a level can stand too: the position and the attribute are those that it is a level of."""
        name = self._column_name(node, table)
        if name in self.domain.attributes:
            return self.domain.index(name), name, self.domain.attributes[name], None
        index, level = self.domain.levels[name]
        return index, name, self.domain.attributes[self.domain.names[index]], level

    def names_column(self, identifier: exp.Identifier) -> bool:
        """Whether an identifier means an attribute or a level."""
        return match_name(identifier, {**self.domain.attributes, **self.domain.levels}) is not None

    def _column_name(self, node: exp.Expr, table: exp.Identifier | None) -> str:
        if not isinstance(node, exp.Column):
            self.unsupported(node)
        if not isinstance(node.this, exp.Identifier):
            self.unsupported(node.this, SHAPE)
        self.only(node, "this", "table")
        qualifier = node.args.get("table")
        if qualifier is not None and (table is None or match_name(qualifier, {table.name: table}) is None):
            dotted = f"{qualifier.name}.{node.this.name}"
            if dotted in self.domain.attributes or dotted in self.domain.levels:
                self.refuse(node, f"the point makes a table of it; write the column {shown(dotted)} in double quotes")
            known = "" if table is None else f"; the table is called {table.name} here"
            self.refuse(node, f"unknown table {shown(qualifier.name)}{known}")
        return self._known_name(node.this)

    def table(self, node: exp.Expr, known: Collection[str]) -> exp.Identifier:
        """The name by which columns may be qualified: the alias of a known table, or its own name."""
        enclosed = None
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            # FROM (census) AS c: the name outside the parentheses is the one that counts.
            self.only(node, "this", "alias")
            node, enclosed = node.this, node.args.get("alias")
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            self.unsupported(node, f"FROM takes one table: {_listed(known)}")
        self.only(node, "this", "db", "catalog", "alias")
        parts = [part for key in ("catalog", "db", "this") if isinstance(part := node.args.get(key), exp.Identifier)]
        whole = exp.Identifier(this=".".join(part.name for part in parts), quoted=any(part.quoted for part in parts))
        if match_name(whole, dict.fromkeys(known)) is None and not self._is_qualified(parts, known):
            hint = nearest(whole.name, known)
            self.refuse(node, f"unknown table {shown(whole.name)}{hint or ';'} there is {_listed(known)}")
        alias = enclosed or node.args.get("alias")
        if alias is None:
            return node.this
        self.only(alias, "this")
        if not isinstance(alias.this, exp.Identifier):
            self.unsupported(alias, SHAPE)
        return alias.this

    def _is_qualified(self, parts: list[exp.Identifier], known: Collection[str]) -> bool:
        """Whether a known table is named with a schema that tells nothing: the usual ones, and the domain's name.

        Before such a schema the name of a database tells nothing either.
        """
        schemas = dict.fromkeys(("public", "main", self.domain.name))
        return (
            len(parts) in {2, 3}
            and match_name(parts[-2], schemas) is not None
            and match_name(parts[-1], dict.fromkeys(known)) is not None
        )

    def refuse_because(self, node: exp.Expr, error: ParcompError, name: str = "") -> NoReturn:
        """Refuse a node for a reason that the model gives."""
        self.refuse(node, f"{shown_name(name)} {error}" if name else str(error))

    def _declared_words(self) -> set[str]:
        """The strings that attributes declare as values, in lower case."""
        named = (one for one in self.domain.attributes.values() if isinstance(one, Categorical))
        return {value.casefold() for one in named for value in one.values if isinstance(value, str)}

    def _known_name(self, identifier: exp.Identifier) -> str:
        """The attribute or level that an identifier means."""
        known = {**self.domain.attributes, **self.domain.levels}
        name = match_name(identifier, known)
        if name is not None:
            return name
        if not identifier.quoted and (word := identifier.name.upper()) in TODAY:
            self.refuse(identifier, f"{word} is not supported; {instead_of(word)}")
        alike = [key for key in known if key.casefold() == identifier.name.casefold()]
        if alike:
            forms = " or ".join(f'"{shown_name(key)}"' for key in alike)
            self.refuse(identifier, f"attribute {shown(identifier.name)}: its name is written {forms}")
        hint = "; strings are written '…', with single quotes" if identifier.quoted else ""
        if not identifier.quoted and identifier.name.casefold() in self._declared_words():
            hint = f"; if the value is meant, write '{shown_name(identifier.name)}', with single quotes"
        near = nearest(identifier.name, known)
        self.refuse(
            identifier, f"unknown attribute {shown(identifier.name)}{near or ';'} there are {_listed(known)}{hint}"
        )


def unwrapped(node: exp.Expr) -> exp.Expr:
    """What stands within parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def shown_name(name: str) -> str:
    """A name as messages show it: short."""
    return name if len(name) <= 60 else name[:57] + "..."


def match_name(identifier: exp.Identifier, known: Mapping[str, object]) -> str | None:
    """The one known name that an identifier means: exactly, or if it is not quoted in any case."""
    if identifier.name in known:
        return identifier.name
    alike = [name for name in known if name.casefold() == identifier.name.casefold()]
    return alike[0] if len(alike) == 1 and not identifier.quoted else None


def _listed(names: Collection[str]) -> str:
    return ", ".join(shown_name(name) for name in list(names)[:20]) + (", …" if len(names) > 20 else "")


_NAMES: dict[type[exp.Expr], str] = {
    exp.Star: "*",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Join: "a second table",
    exp.Tuple: "a list in parentheses",
    exp.Literal: "a constant",
    exp.Boolean: "a constant",
    exp.Null: "NULL",
    exp.Column: "an attribute",
    exp.Neg: "arithmetic",
    exp.Add: "arithmetic",
    exp.Sub: "arithmetic",
    exp.Mul: "arithmetic",
    exp.Concat: "putting strings together",
    exp.Div: "arithmetic",
    exp.IntDiv: "arithmetic",
    exp.Mod: "arithmetic",
    exp.Cast: "CAST",
    exp.Alias: "a name in the middle of an expression",
    exp.Identifier: "a name of several parts",
}


def _name(node: exp.Expr) -> str:
    """What a node is called in a message."""
    for kind, name in _NAMES.items():
        if type(node) is kind:
            return name
    if isinstance(node, (exp.Predicate, exp.Connector, exp.Not)):
        return "a condition in place of a value"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()

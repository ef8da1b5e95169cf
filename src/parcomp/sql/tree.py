"""The parser's tree, read with suspicion: a node is taken only if everything it holds is expected.

The parser records what it understands of a text in the arguments of nodes.  One that is not looked at could change
what is asked, so every argument that is set must be named by whoever reads the node.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from sqlglot import TokenType, exp
from sqlglot.errors import ErrorLevel, ParseError

from parcomp.errors import ParcompError, shown
from parcomp.model import Attribute, Domain
from parcomp.sql.tokens import DIALECT, SHAPE, WHERE_TAKES, SourceText, StatementTokens

__all__ = ["TreeReader", "parse_tree", "shown_name", "unwrapped"]


def parse_tree(statement: StatementTokens) -> exp.Select:
    """The tree of one statement."""
    source, tokens = statement.source, statement.tokens
    parser = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE)
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
        if not isinstance(node, exp.Column):
            self.unsupported(node)
        if not isinstance(node.this, exp.Identifier):
            self.unsupported(node.this, SHAPE)
        self.only(node, "this", "table")
        qualifier = node.args.get("table")
        if qualifier is not None and (table is None or _match(qualifier, {table.name: table}) is None):
            known = "" if table is None else f"; the table is called {table.name} here"
            self.refuse(node, f"unknown table {shown(qualifier.name)}{known}")
        name = self._attribute_name(node.this)
        return self.domain.index(name), name, self.domain.attributes[name]

    def table(self, node: exp.Expr, known: Collection[str]) -> exp.Identifier:
        """The name by which columns may be qualified: the alias of a known table, or its own name."""
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            self.unsupported(node, f"FROM takes one table: {_listed(known)}")
        self.only(node, "this", "db", "catalog", "alias")
        parts = [part for key in ("catalog", "db", "this") if isinstance(part := node.args.get(key), exp.Identifier)]
        whole = exp.Identifier(this=".".join(part.name for part in parts), quoted=any(part.quoted for part in parts))
        if _match(whole, dict.fromkeys(known)) is None:
            self.refuse(node, f"unknown table {shown(whole.name)}; there is {_listed(known)}")
        alias = node.args.get("alias")
        if alias is None:
            return node.this
        self.only(alias, "this")
        if not isinstance(alias.this, exp.Identifier):
            self.unsupported(alias, SHAPE)
        return alias.this

    def is_date(self, node: exp.Expr) -> bool:
        """Whether a cast is the notation DATE '…'; other casts look the same in the tree."""
        if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
            return False
        tokens = self.statement.tokens
        for previous, token in pairwise(tokens):
            if token.start == node.this.meta.get("start"):
                return previous.token_type == TokenType.DATE
        return False

    def refuse_because(self, node: exp.Expr, error: ParcompError, name: str = "") -> NoReturn:
        """Refuse a node for a reason that the model gives."""
        self.refuse(node, f"{shown_name(name)} {error}" if name else str(error))

    def _attribute_name(self, identifier: exp.Identifier) -> str:
        known = self.domain.attributes
        name = _match(identifier, known)
        if name is not None:
            return name
        alike = [key for key in known if key.casefold() == identifier.name.casefold()]
        if alike:
            forms = " or ".join(f'"{shown_name(key)}"' for key in alike)
            self.refuse(identifier, f"attribute {shown(identifier.name)}: its name is written {forms}")
        hint = "; strings are written '…', with single quotes" if identifier.quoted else ""
        self.refuse(identifier, f"unknown attribute {shown(identifier.name)}; there are {_listed(known)}{hint}")


def unwrapped(node: exp.Expr) -> exp.Expr:
    """What stands within parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def shown_name(name: str) -> str:
    """A name as messages show it: short."""
    return name if len(name) <= 60 else name[:57] + "..."


def _match(identifier: exp.Identifier, known: Mapping[str, object]) -> str | None:
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

"""SQL text to selections: what is asked and charged for, and how it is shown.

The dialect is small on purpose: what cannot be charged for is refused by name, with its line and column.  A selection
depends on the text and the domain only, never on data.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp

from parcomp.errors import ParcompError, SizeError, SqlError, WorkloadError, shown
from parcomp.model import Column, Condition, Domain, Grouping, Item, Ordering, Selection, Statement
from parcomp.sql.effort import bounded_effort
from parcomp.sql.expressions import ExpressionReader
from parcomp.sql.instead import SHAPE
from parcomp.sql.keys import GroupKeys
from parcomp.sql.logic import Constant, Formula, rows_where
from parcomp.sql.scalars import Of, Scalar, depth_of, is_of_items, leaves_of
from parcomp.sql.tokens import StatementTokens, split_statements
from parcomp.sql.tree import TreeReader, parse_tree, shown_name, unwrapped
from parcomp.sql.where import WhereReader

__all__ = ["parse_selection", "parse_selections", "parse_statement", "parse_statements"]


_MOST_DEPTH = 100
"""Operations on aggregates that stand within each other, as those of a sum do: whatever comes after goes into them one
by one, from wherever it is called, and must not run out of stack once something is charged."""

_AFTER_A_LIST = {
    *(TokenType.FROM, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)
}


def parse_selection(domain: Domain, text: str, tables: Collection[str] = ()) -> Selection:
    """The one statement that a text holds, and how it is shown.

    ``tables`` are the names that may stand after FROM beside the domain's own.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)}, name="census")
    >>> found = parse_selection(domain, "SELECT sex, 100.0 * COUNT(*) AS n FROM census GROUP BY sex ORDER BY n LIMIT 1")
    >>> [column.name for column in found.columns], found.limit, found.statement.text
    (['sex', 'n'], 1, '{"groups":["sex"],"kind":"count","where":[{}]}')
    """
    if not isinstance(text, str):
        raise WorkloadError(f"a statement is SQL text, not {shown(text)}; {SHAPE}")
    found = split_statements(text, [*domain.names, *domain.levels])
    if not found:
        raise SqlError(f"there is no statement; {SHAPE}", line=1, column=1)
    if len(found) > 1:
        found[1].source.refuse(found[1].tokens[0].start, "a second statement begins here; ask for one at a time")
    return _selection(domain, found[0], tables)


def parse_selections(domain: Domain, text: str, tables: Collection[str] = ()) -> list[tuple[int, Selection]]:
    """The statements that a text holds, separated by semicolons, each with the line on which it begins."""
    found = split_statements(text, [*domain.names, *domain.levels])
    return [(tokens.line, _selection(domain, tokens, tables)) for tokens in found]


def parse_statement(domain: Domain, text: str, tables: Collection[str] = ()) -> Statement:
    """What :func:`parse_selection` finds, without how it is shown.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)}, name="census")
    >>> parse_statement(domain, "SELECT COUNT(*) FROM census WHERE NOT (sex = 'M' OR age < 65)").where.where()
    [{'sex': 'F', 'age': {'from': 65, 'to': 119}}]
    """
    return parse_selection(domain, text, tables).statement


def parse_statements(domain: Domain, text: str, tables: Collection[str] = ()) -> list[tuple[int, Statement]]:
    """What :func:`parse_selections` finds, without how it is shown."""
    return [(line, found.statement) for line, found in parse_selections(domain, text, tables)]


def _selection(domain: Domain, tokens: StatementTokens, tables: Collection[str]) -> Selection:
    reader = TreeReader(domain, tokens)
    try:
        with bounded_effort():
            return _SelectReader(reader, parse_tree(tokens)).read(tables)
    except SizeError as error:
        tokens.source.refuse(tokens.tokens[0].start, str(error))
    except RecursionError:
        tokens.source.refuse(tokens.tokens[0].start, "the statement is nested too deeply; write the condition flatter")


@dataclass(frozen=True, slots=True)
class _Listed:
    """One thing that SELECT lists: under which name, where, and what it is."""

    name: str
    alias: str | None
    node: exp.Expr
    scalar: Scalar

    @property
    def has_items(self) -> bool:
        return any(isinstance(leaf, Item) for leaf in leaves_of(self.scalar))


@dataclass(frozen=True, slots=True)
class _SelectReader:
    reader: TreeReader
    select: exp.Select

    def read(self, tables: Collection[str]) -> Selection:
        reader, select, domain = self.reader, self.select, self.reader.domain
        for join in select.args.get("joins") or ():
            message = (
                "a second table is not supported; FROM takes one table: ask the custodian for a view that joins them"
            )
            reader.refuse(join, message)
        clauses = ("expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset")
        reader.only(select, *clauses)
        source = select.args.get("from_") or select.args.get("from")
        if not isinstance(source, exp.From):
            reader.refuse(select, f"FROM is missing; {SHAPE}")
        reader.only(source, "this")
        table = reader.table(source.this, list(dict.fromkeys((domain.name, *tables))))
        where = WhereReader(reader, table)
        expressions = ExpressionReader(reader, table, where, items=True)
        listed = self._listed(expressions)
        condition = self._condition(where)
        keys = self._keys(expressions, listed)
        aliases = {one.alias: one.scalar for one in listed if one.alias is not None}
        having = self._having(ExpressionReader(reader, table, where, True, aliases), keys)
        order = self._order(ExpressionReader(reader, table, where, True, aliases, prefers_aliases=True), listed)
        scalars = [*(one.scalar for one in listed), *(one.scalar for one, _ in order)]
        scalars += [] if having is None else [having.scalar]
        if any(depth_of(one) > _MOST_DEPTH and is_of_items(one) for one in scalars):
            message = (
                f"operations on aggregates are nested too deeply, more than {_MOST_DEPTH} in one another; write fewer"
            )
            reader.refuse(select, message)
        items = dict.fromkeys(leaf for one in scalars for leaf in leaves_of(one) if isinstance(leaf, Item))
        if not items and not keys:
            reader.refuse(select, f"there is no aggregate, and rows are never shown; {SHAPE}")
        statement = self._statement(condition, tuple(items), keys)
        places = GroupKeys(reader, table, statement, keys)
        columns = [Column(one.name, places.column(one.node, one.scalar)) for one in listed]
        columns += [
            Column(name, places.resolve(select, key)) for key, name in places.missing(columns, self._written_keys())
        ]
        limit, offset = self._limit(), self._offset()
        if not keys and (limit == 0 or offset):
            left_out = "the answer is one row, which this leaves out"
            if reader.statement.top is not None:
                reader.source.refuse(reader.statement.top.start, left_out)
            reader.refuse(select.args["limit" if limit == 0 else "offset"], left_out)
        kept = None if having is None else places.resolve(having.node, having.scalar, "HAVING")
        orderings = tuple(
            Ordering(
                places.resolve(one.node, one.scalar, "ORDER BY"),
                bool(key.args.get("desc")),
                bool(key.args.get("nulls_first")),
            )
            for one, key in order
        )
        try:
            return Selection(statement, tuple(columns), kept, orderings, limit, offset)
        except SizeError as error:
            reader.refuse_because(select, error)

    def _listed(self, expressions: ExpressionReader) -> list[_Listed]:
        """What SELECT lists."""
        written = self._written()
        found = []
        for place, item in enumerate(self.select.expressions):
            if isinstance(item, exp.Alias):
                self.reader.only(item, "this", "alias")
            node = unwrapped(item.this if isinstance(item, exp.Alias) else item)
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                self.reader.unsupported(node, f"rows are never shown; {SHAPE}")
            scalar = expressions.read(node)
            alias = item.alias if isinstance(item, exp.Alias) else None
            name = scalar.name if isinstance(scalar, Of) else written[place] if place < len(written) else "value"
            found.append(_Listed(alias or name, alias or None, node, scalar))
        return found

    def _written(self) -> list[str]:
        """The text of each item of the list."""
        return self._texts(self.reader.statement.tokens[1:])

    def _written_keys(self) -> list[str]:
        """The text of each key of GROUP BY."""
        tokens, depth = self.reader.statement.tokens, 0
        for place, token in enumerate(tokens):
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if depth == 0 and token.token_type == TokenType.GROUP_BY:
                return self._texts(tokens[place + 1 :])
        return []

    def _texts(self, tokens: list[Token]) -> list[str]:
        """What is written from each comma to the next, up to the clause that follows."""
        source, depth, starts, texts = self.reader.source, 0, 0, []
        for place, token in enumerate([*tokens, None]):
            kind = None if token is None else token.token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            over = kind is None or (depth == 0 and kind in _AFTER_A_LIST)
            if over or (depth == 0 and kind == TokenType.COMMA):
                if place > starts:
                    text = source.text[tokens[starts].start : tokens[place - 1].end + 1]
                    texts.append(shown_name(" ".join(text.split())))
                starts = place + 1
            if over:
                break
        return texts

    def _condition(self, where: WhereReader) -> Condition:
        clause = self.select.args.get("where")
        formula: Formula = Constant(True)
        if clause is not None:
            self.reader.only(clause, "this")
            formula = where.formula(clause.this)
        try:
            return rows_where(self.reader.domain, formula)
        except ParcompError as error:
            self.reader.refuse_because(clause if clause is not None else self.select, error)

    def _keys(self, expressions: ExpressionReader, listed: list[_Listed]) -> dict[Scalar, Grouping]:
        """What stands after GROUP BY: by name, by position in the list, by a name given there, or written out."""
        group = self.select.args.get("group")
        if group is None:
            return {}
        self.reader.only(group, "expressions")
        aliases = {one.alias: one.scalar for one in listed if one.alias is not None and not one.has_items}
        plain = ExpressionReader(expressions.reader, expressions.table, expressions.conditions, False, aliases)
        keys: dict[Scalar, Grouping] = {}
        for item in group.expressions:
            node = unwrapped(item)
            if isinstance(node, exp.Literal):
                one = self._position(node, listed, "GROUP BY")
                if one.has_items:
                    self.reader.refuse(node, "GROUP BY takes attributes and expressions over them, not an aggregate")
                scalar = one.scalar
            elif isinstance(node, exp.Tuple):
                self.reader.unsupported(node, "GROUP BY takes attributes and expressions one after another")
            else:
                scalar = plain.read(node)
            keys[scalar] = GroupKeys.grouping(self.reader, node, scalar)
        return keys

    def _position(self, node: exp.Expr, listed: list[_Listed], clause: str) -> _Listed:
        """The item of the list that a number stands for."""
        written = str(node.this)
        if node.is_string or not written.isdecimal() or len(written) > 6 or not 1 <= int(written) <= len(listed):
            self.reader.refuse(node, f"{clause} takes names, expressions, and positions from 1 to {len(listed)}")
        return listed[int(written) - 1]

    def _having(self, expressions: ExpressionReader, keys: dict[Scalar, Grouping]) -> _Listed | None:
        clause = self.select.args.get("having")
        if clause is None:
            return None
        self.reader.only(clause, "this")
        if not keys:
            self.reader.refuse(
                clause, "HAVING chooses among groups, and there is no GROUP BY; conditions on rows stand in WHERE"
            )
        return _Listed("", None, clause.this, expressions.condition(clause.this))

    def _order(self, expressions: ExpressionReader, listed: list[_Listed]) -> list[tuple[_Listed, exp.Expr]]:
        clause = self.select.args.get("order")
        if clause is None:
            return []
        self.reader.only(clause, "expressions")
        found = []
        for key in clause.expressions:
            self.reader.only(key, "this", "desc", "nulls_first")
            node = unwrapped(key.this)
            if isinstance(node, exp.Literal):
                found.append((self._position(node, listed, "ORDER BY"), key))
            else:
                found.append((_Listed("", None, node, expressions.read(node)), key))
        return found

    def _limit(self) -> int | None:
        clause = self.select.args.get("limit")
        top = self.reader.statement.top
        if top is not None:
            if clause is not None or self.select.args.get("offset") is not None:
                self.reader.source.refuse(top.start, "TOP stands without LIMIT, OFFSET and FETCH; write LIMIT alone")
            if not top.text.isdecimal() or len(top.text) > 18:
                self.reader.source.refuse(top.start, "TOP takes a whole number")
            return int(top.text)
        if clause is None:
            return None
        if isinstance(clause, exp.Fetch):
            self.reader.only(clause, "direction", "count", "limit_options")
            options = clause.args.get("limit_options")
            if options is not None:
                self.reader.only(options, "rows")
            return 1 if clause.args.get("count") is None else self._count(clause.args["count"], "FETCH")
        self.reader.only(clause, "expression")
        return self._count(clause.expression, "LIMIT")

    def _offset(self) -> int:
        clause = self.select.args.get("offset")
        if clause is None:
            return 0
        self.reader.only(clause, "expression")
        return self._count(clause.expression, "OFFSET")

    def _count(self, node: exp.Expr, clause: str) -> int:
        written = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
        if not written.isdecimal() or len(written) > 18:
            self.reader.refuse(node, f"{clause} takes a whole number")
        return int(written)

    def _statement(self, condition: Condition, items: tuple[Item, ...], keys: dict[Scalar, Grouping]) -> Statement:
        try:
            return Statement(condition, items, tuple(keys.values()))
        except ParcompError as error:
            by_groups = isinstance(error, SizeError) and "group" in self.select.args
            self.reader.refuse_because(self.select.args["group"] if by_groups else self.select, error)

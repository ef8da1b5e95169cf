"""SQL text to statements.

The dialect is small on purpose: what cannot be charged for is refused by name, with its line and column.  A statement
depends on the text and the domain only, never on data.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from parcomp.errors import ParcompError, SizeError, SqlError, WorkloadError, shown
from parcomp.model import Condition, Domain, Kind, Query, Statement
from parcomp.sql.comparison import is_null
from parcomp.sql.logic import Atom, Conjunction, Constant, Formula, Negation, rows_where
from parcomp.sql.tokens import SHAPE, StatementTokens, split_statements
from parcomp.sql.tree import TreeReader, parse_tree, shown_name, unwrapped
from parcomp.sql.where import WhereReader

__all__ = ["parse_statement", "parse_statements"]

_KINDS: dict[type[exp.Expr], Kind] = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "average"}


def parse_statement(domain: Domain, text: str, tables: Collection[str] = ()) -> Statement:
    """The one statement that a text holds.

    ``tables`` are the names that may stand after FROM beside the domain's own.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)}, name="census")
    >>> parse_statement(domain, "SELECT COUNT(*) FROM census WHERE NOT (sex = 'M' OR age < 65)").where.where()
    [{'sex': 'F', 'age': {'from': 65, 'to': 119}}]
    """
    if not isinstance(text, str):
        raise WorkloadError(f"a statement is SQL text, not {shown(text)}; {SHAPE}")
    found = split_statements(text, domain.names)
    if not found:
        raise SqlError(f"there is no statement; {SHAPE}", line=1, column=1)
    if len(found) > 1:
        found[1].source.refuse(found[1].tokens[0].start, "a second statement begins here; ask for one at a time")
    return _statement(domain, found[0], tables)


def parse_statements(domain: Domain, text: str, tables: Collection[str] = ()) -> list[tuple[int, Statement]]:
    """The statements that a text holds, separated by semicolons, each with the line on which it begins."""
    found = split_statements(text, domain.names)
    return [(tokens.line, _statement(domain, tokens, tables)) for tokens in found]


def _statement(domain: Domain, tokens: StatementTokens, tables: Collection[str]) -> Statement:
    reader = TreeReader(domain, tokens)
    try:
        return _read(reader, parse_tree(tokens), tables)
    except RecursionError:
        tokens.source.refuse(tokens.tokens[0].start, "the statement is nested too deeply; write the condition flatter")


def _read(reader: TreeReader, select: exp.Select, tables: Collection[str]) -> Statement:
    domain = reader.domain
    for join in select.args.get("joins") or ():
        reader.refuse(join, "a second table is not supported; FROM takes one table")
    reader.only(select, "expressions", "from", "from_", "where", "group")
    source = select.args.get("from_") or select.args.get("from")
    if not isinstance(source, exp.From):
        reader.refuse(select, f"FROM is missing; {SHAPE}")
    reader.only(source, "this")
    table = reader.table(source.this, list(dict.fromkeys((domain.name, *tables))))
    grouping = _grouping(reader, select, table)
    aggregate = _aggregate(reader, select, table, grouping)
    kind = _KINDS[type(aggregate)]
    measured = None if isinstance(aggregate.this, exp.Star) else reader.attribute(aggregate.this, table)
    formula: Formula = Constant(True)
    where = select.args.get("where")
    if where is not None:
        reader.only(where, "this")
        formula = WhereReader(reader, table).formula(where.this)
    if kind == "count" and measured is not None:
        formula = Conjunction((formula, Negation(Atom(measured[0], *is_null(measured[2])))))
    condition = Condition(domain, (Query(domain, ()),))
    try:
        condition = rows_where(domain, formula)
    except ParcompError as error:
        reader.refuse_because(where if where is not None else select, error)
    name = None if kind == "count" or measured is None else measured[1]
    try:
        return Statement(kind, condition, name, tuple(grouping))
    except ParcompError as error:
        reader.refuse_because(select.args["group"] if isinstance(error, SizeError) else aggregate, error)


def _grouping(reader: TreeReader, select: exp.Select, table: exp.Identifier) -> dict[int, str]:
    """The attributes after GROUP BY: position → name."""
    group = select.args.get("group")
    if group is None:
        return {}
    reader.only(group, "expressions")
    named = {}
    for item in group.expressions:
        node = unwrapped(item)
        if isinstance(node, exp.Literal):
            reader.refuse(node, "GROUP BY takes attributes by their names, not by a number or a string")
        if not isinstance(node, exp.Column):
            reader.unsupported(node, "GROUP BY takes attributes")
        index, name, _ = reader.attribute(node, table)
        named[index] = name
    return named


def _aggregate(reader: TreeReader, select: exp.Select, table: exp.Identifier, grouping: dict[int, str]) -> exp.Expr:
    """The one aggregate of a SELECT; all else that it lists is grouped by."""
    found: exp.Expr | None = None
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            reader.only(item, "this", "alias")
        node = unwrapped(item.this if isinstance(item, exp.Alias) else item)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            index, name, _ = reader.attribute(node, table)
            if index not in grouping:
                reader.refuse(node, f"{shown_name(name)} is selected without GROUP BY; {SHAPE}")
            continue
        if type(node) not in _KINDS:
            reader.unsupported(node, SHAPE)
        if found is not None:
            reader.refuse(node, "a second aggregate is not supported; ask for one at a time")
        found = node
        reader.only(node, "this", "big_int")
        if isinstance(node.this, exp.Star):
            reader.only(node.this)
        elif not isinstance(node.this, exp.Column):
            takes = (
                "COUNT takes * or an attribute"
                if isinstance(node, exp.Count)
                else f"{node.key.upper()} takes an attribute"
            )
            reader.unsupported(node.this, takes)
        if isinstance(node.this, exp.Star) and not isinstance(node, exp.Count):
            reader.refuse(node, f"{node.key.upper()} takes an attribute, not *")
    if found is None:
        reader.refuse(select, f"there is no aggregate; {SHAPE}")
    return found

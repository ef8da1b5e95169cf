"""A batch of statements as one query over coded rows, and its result as the numbers of each statement.

Every number is an aggregate with a FILTER, and every GROUP BY a grouping set, so that a single scan serves them all.
Codes are never null, hence a null in a grouping column tells to which grouping set a row of the result belongs.  Ibis
has no grouping sets; the text holds nothing but names of our own and integers, and is the same for every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from parcomp.data.codes import CodedRows
from parcomp.data.dialect import Dialect
from parcomp.model import Condition, Predicate, Query, Statement

__all__ = ["MAX_NUMBERS", "Batch", "batches"]

MAX_NUMBERS = 1_000
"""The most numbers that one query asks for; PostgreSQL returns no more than 1,664 columns."""

_Groups: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that are measured together.

    ``numbers`` are the distinct aggregates in SQL, with the place at which the query returns each.
    """

    statements: tuple[Statement, ...]
    rows: CodedRows
    dialect: Dialect
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, statements: Iterable[Statement], rows: CodedRows, dialect: Dialect) -> Batch:
        """The batch of these statements."""
        statements = tuple(statements)
        wanted = (sql for statement in statements for sql in _numbers(statement, rows, dialect))
        return cls(statements, rows, dialect, {sql: place for place, sql in enumerate(dict.fromkeys(wanted))})

    def sql(self, relation: str) -> str:
        """The query, over a relation that has the columns of the coded rows."""
        groupings = self._groupings()
        keys = [f"c{index}" for index in self._keys()]
        numbers = list(self.numbers)
        conditions = list(dict.fromkeys(_condition_sql(statement.where) for statement in self.statements))
        if len(conditions) == 1:
            # What WHERE has tested for all numbers alike need not be tested again for each.
            numbers = [number.removesuffix(_filter_sql(conditions[0])) for number in numbers]
        sql = f"SELECT {', '.join([*keys, *numbers])} FROM {relation}"
        # Rows that no statement asks for would only make more groups.
        if "TRUE" not in conditions and (keys or len(conditions) == 1):
            sql += f" WHERE {' OR '.join(conditions)}"
        if keys:
            sets = ", ".join(f"({', '.join(f'c{index}' for index in groups)})" for groups in groupings)
            sql += f" GROUP BY {', '.join(keys)}" if len(groupings) == 1 else f" GROUP BY GROUPING SETS ({sets})"
        return sql

    def read(self, result: Iterable[Sequence[Any]]) -> list[list[list[int]]]:
        """For each statement and each of its aggregates one number for each group, zeros included."""
        width = len(self._keys())
        groupings = self._groupings()
        found: dict[_Groups, dict[_Groups, Sequence[Any]]] = {groups: {} for groups in groupings}
        if len(groupings) == 1:
            found[groupings[0]] = {tuple(row[:width]): row[width:] for row in result}
        else:
            for row in result:
                codes = [(index, code) for index, code in zip(self._keys(), row, strict=False) if code is not None]
                found[tuple(index for index, _ in codes)][tuple(code for _, code in codes)] = row[width:]
        return [self._answer(statement, found[statement.groups]) for statement in self.statements]

    def _answer(self, statement: Statement, found: Mapping[_Groups, Sequence[Any]]) -> list[list[int]]:
        groups = list(statement.group_codes())
        condition = _condition_sql(statement.where)
        count = self.numbers[_count_sql(condition)]
        answer = []
        for aggregate in statement.aggregates:
            total, constant = count, 0
            if aggregate.attribute is not None:
                column, base = self.rows.summed[aggregate.attribute]
                total, constant = self.numbers[_sum_sql(column, condition, self.dialect)], base - aggregate.center
            answer.append(
                [
                    0 if row is None else int(row[total] or 0) + constant * int(row[count])
                    for row in map(found.get, groups)
                ]
            )
        return answer

    def _groupings(self) -> list[_Groups]:
        return list(dict.fromkeys(statement.groups for statement in self.statements))

    def _keys(self) -> list[int]:
        return sorted({index for statement in self.statements for index in statement.groups})


def batches(statements: Sequence[Statement], rows: CodedRows, dialect: Dialect) -> Iterable[Batch]:
    """The statements in as few batches as their numbers fit into, in order."""
    waiting: list[Statement] = []
    numbers: set[str] = set()
    for statement in statements:
        more = set(_numbers(statement, rows, dialect))
        if waiting and len(numbers | more) > MAX_NUMBERS:
            yield Batch.of(waiting, rows, dialect)
            waiting, numbers = [], set()
        waiting.append(statement)
        numbers |= more
    if waiting:
        yield Batch.of(waiting, rows, dialect)


def _numbers(statement: Statement, rows: CodedRows, dialect: Dialect) -> list[str]:
    condition = _condition_sql(statement.where)
    return [_count_sql(condition)] + [
        _sum_sql(rows.summed[aggregate.attribute][0], condition, dialect)
        for aggregate in statement.aggregates
        if aggregate.attribute is not None
    ]


def _count_sql(condition: str) -> str:
    return "COUNT(*)" + _filter_sql(condition)


def _sum_sql(column: str, condition: str, dialect: Dialect) -> str:
    return dialect.exact_sum.format(column) + _filter_sql(condition)


def _filter_sql(condition: str) -> str:
    return "" if condition == "TRUE" else f" FILTER (WHERE {condition})"


def _condition_sql(condition: Condition) -> str:
    if condition.is_contradiction:
        return "FALSE"
    alternatives = [_query_sql(query) for query in condition.alternatives]
    return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


def _query_sql(query: Query) -> str:
    terms = [_predicate_sql(f"c{index}", predicate) for index, predicate in query.terms]
    return f"({' AND '.join(terms)})" if terms else "TRUE"


def _predicate_sql(code: str, predicate: Predicate) -> str:
    """Whether a code, which is one of the attribute's and never null, belongs to the predicate."""
    runs = list(predicate.runs())
    singles = [str(start) for start, stop in runs if stop == start + 1]
    parts = [f"{code} BETWEEN {start} AND {stop - 1}" for start, stop in runs if stop > start + 1]
    if singles:
        parts.append(f"{code} = {singles[0]}" if len(singles) == 1 else f"{code} IN ({', '.join(singles)})")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

"""Who may read the tables of the schema ``parcomp`` in PostgreSQL: their owner, and nobody else.

A table is not closed by being somebody's own.  ``ALTER DEFAULT PRIVILEGES`` grants to others whatever is made later, so
what was granted is taken back in the transaction that makes a table, before anybody else can see it.  What is granted
afterwards is found when a table is opened.  Columns may have grants of their own, which go with those of their table.

Superusers, members of ``pg_read_all_data`` and of the owner's role need no grant, and cannot be kept out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from parcomp.data.codes.coded_table import OpenToOthersError
from parcomp.errors import one_line

__all__ = ["check_closed", "close_schema", "close_table"]

_GRANTED = """
WITH given AS (
    SELECT made.oid AS made, made.relowner AS owner, acl.grantee
    FROM pg_class AS made, aclexplode(made.relacl) AS acl
    UNION
    SELECT made.oid, made.relowner, acl.grantee
    FROM pg_class AS made JOIN pg_attribute AS part ON part.attrelid = made.oid, aclexplode(part.attacl) AS acl
)
SELECT format('REVOKE ALL ON TABLE %%s FROM %%s CASCADE', made::regclass,
              CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
FROM given JOIN unnest(%s::text[]) AS name ON made = to_regclass(name)
WHERE grantee <> owner
ORDER BY 1
"""

_GRANTED_ON_SCHEMA = """
SELECT format('REVOKE ALL ON SCHEMA parcomp FROM %s CASCADE',
              CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END)
FROM pg_namespace, aclexplode(nspacl) AS acl
WHERE nspname = 'parcomp' AND acl.grantee <> nspowner
ORDER BY 1
"""

_FOREIGN = """
SELECT name FROM unnest(%s::text[]) AS name JOIN pg_class ON oid = to_regclass(name)
WHERE NOT pg_has_role(relowner, 'MEMBER')
ORDER BY 1
"""


def close_table(connection: psycopg.Connection[Any], table: str) -> None:
    """Take back what was granted to others on a table, which is this transaction's own."""
    _run(connection, _revokes(connection, [table]))


def close_schema(connection: psycopg.Connection[Any]) -> None:
    """Take back what was granted to others on the schema, which is this transaction's own."""
    _run(connection, [sql for (sql,) in connection.execute(_GRANTED_ON_SCHEMA).fetchall()])


def check_closed(connection: psycopg.Connection[Any], tables: Sequence[str]) -> None:
    """Raise if anybody but the owner was granted anything on one of these tables, of which some may not be there."""
    revokes = _revokes(connection, tables)
    if revokes:
        raise OpenToOthersError(
            "others were granted access to the coded table in PostgreSQL, which holds every row; run: "
            + one_line("; ".join(revokes))
        )
    foreign = [name for (name,) in connection.execute(_FOREIGN, (list(tables),)).fetchall()]
    if foreign:
        raise OpenToOthersError(
            f"{one_line(', '.join(foreign))} in PostgreSQL belongs to another user, who may read it; a coded table is "
            "read by the user who made it"
        )


def _revokes(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[str]:
    """The statements that take back what others were granted."""
    return [sql for (sql,) in connection.execute(_GRANTED, (list(tables),)).fetchall()]


def _run(connection: psycopg.Connection[Any], statements: Sequence[str]) -> None:
    for sql in statements:
        connection.execute(sql.encode())

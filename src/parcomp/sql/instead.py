"""What stands in SQL and not in this dialect, and the nearest thing that works.

Names of values and tables that nobody declared get the nearest declared ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from decimal import Decimal

from parcomp.errors import shown

__all__ = ["SHAPE", "TODAY", "WHERE_TAKES", "instead_of", "nearest", "nearest_values"]

SHAPE = "a statement is SELECT COUNT(*), SUM(a), AVG(a), … FROM table [WHERE …] [GROUP BY …] [ORDER BY …] [LIMIT …]"
WHERE_TAKES = "WHERE takes =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, NOT, AND and OR"

TODAY = ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP")
"""Words that stand for the moment of asking; an answer depends on the text of its statement alone."""

_ONE_TABLE = "FROM takes one table; ask the custodian for a view that joins what you need"
_EXTREME = "one row decides it; PERCENTILE_CONT({at}) WITHIN GROUP (ORDER BY attribute) comes near"
_WINDOW = "an answer has a number in each group; GROUP BY, ORDER BY and LIMIT order and cut the groups"
_ROLLUP = "GROUP BY takes attributes and bands of them; ask for each grouping by itself"
_ONE_QUESTION = "a statement is one SELECT; ask for each by itself"
_PATTERN = "LIKE and ILIKE find the declared values that match, and IN lists them"
_DATE = "write the date itself, such as DATE '2020-12-31'"
_ROW_NUMBERS = "ask for COUNT, SUM, AVG, VARIANCE and STDDEV of each attribute"
_LISTS = "rows are never shown; GROUP BY lists the declared values, and COUNT(*) how many rows have each"
_CASTS = "CAST takes INTEGER, BIGINT, NUMERIC, DOUBLE PRECISION, VARCHAR, BOOLEAN and, of dates, DATE and TIMESTAMP"
_CHANCE = "an answer is the same whenever it is shown again; draw random numbers where you use it"
_FUNCTIONS = (
    "there are FLOOR, CEIL, ROUND, ABS, COALESCE, NULLIF, CASE, CAST, EXTRACT, DATE_TRUNC and others, listed on the "
    "page SQL of the documentation"
)

_INSTEAD: dict[str, str] = {
    "MIN": _EXTREME.format(at="0.01"),
    "MAX": _EXTREME.format(at="0.99"),
    "MODE": "GROUP BY the attribute with ORDER BY COUNT(*) DESC LIMIT 1",
    **dict.fromkeys(("JOIN", "LATERAL", "USING", "NATURAL"), _ONE_TABLE),
    **dict.fromkeys(("OVER", "QUALIFY", "ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE", "LAG", "LEAD", "WINDOW"), _WINDOW),
    **dict.fromkeys(("ROLLUP", "CUBE", "GROUPING SETS", "PIVOT", "UNPIVOT", "GROUPING"), _ROLLUP),
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT"), _ONE_QUESTION),
    "WITH": "write its SELECT by itself; " + _ONE_TABLE,
    **dict.fromkeys(("AVERAGE", "MEAN"), "write AVG(attribute)"),
    **dict.fromkeys(("RANDOM", "RAND", "NEWID", "UUID", "GEN_RANDOM_UUID"), _CHANCE),
    **dict.fromkeys(("SIMILAR TO", "RLIKE", "REGEXP", "GLOB", "REGEXP_LIKE", "REGEXP_MATCHES"), _PATTERN),
    **dict.fromkeys(("INTERVAL", "NOW", "AGE", "DATE_ADD", "DATE_DIFF", "DATEDIFF", "OVERLAPS", "TO_DATE"), _DATE),
    **dict.fromkeys(TODAY, _DATE),
    **dict.fromkeys(("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"), _ROW_NUMBERS),
    **dict.fromkeys(("ARRAY_AGG", "STRING_AGG", "LIST", "GROUP_CONCAT", "JSON_AGG", "FIRST_VALUE"), _LISTS),
    **dict.fromkeys(("ANY_VALUE", "ARG_MAX", "ARG_MIN", "LAST_VALUE"), _LISTS),
    "TRY_CAST": _CASTS,
    "FILTER": "write the condition after WHERE, or GROUP BY what it tests",
    "COUNT_IF": "write the condition after WHERE, or GROUP BY what it tests",
    "DISTINCT": "GROUP BY lists the declared values, and COUNT(DISTINCT attribute) counts them",
    "EXISTS": WHERE_TAKES,
    **dict.fromkeys(("ANY", "SOME", "ALL"), "write IN with the values"),
    "TABLESAMPLE": "a sample is not what is charged for; leave it out",
    **dict.fromkeys(("INTO", "FOR"), "an answer is only shown; leave it out"),
    "SORT BY": "write ORDER BY",
    "CLUSTER BY": "write ORDER BY",
    "TOP": "write TOP and a whole number, or LIMIT after the statement",
    "SYMMETRIC": "write the smaller number first",
    "XOR": "write (a AND NOT b) OR (b AND NOT a)",
    "APPROX_COUNT_DISTINCT": "write COUNT(DISTINCT attribute)",
    "APPROX_QUANTILE": "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY attribute)",
}


def instead_of(word: str, otherwise: str = _FUNCTIONS) -> str:
    """The nearest thing that works."""
    return _INSTEAD.get(word, otherwise)


def nearest(name: str, known: Iterable[str]) -> str:
    """Which known names are meant, as the end of a message; empty if none is near."""
    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    # What is much longer than any name is compared for nothing.
    found = difflib.get_close_matches(name[:80].casefold(), folded, n=3)
    return f"; did you mean {' or '.join(shown(folded[one]) for one in found)}?" if found else ""


def nearest_values(value: object, known: Iterable[object]) -> str:
    """Which declared values are meant, and the first of what there is."""
    listed = list(known)
    there = ", ".join(map(shown, listed[:6])) + (", …" if len(listed) > 6 else "")
    if isinstance(value, str):
        hint = nearest(value, [one for one in listed if isinstance(one, str)])
    else:
        numbers = [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]
        near = sorted(numbers, key=lambda one: abs(Decimal(one) - Decimal(str(value))))[:2]
        hint = f"; did you mean {' or '.join(map(shown, near))}?" if near else ""
    return f"{hint or ';'} declared are {there}"

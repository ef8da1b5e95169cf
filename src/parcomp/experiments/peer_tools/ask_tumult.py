"""Tumult Analytics: a session on Spark; with a column to partition by, a session for each of its values.

The sessions of a partition are used one after the other, in the order in which they were made, and asking the session
that they came from ends them.  So with partitions the asks are known beforehand: one that touches several values is put
to each of their sessions, and the answers are added.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

__all__: list[str] = []


def _main() -> None:
    # Spark's workers are to be of this environment too.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415  only this tool's environment has it
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session  # noqa: PLC0415

    work = json.load(sys.stdin)
    # One partition of the shuffle, as suits a table that is not large: with Spark's 200 a count takes much longer.
    builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.csv(work["table"], header=True, inferSchema=True).cache()
    session = Session.from_dataframe(PureDPBudget(work["epsilon"]), work["name"], frame, AddOneRow())
    each = PureDPBudget(work["each"])

    def counts(asked: Any, source: str, ask: Any) -> list[int]:
        query: Any = QueryBuilder(source)
        for name, (low, high) in ask["where"].items():
            query = query.filter(f"{name} >= {low} AND {name} <= {high}")
        if not ask["by"]:
            return [int(asked.evaluate(query.count(), each).collect()[0][0])]
        size = work["sizes"][ask["by"]]
        keys = KeySet.from_dict({ask["by"]: list(range(size))})
        found = {row[0]: row[1] for row in asked.evaluate(query.groupby(keys).count(), each).collect()}
        return [int(found[value]) for value in range(size)]

    affordable = int(work["epsilon"] / work["each"] + 1e-9)
    answers: list[Any] = []
    column = work["partition"]
    if not column:
        for ask in work["asks"]:
            answers.append(counts(session, work["name"], ask) if len(answers) < affordable else None)
        _refuses(counts, session, work["name"], work["asks"], affordable)
    else:
        size = work["sizes"][column]
        left = [affordable] * size
        for ask in work["asks"]:
            low, high = ask["where"].get(column, (0, size - 1))
            fits = all(left[value] for value in range(low, high + 1))
            answers.append([] if fits else None)
            for value in range(low, high + 1) if fits else ():
                left[value] -= 1
        splits = {f"part{value}": value for value in range(size)}
        parts = session.partition_and_create(work["name"], PureDPBudget(work["epsilon"]), column, splits)
        for value, (name, part) in enumerate(parts.items()):
            for number, ask in enumerate(work["asks"]):
                low, high = ask["where"].get(column, (0, size - 1))
                if answers[number] is None or not low <= value <= high:
                    continue
                found = counts(part, name, ask)
                before = answers[number] or [0] * len(found)
                answers[number] = [one + other for one, other in zip(before, found, strict=True)]
            part.stop()
    print(json.dumps({"version": version("tmlt.analytics"), "answers": answers}))


def _refuses(counts: Any, session: Any, source: str, asks: list[Any], affordable: int) -> None:
    """See that the session itself refuses what is beyond its budget, where something is."""
    if len(asks) <= affordable:
        return
    try:
        counts(session, source, asks[affordable])
    except RuntimeError:
        return
    raise AssertionError("a session answered beyond its budget")


if __name__ == "__main__":
    _main()

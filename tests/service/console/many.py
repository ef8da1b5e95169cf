"""Ledgers with many charges, made quickly: thousands of questions about small regions of the demonstration's table."""

from __future__ import annotations

import random
from pathlib import Path

from parcomp.custodian import Answer, Ask, Custodian, ask_together

SEED = 13
_TOGETHER = 250
_MARITAL = ("never married", "married", "divorced", "widowed")
_WIDTHS = (3_000, 6_000, 15_000, 30_000)


def questions(count: int) -> list[Ask]:
    """Different questions of two analysts, always the same ones."""
    drawn = random.Random(SEED)
    found: dict[str, Ask] = {}
    while len(found) < count:
        low = drawn.randrange(0, 240_000, 3_000)
        age = drawn.randrange(0, 100, 20)
        conditions = [
            f"income >= {low} AND income < {low + drawn.choice(_WIDTHS)}",
            f"marital = '{drawn.choice(_MARITAL)}'",
            f"race = 'race {drawn.randint(1, 7)}'",
            f"age >= {age} AND age < {age + 20}",
            f"gender = '{drawn.choice('FM')}'",
        ]
        chosen = sorted(drawn.sample(range(len(conditions)), drawn.choice((3, 4, 4, 5))))
        sql = "SELECT COUNT(*) FROM census WHERE " + " AND ".join(conditions[place] for place in chosen)
        cost = drawn.choice(("0.005", "0.01", "0.02"))
        found.setdefault(sql, Ask(sql, drawn.choice(("anna", "ben")), {"epsilon": cost}))
    return list(found.values())


def charge_many(settings: Path, count: int) -> None:
    """Ask so many questions; each of them is charged."""
    asks = questions(count)
    with Custodian.create(settings) as custodian:
        for start in range(0, count, _TOGETHER):
            outcomes = ask_together(custodian, asks[start : start + _TOGETHER])
            assert all(isinstance(one, Answer) for one in outcomes)

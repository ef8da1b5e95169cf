"""toulbar2: weighted constraint satisfaction by soft arc consistency; a query that a row does not satisfy costs it."""

from __future__ import annotations

import itertools
import json
import sys
import time
from importlib.metadata import version

__all__: list[str] = []


def _main() -> None:
    import pytoulbar2  # noqa: PLC0415  only this tool's environment has it

    answers, seconds = [], []
    for problem in json.load(sys.stdin)["problems"]:
        total = sum(problem["weights"])
        network = pytoulbar2.CFN(total + 1)
        for attribute, size in enumerate(problem["sizes"]):
            network.AddVariable(f"a{attribute}", [f"v{value}" for value in range(size)])
        for query, weight in zip(problem["queries"], problem["weights"], strict=True):
            rows = itertools.product(*(accepted for _, accepted in query))
            network.AddFunction(
                [f"a{attribute}" for attribute, _ in query], [0 if all(row) else weight for row in rows]
            )
        began = time.process_time()
        _, cost, _ = network.Solve()
        seconds.append(time.process_time() - began)
        answers.append(total - round(cost))
    print(json.dumps({"version": version("pytoulbar2"), "answers": answers, "seconds": seconds}))


if __name__ == "__main__":
    _main()

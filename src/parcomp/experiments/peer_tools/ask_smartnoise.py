"""SmartNoise SQL: a private reader of a pandas frame, whose odometer is looked at before each query."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

__all__: list[str] = []


def _main() -> None:
    import pandas as pd  # noqa: PLC0415  only this tool's environment has it
    import snsql  # noqa: PLC0415

    work = json.load(sys.stdin)
    frame = pd.read_csv(work["table"])
    columns = {name: {"type": "int", "lower": 0, "upper": size - 1} for name, size in work["sizes"].items()}
    # Each row is a person, and the values to group by are public: nothing is censored for being rare.
    table = {**columns, "rows": len(frame), "row_privacy": True, "censor_dims": False}
    reader = snsql.from_df(
        frame, privacy=snsql.Privacy(epsilon=work["each"], delta=0.0), metadata={"": {"main": {work["name"]: table}}}
    )
    answers: list[Any] = []
    for ask in work["asks"]:
        if reader.odometer.spent[0] + work["each"] > work["epsilon"] + 1e-9:
            answers.append(None)
            continue
        _, *rows = reader.execute(ask["sql"].replace(f"FROM {work['name']}", f"FROM main.{work['name']}"))
        if ask["by"]:
            found = {int(value): float(count) for value, count in rows}
            answers.append([found.get(value) for value in range(work["sizes"][ask["by"]])])
        else:
            answers.append([float(rows[0][0])])
    print(json.dumps({"version": version("smartnoise-sql"), "answers": answers}))


if __name__ == "__main__":
    _main()

"""OpenDP with Polars: a compositor that splits its budget evenly over a number of queries known beforehand."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

__all__: list[str] = []


def _main() -> None:
    import polars as pl  # noqa: PLC0415  only this tool's environment has it
    from opendp import prelude  # noqa: PLC0415

    # What it has for Polars is not among the names that it exports by their types.
    dp: Any = prelude
    dp.enable_features("contrib")
    work = json.load(sys.stdin)
    affordable = min(len(work["asks"]), int(work["epsilon"] / work["each"] + 1e-9))
    context = dp.Context.compositor(
        data=pl.read_csv(work["table"]).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=work["each"] * affordable),
        split_evenly_over=affordable,
    )
    answers: list[Any] = []
    for ask in work["asks"]:
        try:
            query: Any = context.query()
            for name, (low, high) in ask["where"].items():
                query = query.filter((pl.col(name) >= low) & (pl.col(name) <= high))
            if not ask["by"]:
                answers.append([query.select(dp.len(signed=True)).release().collect().item()])
                continue
            size = work["sizes"][ask["by"]]
            keys = pl.LazyFrame({ask["by"]: list(range(size))}, schema={ask["by"]: pl.Int64})
            table = query.group_by(ask["by"]).agg(dp.len(signed=True)).with_keys(keys).release().collect()
            found = dict(table.select(ask["by"], "len").iter_rows())
            answers.append([found[value] for value in range(size)])
        except ValueError as error:
            if "exhausted" not in str(error):
                raise
            answers.append(None)
    print(json.dumps({"version": version("opendp"), "answers": answers}))


if __name__ == "__main__":
    _main()

"""diffprivlib: counts and histograms of NumPy arrays, which its budget accountant adds up."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

__all__: list[str] = []


def _main() -> None:
    import numpy as np  # noqa: PLC0415  only this tool's environment has it
    from diffprivlib import BudgetAccountant, tools  # noqa: PLC0415
    from diffprivlib.utils import BudgetError  # noqa: PLC0415

    work = json.load(sys.stdin)
    table = np.genfromtxt(work["table"], delimiter=",", names=True, dtype=np.int64)
    # A hair above, since it adds up in floating point.
    accountant = BudgetAccountant(epsilon=work["epsilon"] * (1 + 1e-9), delta=0)
    answers: list[Any] = []
    for ask in work["asks"]:
        inside = np.ones(len(table), np.bool_)
        for name, (low, high) in ask["where"].items():
            inside &= (table[name] >= low) & (table[name] <= high)
        try:
            if ask["by"]:
                size = work["sizes"][ask["by"]]
                counts, _ = tools.histogram(
                    table[ask["by"]][inside],
                    epsilon=work["each"],
                    bins=size,
                    range=(-0.5, size - 0.5),
                    accountant=accountant,
                )
                answers.append([float(count) for count in counts])
            else:
                answers.append([float(tools.count_nonzero(inside, epsilon=work["each"], accountant=accountant))])
        except BudgetError:
            answers.append(None)
    print(json.dumps({"version": version("diffprivlib"), "answers": answers}))


if __name__ == "__main__":
    _main()

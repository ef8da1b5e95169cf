"""mbi (private-pgm): a distribution over the whole domain that fits noisy answers, by mirror descent.

It measures nothing here.  For each of several draws it is handed noisy answers to queries and their deviations, and
told the number of rows.  A query asks of each attribute for a value, a prefix of values, or all of them.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

__all__: list[str] = []


def _main() -> None:
    import jax  # noqa: PLC0415  only this tool's environment has it

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    from mbi import Domain, LinearMeasurement, estimation  # noqa: PLC0415

    work = json.load(sys.stdin)
    sizes, prefixes = work["sizes"], work["prefixes"]
    names = [f"a{number}" for number in range(len(sizes))]
    # Where a query asks for all values: at the end of a prefix attribute, one behind the last of any other.
    everything = [size - 1 if prefix else size for size, prefix in zip(sizes, prefixes, strict=True)]
    places = tuple(
        np.array([everything[axis] if ask[axis] is None else ask[axis] for ask in work["asks"]])
        for axis in range(len(sizes))
    )
    weight = 1 / np.array(work["deviations"])

    def asked(factor: Any) -> Any:
        values = factor.datavector(flatten=False)
        for axis, prefix in enumerate(prefixes):
            whole = values.sum(axis=axis, keepdims=True)
            values = jnp.cumsum(values, axis=axis) if prefix else jnp.concatenate([values, whole], axis=axis)
        return values[places] * weight

    answers = []
    for drawn in work["draws"]:
        told = LinearMeasurement(np.array(drawn) * weight, tuple(names), 1.0, asked)
        model = estimation.MirrorDescent().estimate(
            Domain(names, sizes), [told], known_total=work["total"], iters=work["iterations"]
        )
        answers.append((np.asarray(asked(model.project(tuple(names)))) / weight).tolist())
    print(json.dumps({"version": version("mbi"), "answers": answers}))


if __name__ == "__main__":
    _main()

"""The demonstration runs through, and its methods stand in the order that theory says."""

from __future__ import annotations

import numpy as np

from parcomp.cli import main
from parcomp.cli.demo_errors import answer_in_four_ways


def test_the_demonstration_leaves_its_pictures(tmp_path, capsys):
    """Errors by four methods among them, in one picture, with their means beside it."""
    assert main(["demo", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    table = said[said.index("200 queries on the census, one budget of μ = 1") :].splitlines()
    assert [line.split()[0] for line in table[2:6]] == ["uniform", "planned", "strategy", "estimate"]
    assert f"{tmp_path / 'errors.png'}" in said
    for name in ("paper", "census", "errors"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_each_method_lowers_the_error():
    """The estimate on every draw, in root mean square; the others by far more than chance."""
    truth, found = answer_in_four_ways(5_000, 3)
    uniform, planned, strategy, estimate = found
    assert all((one.answers - truth == one.errors).all() for one in found)
    assert np.square(estimate.errors).mean() <= np.square(strategy.errors).mean()
    assert (estimate.answers >= 0).all()
    # Expected are 1.6 and 2.1 times; the deviation of each mean is about a twentieth.
    assert uniform.mean_error > 1.1 * planned.mean_error
    assert uniform.mean_error > 1.3 * strategy.mean_error

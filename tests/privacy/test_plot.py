"""Pictures of trade-off functions."""

import pytest

from parcomp.privacy.guarantees import tradeoff_of
from parcomp.privacy.plot import save_tradeoffs
from parcomp.privacy.tradeoff import ApproximateDP, Gaussian, Laplace


def test_a_picture_is_written(tmp_path):
    """A PNG file, also into a directory that is not there yet."""
    path = tmp_path / "pictures" / "f.png"
    save_tradeoffs(
        path, {"Gaussian": Gaussian(1), "Laplace": Laplace(1), "(ε, δ)": ApproximateDP(1, 0.1)}, "three functions"
    )
    assert path.read_bytes().startswith(b"\x89PNG")


def test_guarantees_as_functions():
    """Pure and Gaussian are exact; ρ-zCDP is below the Gaussian it allows, and not by much."""
    assert tradeoff_of("pure", 2) == ApproximateDP(2.0)
    assert tradeoff_of("gdp", 2) == Gaussian(2.0)
    assert tradeoff_of("pure", 1e6)(0.01) == tradeoff_of("zcdp", 1e6)(0.01) == 0
    zcdp = tradeoff_of("zcdp", 0.5)
    assert 0.6 * Gaussian(1.0)(0.05) < zcdp(0.05) < Gaussian(1.0)(0.05)
    assert zcdp.profile(3.0) == pytest.approx(3 * Gaussian(1.0).profile(3.0), rel=0.5)

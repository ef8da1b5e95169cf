"""A bracket that is upside down is no answer."""

import pytest

from parcomp.errors import ParcompError
from parcomp.overlap import Bracket


def test_a_row_above_a_proven_bound_is_an_error():
    assert Bracket(3, 3).exact
    assert not Bracket(3, 4).exact
    with pytest.raises(ParcompError, match="contradicts itself"):
        Bracket(4, 3)

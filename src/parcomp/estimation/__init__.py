"""Estimates: what noisy answers say together about the true ones, for no further cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.estimation.accuracy import *
    from parcomp.estimation.answers_file import *
    from parcomp.estimation.derivation import *
    from parcomp.estimation.estimator import *
    from parcomp.estimation.probability import *

_PLACES = {
    "accuracy": "Means means_of",
    "answers_file": "Answers read_answers read_facts",
    "derivation": "Derivation derive derive_all",
    "estimator": "METHODS Estimate PerAnswer Progress estimate estimate_weighted",
    "probability": "MOST_CERTAIN check_probability",
}
__all__, __getattr__, __dir__ = lazy_exports(__name__, _PLACES)

"""Estimates: what noisy answers say together about the true ones, for no further cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.estimation.accuracy import *
    from parcomp.estimation.answers_file import *
    from parcomp.estimation.derivation import *
    from parcomp.estimation.doubts import *
    from parcomp.estimation.estimator import *
    from parcomp.estimation.probability import *
    from parcomp.estimation.problem import *

_PLACES = {
    "accuracy": "Means means_of",
    "answers_file": "Answers read_answers read_facts",
    "derivation": "Derivation derive derive_all",
    "doubts": "distance_in_noise doubts_of notes_on_time",
    "estimator": "METHODS Estimate PerAnswer Progress estimate estimate_weighted",
    "probability": "MOST_CERTAIN check_probability",
    "problem": "FactsError stated_counts",
}
__all__, __getattr__, __dir__ = lazy_exports(__name__, _PLACES)

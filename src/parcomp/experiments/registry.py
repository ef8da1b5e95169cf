"""All experiments by name: those of the paper first, in its order."""

from __future__ import annotations

from typing import Final

from parcomp.experiments.admission import ADMISSION
from parcomp.experiments.brackets import BRACKETS
from parcomp.experiments.census import CENSUS
from parcomp.experiments.distributions import DISTRIBUTIONS
from parcomp.experiments.experiment import Experiment
from parcomp.experiments.gap import PAIRWISE_GAP
from parcomp.experiments.growth import GROWTH
from parcomp.experiments.limits import QUERY_LIMITS
from parcomp.experiments.noise import PLANNED_NOISE
from parcomp.experiments.peers import PEERS
from parcomp.experiments.table1 import TABLE_1
from parcomp.experiments.table_builder import TABLE_BUILDER
from parcomp.experiments.uniform import CLIQUE_SIZE, DOMAIN_SIZE, FEASIBLE_REGIONS
from parcomp.experiments.whole_census import WHOLE_CENSUS

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Final[dict[str, Experiment]] = {
    experiment.name: experiment
    for experiment in (
        FEASIBLE_REGIONS,
        CLIQUE_SIZE,
        DOMAIN_SIZE,
        QUERY_LIMITS,
        CENSUS,
        DISTRIBUTIONS,
        TABLE_1,
        TABLE_BUILDER,
        PAIRWISE_GAP,
        BRACKETS,
        GROWTH,
        WHOLE_CENSUS,
        PLANNED_NOISE,
        ADMISSION,
        PEERS,
    )
}

"""Measures of privacy loss, what a workload loses, and the trade-off functions of f-DP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.privacy.approximate import *
    from parcomp.privacy.approximate_budget import *
    from parcomp.privacy.clt import *
    from parcomp.privacy.composition import *
    from parcomp.privacy.conversions import *
    from parcomp.privacy.guarantees import *
    from parcomp.privacy.loss import *
    from parcomp.privacy.measures import *
    from parcomp.privacy.mechanisms import *
    from parcomp.privacy.plot import *
    from parcomp.privacy.renyi import *
    from parcomp.privacy.tradeoff import *
    from parcomp.privacy.workload_tradeoff import *

_PLACES = {
    "approximate": "ApproximateLoss approximate_loss",
    "approximate_budget": "ApproximateBudget read_delta read_budget",
    "clt": "CentralLimit central_limit",
    "composition": "Comparison compare lower_convex_envelope parallel_composition tensor tensor_power",
    "conversions": "gdp_delta gdp_epsilon gdp_mu gdp_to_zcdp pure_to_renyi pure_to_zcdp renyi_delta renyi_epsilon "
    "zcdp_delta zcdp_epsilon zcdp_rho zcdp_to_renyi",
    "guarantees": "tradeoff_of",
    "loss": "PrivacyLoss guarantee_in_words neighbor_units privacy_loss",
    "measures": "GDP MEASURES PURE ZCDP Measure MeasureName Neighbours check_rows_per_person find_measure "
    "workload_units",
    "mechanisms": "discrete_gaussian_mu laplace_scale sigma_for_mu sigma_for_rho",
    "plot": "save_tradeoffs",
    "renyi": "ORDERS RenyiLoss renyi_loss",
    "tradeoff": "IDENTITY ApproximateDP DiscreteGaussian Envelope Gaussian Laplace TradeOff discrete_laplace",
    "workload_tradeoff": "WorkloadTradeOff f_gamma",
}
__all__, __getattr__, __dir__ = lazy_exports(__name__, _PLACES)

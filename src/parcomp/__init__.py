"""Parcomp: the most of parallel composition in differential privacy.

What a set of counting queries really costs is its *maximum overlap*: the heaviest subset that one possible row
satisfies.

>>> import parcomp as pc
>>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 119)})
>>> queries = [domain.query(sex="F"), domain.query(sex="M"), domain.query(age=pc.between(20, 39))]
>>> answer = pc.max_overlap(pc.Workload(domain, queries))
>>> answer.upper, answer.exact
(2, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parcomp import errors
from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.certificate import verify
    from parcomp.costs import Cost
    from parcomp.custodian import Custodian
    from parcomp.errors import ParcompError
    from parcomp.estimation import estimate
    from parcomp.graph import chromatic_number, clique_number
    from parcomp.model import Binned, Categorical, Dated, Domain, Integer, Query, Stepped, Workload, between
    from parcomp.overlap import max_overlap
    from parcomp.planning import plan
    from parcomp.privacy import Neighbours, privacy_loss

    __version__: str

__all__ = [
    "Binned",
    "Categorical",
    "Cost",
    "Custodian",
    "Dated",
    "Domain",
    "Integer",
    "Neighbours",
    "ParcompError",
    "Query",
    "Stepped",
    "Workload",
    "__version__",
    "between",
    "chromatic_number",
    "clique_number",
    "errors",
    "estimate",
    "max_overlap",
    "plan",
    "privacy_loss",
    "verify",
]

_, _export, __dir__ = lazy_exports(
    __name__,
    {
        "certificate": "verify",
        "costs": "Cost",
        "custodian": "Custodian",
        "errors": "ParcompError",
        "estimation": "estimate",
        "graph": "chromatic_number clique_number",
        "model": "Binned Categorical Dated Domain Integer Query Stepped Workload between",
        "overlap": "max_overlap",
        "planning": "plan",
        "privacy": "Neighbours privacy_loss",
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  few ask, and it reads files

        return version("parcomp")
    return _export(name)

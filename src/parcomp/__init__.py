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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parcomp.costs import Cost
from parcomp.errors import ParcompError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.notation import between
from parcomp.model.query import Query
from parcomp.model.workload import Workload
from parcomp.model.workload_file import register_workload_format

if TYPE_CHECKING:
    from parcomp.certificate import verify
    from parcomp.custodian import Custodian
    from parcomp.graph import chromatic_number, clique_number
    from parcomp.overlap import max_overlap
    from parcomp.planning.plan import plan
    from parcomp.privacy.loss import privacy_loss

__all__ = [
    "Binned",
    "Categorical",
    "Cost",
    "Custodian",
    "Domain",
    "Integer",
    "ParcompError",
    "Query",
    "Workload",
    "between",
    "chromatic_number",
    "clique_number",
    "max_overlap",
    "plan",
    "privacy_loss",
    "verify",
]

# These pull in numba, and the custodian databases, which take longer to import than most workloads take to solve.
_LAZY = {
    "Custodian": "parcomp.custodian",
    "chromatic_number": "parcomp.graph",
    "clique_number": "parcomp.graph",
    "max_overlap": "parcomp.overlap",
    "plan": "parcomp.planning.plan",
    "privacy_loss": "parcomp.privacy.loss",
    "verify": "parcomp.certificate",
}

register_workload_format(".sql", "parcomp.sql.workload_file:load_sql_workload")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})

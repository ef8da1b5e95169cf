"""Domains, predicates, queries, workloads and their files: what is asked, free of privacy and of data.

What kernels read (:mod:`parcomp.model.compile` and :mod:`parcomp.model.compiled`) is left out: the checker of
certificates imports this package and shares nothing with the solvers.
"""

from parcomp.model.attribute import Attribute, Binned, Categorical, Integer, Value
from parcomp.model.condition import MAX_ALTERNATIVES, Condition
from parcomp.model.domain import Domain
from parcomp.model.keyed_file import KeyedFile
from parcomp.model.notation import Between, between, read_predicate, write_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates, PredicateTable
from parcomp.model.query import Query
from parcomp.model.statement import MAX_GROUPS, Aggregate, Kind, Statement, groups_touched
from parcomp.model.text_file import is_unicode, parse_json, read_decimal, read_text
from parcomp.model.workload import Workload, book_each
from parcomp.model.workload_builder import QueryId, WorkloadBuilder

__all__ = [
    "MAX_ALTERNATIVES",
    "MAX_GROUPS",
    "Aggregate",
    "Attribute",
    "Between",
    "Binned",
    "Categorical",
    "Condition",
    "Domain",
    "Integer",
    "InternedPredicates",
    "KeyedFile",
    "Kind",
    "Predicate",
    "PredicateTable",
    "Query",
    "QueryId",
    "Statement",
    "Value",
    "Workload",
    "WorkloadBuilder",
    "between",
    "book_each",
    "groups_touched",
    "is_unicode",
    "parse_json",
    "read_decimal",
    "read_predicate",
    "read_text",
    "write_predicate",
]

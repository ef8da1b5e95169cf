"""Domains, predicates, queries, workloads and their files: what is asked, free of privacy and of data.

What kernels read (:mod:`parcomp.model.compile` and :mod:`parcomp.model.compiled`) is left out: the checker of
certificates imports this package and shares nothing with the solvers.
"""

from parcomp.model.arithmetic import OPERATIONS, apply, as_value, rounded
from parcomp.model.attribute import (
    Attribute,
    Binned,
    Categorical,
    Dated,
    Integer,
    Level,
    Moment,
    Scale,
    Stepped,
    Unit,
    Value,
)
from parcomp.model.bands import Bands
from parcomp.model.condition import MAX_ALTERNATIVES, Condition
from parcomp.model.counts import hull_of, over_codes, queries_of, why_not_counted
from parcomp.model.domain import Domain
from parcomp.model.entries import entries_for
from parcomp.model.extension import check_extension, lift
from parcomp.model.keyed_file import KeyedFile
from parcomp.model.notation import Between, between, read_predicate, write_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.predicate_table import InternedPredicates, PredicateTable
from parcomp.model.query import Query
from parcomp.model.selection import (
    Column,
    Constant,
    Expression,
    Label,
    Mapped,
    Operation,
    Ordering,
    Selection,
    is_noisy,
    item_name,
    items_in,
    nodes_of,
)
from parcomp.model.statement import (
    FINEST_PLACE,
    MAX_GROUPS,
    MAX_ITEMS,
    Aggregate,
    AggregateKind,
    Grouping,
    GroupKey,
    Item,
    Kind,
    Statement,
    groups_touched,
)
from parcomp.model.text_file import is_unicode, parse_json, read_decimal, read_text
from parcomp.model.workload import Workload, book_each
from parcomp.model.workload_builder import QueryId, WorkloadBuilder

__all__ = [
    "FINEST_PLACE",
    "MAX_ALTERNATIVES",
    "MAX_GROUPS",
    "MAX_ITEMS",
    "OPERATIONS",
    "Aggregate",
    "AggregateKind",
    "Attribute",
    "Bands",
    "Between",
    "Binned",
    "Categorical",
    "Column",
    "Condition",
    "Constant",
    "Dated",
    "Domain",
    "Expression",
    "GroupKey",
    "Grouping",
    "Integer",
    "InternedPredicates",
    "Item",
    "KeyedFile",
    "Kind",
    "Label",
    "Level",
    "Mapped",
    "Moment",
    "Operation",
    "Ordering",
    "Predicate",
    "PredicateTable",
    "Query",
    "QueryId",
    "Scale",
    "Selection",
    "Statement",
    "Stepped",
    "Unit",
    "Value",
    "Workload",
    "WorkloadBuilder",
    "apply",
    "as_value",
    "between",
    "book_each",
    "check_extension",
    "entries_for",
    "groups_touched",
    "hull_of",
    "is_noisy",
    "is_unicode",
    "item_name",
    "items_in",
    "lift",
    "nodes_of",
    "over_codes",
    "parse_json",
    "queries_of",
    "read_decimal",
    "read_predicate",
    "read_text",
    "rounded",
    "why_not_counted",
    "write_predicate",
]

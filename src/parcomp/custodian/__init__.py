"""The custodian: SQL in, sound noise out, and a ledger of what was spent."""

from parcomp.custodian.access import Access, NewKey
from parcomp.custodian.answer import Answer, BatchQuote, Group, Quote
from parcomp.custodian.balance import Balance, Share
from parcomp.custodian.batch import Batch
from parcomp.custodian.budget_map import BudgetMap, budget_map
from parcomp.custodian.charge_graph import ChargeGraph, charge_graph
from parcomp.custodian.custodian import Custodian
from parcomp.custodian.effort import waited_for
from parcomp.custodian.load import append_load, codes_problem, load_table
from parcomp.custodian.presentation import longest_notes
from parcomp.custodian.settings import Settings
from parcomp.custodian.together import Ask, ask_together, read_ask
from parcomp.figures import AnswerColumn, EstimatedCount, Estimates, Figure, interval_text

__all__ = [
    "Access",
    "Answer",
    "AnswerColumn",
    "Ask",
    "Balance",
    "Batch",
    "BatchQuote",
    "BudgetMap",
    "ChargeGraph",
    "Custodian",
    "EstimatedCount",
    "Estimates",
    "Figure",
    "Group",
    "NewKey",
    "Quote",
    "Settings",
    "Share",
    "append_load",
    "ask_together",
    "budget_map",
    "charge_graph",
    "codes_problem",
    "interval_text",
    "load_table",
    "longest_notes",
    "read_ask",
    "waited_for",
]

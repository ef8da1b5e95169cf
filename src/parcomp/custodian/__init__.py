"""The custodian: SQL in, sound noise out, and a ledger of what was spent."""

from parcomp.custodian.answer import Answer, BatchQuote, Group, Quote
from parcomp.custodian.custodian import Balance, Custodian
from parcomp.custodian.settings import Settings

__all__ = ["Answer", "Balance", "BatchQuote", "Custodian", "Group", "Quote", "Settings"]

"""The durable record of charges: append-only, hash-chained, in integer units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports
from parcomp.ledger.access import AccessKey, Role, find_key, key_digest, new_key
from parcomp.ledger.binding import Binding, domain_text, read_domain_text
from parcomp.ledger.charge import Charge, Entry, chain, chain_problems, utc_now
from parcomp.ledger.ledger import Ledger
from parcomp.ledger.load import Load
from parcomp.ledger.mark import MarkFile, UnwritableMarkError, open_marked_ledger, rolled_back
from parcomp.ledger.queries import ChargedQueries
from parcomp.ledger.records import Request, Transaction
from parcomp.ledger.seal import is_sealed, seal
from parcomp.ledger.store import create_ledger, open_ledger
from parcomp.ledger.strategy import StrategyRecord, matrix_digest, packed, touched, unpacked

if TYPE_CHECKING:
    from parcomp.ledger.audit import Audit, audit_charges

__all__ = [
    "AccessKey",
    "Audit",
    "Binding",
    "Charge",
    "ChargedQueries",
    "Entry",
    "Ledger",
    "Load",
    "MarkFile",
    "Request",
    "Role",
    "StrategyRecord",
    "Transaction",
    "UnwritableMarkError",
    "audit_charges",
    "chain",
    "chain_problems",
    "create_ledger",
    "domain_text",
    "find_key",
    "is_sealed",
    "key_digest",
    "matrix_digest",
    "new_key",
    "open_ledger",
    "open_marked_ledger",
    "packed",
    "read_domain_text",
    "rolled_back",
    "seal",
    "touched",
    "unpacked",
    "utc_now",
]

_, __getattr__, __dir__ = lazy_exports(__name__, {"audit": "Audit audit_charges"})

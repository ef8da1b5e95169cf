"""A process that charges a ledger until it has made some transactions, or is killed.

Each transaction appends one to three charges that say which number they expect to get, found by reading the ledger.
What is committed is told, a line each; what is being written is not.
"""

from __future__ import annotations

import sys
from typing import TextIO

from parcomp.ledger import Request, open_ledger
from tests.ledger.entries import BINDING, entry


def write(url: str, name: str, transactions: int, told: TextIO) -> None:
    ledger = open_ledger(url, BINDING)
    print("ready", file=told, flush=True)
    for turn in range(transactions):
        with ledger.transaction() as transaction:
            before = len(transaction.charges())
            expected = range(before + 1, before + 2 + turn % 3)
            batch = f"{name}-{turn}"
            charges = transaction.append([entry(1, n, name, str(n), batch) for n in expected])
            transaction.remember(Request(name, batch, "", tuple(charge.digest for charge in charges)))
        print("charged", batch, *(charge.number for charge in charges), file=told, flush=True)
        answer = ledger.store_answer(charges[0].digest, f"answer of {batch}")
        print("answered", charges[0].digest, answer, file=told, flush=True)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.stdout)

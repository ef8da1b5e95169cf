"""The durable ledger: what was charged, in an append-only chain bound to one dataset."""

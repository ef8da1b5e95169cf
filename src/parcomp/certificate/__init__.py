"""The checker of certificates, which knows workloads and nothing of how they are solved."""

from parcomp.certificate.checker import load_certificate, verify, workload_digest
from parcomp.certificate.listing import Column, UnlistableError, list_rows

__all__ = ["Column", "UnlistableError", "list_rows", "load_certificate", "verify", "workload_digest"]

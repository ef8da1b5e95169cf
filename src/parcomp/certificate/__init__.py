"""The checker of certificates, which knows workloads and nothing of how they are solved."""

from parcomp.certificate.checker import load_certificate, verify, workload_digest

__all__ = ["load_certificate", "verify", "workload_digest"]

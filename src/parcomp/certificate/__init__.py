"""The checker of certificates, which knows workloads and nothing of how they are solved."""

from parcomp.certificate.checker import verify, workload_digest

__all__ = ["verify", "workload_digest"]

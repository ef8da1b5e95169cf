"""What operators see: logs and metrics that tell how the service does, and nothing of what is asked or answered.

A line of the log or a label of a metric holds a route's pattern, a method, a status, a name of a key, a kind of
problem and times.  It never holds a path or a body as it was sent, a key, SQL, a count or noise: both are read by more
people than the answers are.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

__all__ = ["Metrics", "configure_logs", "logger"]

logger: Any = structlog.get_logger("parcomp.service")

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TOGETHER = "PROMETHEUS_MULTIPROC_DIR"
"""The directory by which the workers of a server tell each other their metrics."""


def configure_logs() -> None:
    """One JSON object a line on standard error, for this service and for the server below it."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.EventRenamer("event"), structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=shared,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


class Metrics:
    """Counters and times of requests, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self.requests = Counter(
            "parcomp_requests_total", "Requests by route and status", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "parcomp_request_seconds",
            "Time from a request to its response",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.problems = Counter(
            "parcomp_problems_total", "Problems by the end of their type", ["kind"], registry=registry
        )
        self.pending = Gauge(
            "parcomp_pending", "Requests that are worked on or wait", registry=registry, multiprocess_mode="livesum"
        )

    def counted(self, kind: str) -> int:
        """How many problems of a kind there were since the server was started."""
        found = self._all().get_sample_value("parcomp_problems_total", {"kind": kind})
        return int(found or 0)

    def text(self) -> tuple[bytes, str]:
        """What Prometheus reads, and its media type; of all workers where there are several."""
        return generate_latest(self._all()), CONTENT_TYPE_LATEST

    def _all(self) -> CollectorRegistry:
        """What this worker counted, and where there are several what all of them did."""
        if not os.environ.get(_TOGETHER):
            return self._registry
        _forget_dead_workers(Path(os.environ[_TOGETHER]))
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return registry


def _forget_dead_workers(directory: Path) -> None:
    """Leave out what workers that were killed had in work; what they have counted stays."""
    for file in directory.glob("gauge_live*_*.db"):
        process = int(re.sub(r"\D", "", file.stem.rpartition("_")[2]) or 0)
        if process and not Path(f"/proc/{process}").exists() and Path("/proc/self").exists():
            mark_process_dead(process, str(directory))  # type: ignore[no-untyped-call]

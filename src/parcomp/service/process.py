"""Processes that serve: one, or several workers on one socket and one ledger, which stop without losing an answer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from parcomp.custodian import Access, Settings
from parcomp.errors import SettingsError
from parcomp.service.app import create_app
from parcomp.service.watch import configure_logs

__all__ = ["SERVER_OPTIONS", "serve", "worker_app"]

SERVER_OPTIONS: Final[dict[str, Any]] = {
    # Its lines hold paths as they were sent; requests are logged by :mod:`parcomp.service.edge`.
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "lifespan": "on",
    # Longer than proxies and clients keep a connection that nobody uses, so that it is they who close it: a request on
    # a connection that the server is just closing would be lost.
    "timeout_keep_alive": 75,
}

_SETTINGS = "PARCOMP_SERVED_SETTINGS"
_METRICS = "PROMETHEUS_MULTIPROC_DIR"


def worker_app() -> FastAPI:
    """The application of a worker, whose settings file the environment names."""
    configure_logs()
    return create_app(os.environ[_SETTINGS])


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until the process is told to stop; ``announce`` is told the address once it is taken.

    On SIGTERM or SIGINT no further connection is taken, and what was asked is answered first.
    """
    settings = Settings.load(path)
    # What is wrong with the ledger is better said here than by every worker.
    Access(settings).close()
    os.environ[_SETTINGS] = str(Path(path).resolve())
    config = uvicorn.Config(
        "parcomp.service.process:worker_app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        **SERVER_OPTIONS,
        timeout_graceful_shutdown=int(settings.serving.deadline_seconds) + 5,
        timeout_worker_healthcheck=30,
    )
    configure_logs()
    try:
        socket = config.bind_socket()
    except SystemExit:
        raise SettingsError(f"cannot listen on {host} port {port}; is another server there? Choose --port") from None
    shown_port = socket.getsockname()[1]
    shown_host = f"[{host}]" if ":" in host else host
    announce(f"http://{shown_host}:{shown_port}")
    if workers == 1:
        uvicorn.Server(config).run(sockets=[socket])
        return
    with tempfile.TemporaryDirectory(prefix="parcomp-metrics-") as directory:
        os.environ[_METRICS] = directory
        Multiprocess(config, [socket]).run()

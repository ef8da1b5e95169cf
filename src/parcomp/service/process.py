"""Processes that serve: one, or several workers on one socket and one ledger, which stop without losing an answer."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from parcomp.custodian import Access, Custodian, Settings
from parcomp.errors import ServiceError, SettingsError
from parcomp.service.app import create_app
from parcomp.service.watch import configure_logs
from parcomp.service.wire import Wire

__all__ = ["SERVER_OPTIONS", "listen", "serve", "worker_app"]

SERVER_OPTIONS: Final[dict[str, Any]] = {
    # Its lines hold paths as they were sent; requests are logged by :mod:`parcomp.service.edge`.
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "lifespan": "on",
    # By the parser that bounds headers: the other one takes as many as are sent.
    "http": Wire,
    "ws": "none",
    # Longer than proxies and clients keep a connection that nobody uses, so that it is they who close it: a request on
    # a connection that the server is just closing would be lost.
    "timeout_keep_alive": 75,
}

_SETTINGS = "PARCOMP_SERVED_SETTINGS"
_WORKERS = "PARCOMP_SERVED_WORKERS"
_HEAD = "PARCOMP_SERVED_HEAD"
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_NOT_STARTED = "the server did not start; the lines before this one say why"


def worker_app() -> FastAPI:
    """The application of a worker, whose settings file the environment names."""
    configure_logs()
    return create_app(os.environ[_SETTINGS], workers=int(os.environ[_WORKERS]), head=os.environ[_HEAD] or None)


def listen(host: str = "127.0.0.1", port: int = 8000) -> socket.socket:
    """A socket that listens; :class:`~parcomp.errors.SettingsError` if the port is taken.

    It is taken before anything else is done, so that a second server changes nothing of what the first one relies on.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        taken = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port} ({error.strerror or error}); stop the server that is there, or "
            "choose another --port"
        ) from None
    taken.set_inheritable(True)
    return taken


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    head: str | None = None,
    announce: Callable[[str], None] = print,
    listening: socket.socket | None = None,
) -> None:
    """Serve until the process is told to stop; ``announce`` is told the address once all is ready to be served.

    ``head`` is a digest of the ledger's last charge as it was noted elsewhere, which the ledger must still hold.
    ``listening`` is a socket that was made before, in place of ``host`` and ``port``.  On SIGTERM or SIGINT no further
    connection is taken, and what was asked is answered first.
    """
    settings = Settings.load(path)
    with closing(listening or listen(host, port)) as taken:
        # What is wrong with the ledger, its mark, its keys or the table is said here, once, and not by every worker.
        custodian = Custodian.open(path, head=head)
        try:
            custodian.ready()
            with Access(settings) as access:
                access.keys()
        except BaseException:
            custodian.close()
            raise
        os.environ |= {_SETTINGS: str(Path(path).resolve()), _WORKERS: str(workers), _HEAD: head or ""}
        configure_logs()
        shown_host, shown_port = taken.getsockname()[:2]
        announce(f"http://{f'[{shown_host}]' if ':' in shown_host else shown_host}:{shown_port}")
        if workers == 1:
            _serve_alone(_config(create_app(path, custodian), settings, workers), taken)
        else:
            custodian.close()
            _serve_together(_config("parcomp.service.process:worker_app", settings, workers), taken)


def _config(app: FastAPI | str, settings: Settings, workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=workers,
        **SERVER_OPTIONS,
        # Whose word is taken for where a request comes from, and whether it came by TLS.
        forwarded_allow_ips=["127.0.0.1", *settings.serving.proxies],
        timeout_graceful_shutdown=int(settings.serving.deadline_seconds) + 5,
        timeout_worker_healthcheck=30,
    )


def _serve_alone(config: uvicorn.Config, taken: socket.socket) -> None:
    server = uvicorn.Server(config)
    try:
        server.run(sockets=[taken])
    except SystemExit:
        if not server.started:
            raise ServiceError(_NOT_STARTED, status=0) from None
        raise


class _Workers(Multiprocess):
    """The workers of a server, and who starts them."""

    def terminate_all(self) -> None:
        """Tell all workers to end, once nobody is let in any more whom none of them would serve."""
        for taken in self.sockets:
            taken.close()
        super().terminate_all()


def _serve_together(config: uvicorn.Config, taken: socket.socket) -> None:
    with tempfile.TemporaryDirectory(prefix="parcomp-metrics-") as directory:
        os.environ[_METRICS] = directory
        workers = _Workers(config, [taken])
        workers.run()
        if any(one.exitcode == STARTUP_FAILURE for one in workers.processes):
            raise ServiceError(_NOT_STARTED, status=0)

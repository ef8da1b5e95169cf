"""Servers that kill themselves while they answer, each forked from a process that has loaded everything.

Started by ``test_served_kills.py`` with a settings file.  The first line on standard output is the port, on which this
process listens and a child serves.  Each line on standard input is the number of the call, into the code that orders,
charges, counts and adds noise, at which the next child kills itself, 0 for never; ``stop`` ends a child that lives.
The answer to a line is the number of calls that the child before has made, or ``-`` if it was killed.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from types import FrameType

import uvicorn

from parcomp.service import create_app
from parcomp.service.process import SERVER_OPTIONS
from parcomp.service.watch import configure_logs
from tests.system.victims import WATCHED


def main(path: str) -> None:
    """Serve until standard input ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.set_inheritable(True)
    configure_logs()
    _warm_up(path)
    print(listening.getsockname()[1], flush=True)
    for line in sys.stdin:
        at = int(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _serve(path, listening, at, writing)
            os._exit(0)
        os.close(writing)
        for order in sys.stdin:
            if order.strip() == "stop":
                os.kill(child, signal.SIGTERM)
            break
        os.waitpid(child, 0)
        with os.fdopen(reading) as pipe:
            print(pipe.read().strip() or "-", flush=True)


def _warm_up(path: str) -> None:
    """Load what answering needs; whatever has threads or connections is opened by each child itself."""
    for module in ("parcomp.data.codes.duckdb_codes", "parcomp.noise.sampler", "parcomp.sql.parse"):
        __import__(module)
    create_app(path).openapi()


def _serve(path: str, listening: socket.socket, at: int, pipe: int) -> None:
    calls = 0
    lock = threading.Lock()

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if server.started and event in ("call", "return") and any(part in frame.f_code.co_filename for part in WATCHED):
            with lock:
                calls += 1
                if calls == at:
                    os.kill(os.getpid(), signal.SIGKILL)

    server = uvicorn.Server(uvicorn.Config(create_app(path), **SERVER_OPTIONS))
    # Once it has stopped, the server raises the signal again that it was stopped by.
    signal.signal(signal.SIGTERM, lambda *_: None)
    # The threads that work for requests are not there yet.
    threading.setprofile(watch)
    server.run(sockets=[listening])
    os.write(pipe, f"{calls}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1])

"""A service on a port of this machine, in a thread of the test, and keys to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

import parcomp.noise
from parcomp.custodian import Access, Settings
from parcomp.noise import sampler
from parcomp.service import create_app
from parcomp.service.process import SERVER_OPTIONS
from tests.custodians import write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"
EVERYONE = "SELECT COUNT(*) FROM people"


@dataclass
class Served:
    """A running service: its address, its settings file, and keys by name."""

    url: str
    path: Path
    keys: dict[str, str] = field(default_factory=dict)
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60))
    stop: Callable[[], None] = lambda: None
    """Tells the server to end."""

    def call(
        self, method: str, path: str, who: str | None = "anna", headers: Mapping[str, str] | None = None, **sent: Any
    ) -> httpx.Response:
        """Send a request with the key of a name, or without one."""
        signed = {} if who is None else {"Authorization": f"Bearer {self.keys.get(who, who)}"}
        return self.http.request(method, self.url + path, headers={**signed, **(headers or {})}, **sent)

    def get(self, path: str, who: str | None = "anna", **sent: Any) -> httpx.Response:
        return self.call("GET", path, who, **sent)

    def ask(self, sql: str, epsilon: Any = "0.1", who: str | None = "anna", key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.call("POST", "/v1/answers", who, headers, json={"sql": sql, "epsilon": epsilon})

    def charges(self) -> list[dict[str, Any]]:
        return self.get("/v1/ledger", "boss").json()["charges"]


def add_keys(path: Path, **roles: str) -> dict[str, str]:
    """Keys for names, each with its role."""
    with Access(Settings.load(path)) as access:
        return {name: access.add(name, role).key for name, role in roles.items()}


@contextmanager
def serving(path: Path, **roles: str) -> Iterator[Served]:
    """The service of a settings file while the context lasts."""
    keys = add_keys(path, **roles)
    config = uvicorn.Config(create_app(path), port=0, **SERVER_OPTIONS)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        served = Served(f"http://127.0.0.1:{port}", path, keys, stop=lambda: setattr(server, "should_exit", True))
        with served.http:
            yield served
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def people(directory: Path, service: str = "", **settings: Any) -> Iterator[Served]:
    """A service on the people of :mod:`tests.custodians`: analysts anna and ben, custodian boss."""
    settings.setdefault("quotas", {"anna": "0.5", "ben": "0.8"})
    path = write_custodian(directory, **settings)
    if service:
        with path.open("a") as file:
            file.write(f"\n[service]\n{service}\n")
    with serving(path, anna="analyst", ben="analyst", boss="custodian") as served:
        yield served


def freeze_noise(monkeypatch: pytest.MonkeyPatch, noise: int) -> None:
    """The same noise whatever the number is."""
    monkeypatch.setattr(sampler, "add_noise", lambda mechanism, numbers: [number + noise for number in numbers])
    # Its exports are set when they are first asked for.
    monkeypatch.setattr(parcomp.noise, "add_noise", sampler.add_noise, raising=False)


def seen_from_outside(response: httpx.Response) -> tuple[int, dict[str, str], int]:
    """What somebody sees who cannot read a body: all but times and what is drawn at random."""
    hidden = ("date", "x-request-id", "set-cookie")
    headers = {name: value for name, value in response.headers.items() if name not in hidden}
    return response.status_code, headers, len(response.content)

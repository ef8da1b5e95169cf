"""Connections before they are requests: what is no HTTP, who is slow, who is one too many, and who stays to the end."""

from __future__ import annotations

import json
import socket
import time
from urllib.parse import urlsplit

import pytest

from parcomp.service import wire
from tests.service.served import Served, people

SECONDS = 15


def connect(served: Served) -> socket.socket:
    place = urlsplit(served.url)
    return socket.create_connection((place.hostname, place.port), timeout=SECONDS)


def read_all(connection: socket.socket) -> bytes:
    """Everything up to the end; a reset is an error."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"G\xc3\x9cT / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/answers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 2**21 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["garbage", "no host", "no method", "no chunk", "long"],
)
def test_what_is_no_http_gets_a_problem_and_no_reset(shared: Served, sent):
    with connect(shared) as connection:
        connection.sendall(sent)
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert b"content-security-policy: default-src 'none'" in head
    told = json.loads(body)
    assert (told["status"], told["type"].rpartition(":")[2]) == (400, "request")


def test_methods_that_nobody_knows_are_405_where_there_is_something(shared: Served):
    for method, path, status in (("BREW", "/healthz", 405), ("brew", "/v1/domain", 405), ("BREW", "/nothing", 404)):
        response = shared.call(method, path)
        assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")


def test_a_socket_for_the_web_is_a_request_like_others(shared: Served):
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "x"}
    assert shared.call("GET", "/healthz", None, wanted).json() == {"status": "ok"}


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["at first", "after another"])
def test_a_head_that_comes_bit_by_bit_is_cut_off(shared: Served, monkeypatch, first):
    monkeypatch.setattr(wire, "_HEAD_SECONDS", 0.6)
    with connect(shared) as connection:
        connection.sendall(first)
        if first:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        began, sent = time.monotonic(), 0
        connection.settimeout(0.05)
        while True:
            try:
                connection.sendall(b"G" if not sent else b"E")
                sent += 1
                if not connection.recv(1):
                    break
            except TimeoutError:
                pass
            except OSError:
                break
            assert time.monotonic() - began < SECONDS
    assert sent > 3


def test_a_connection_that_waits_for_its_answer_is_not_slow(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "_HEAD_SECONDS", 0.2)
    with people(tmp_path / "delayed", service='answer_delay = "0.8"') as served:
        assert served.ask("SELECT COUNT(*) FROM people").status_code == 200
        time.sleep(0.5)
        # Nor is one that is kept for the next request.
        assert served.ask("SELECT COUNT(*) FROM people").status_code == 200


def test_one_too_many_is_told_to_come_again(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "_MOST_CONNECTIONS", 2)
    with people(tmp_path / "crowded") as served:
        with connect(served), connect(served):
            time.sleep(0.2)
            refused = served.get("/healthz", None)
            assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (503, "busy")
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.headers["content-security-policy"]
        time.sleep(0.2)
        assert served.get("/healthz", None).status_code == 200


def test_who_sends_a_request_while_the_server_ends_is_answered(tmp_path):
    """On a connection that waited for its next request, which is then the last."""
    with people(tmp_path / "ended") as served, connect(served) as kept, connect(served) as unused:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        kept.sendall(request)
        assert b"connection: close" not in kept.recv(65536).lower()
        served.stop()
        time.sleep(0.4)
        kept.sendall(request)
        answered = read_all(kept)
        assert answered.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in answered.lower()
        assert read_all(unused) == b""

"""Connections before they are requests: what is no HTTP, who is slow, who is one too many, and who stays to the end."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
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


HOST = b"Host: x\r\n"
CODED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (
            b"POST /v1/quotes HTTP/1.1\r\n" + HOST + CODED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
            "both a Content-Length",
        ),
        (b"POST /v1/quotes HTTP/1.0\r\n" + HOST + CODED + b"\r\n0\r\n\r\n", "HTTP/1.0"),
        (b"GET /healthz HTTP/1.1\nHost: x\n\n", "line feed"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\n\r\n", "line feed"),
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-A: b\r\n c\r\n\r\n", "second line"),
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n", "65,536 bytes"),
    ],
    ids=["length and coding", "coding in 1.0", "bare", "bare once", "folded", "long"],
)
def test_a_head_that_could_be_read_in_two_ways_ends_the_connection(shared: Served, sent, why):
    """What follows it, which may be a body to others, is not taken for a request; nor after one that was good."""
    good = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for before in (b"", good):
        with connect(shared) as connection:
            connection.sendall(before + sent + good)
            answered = read_all(connection)
        assert answered.count(b"HTTP/1.1 ") == 1 + bool(before)
        head, _, body = answered[answered.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in head.lower()
        assert why in json.loads(body)["detail"]


def test_a_head_may_be_as_long_as_it_may(shared: Served):
    for room, status in ((0, b"200"), (1, b"400")):
        start, end = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\nX-A: ", b"\r\n\r\n"
        with connect(shared) as connection:
            connection.sendall(start + b"a" * (2**16 - len(start) - len(end) + room) + end)
            assert read_all(connection).startswith(b"HTTP/1.1 " + status)


def test_who_ends_the_own_side_is_answered(tmp_path):
    with people(tmp_path / "half", service='answer_delay = "0.3"') as served:
        body = json.dumps({"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1"}).encode()
        head = f"Authorization: Bearer {served.keys['anna']}\r\nContent-Type: application/json\r\n".encode()
        request = b"POST /v1/answers HTTP/1.1\r\n" + HOST + head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        for times in (1, 2):
            with connect(served) as connection:
                connection.sendall(request * times)
                connection.shutdown(socket.SHUT_WR)
                assert read_all(connection).count(b"HTTP/1.1 200 ") == times
        with connect(served) as connection:
            connection.sendall(request[:-1])
            connection.shutdown(socket.SHUT_WR)
            assert read_all(connection) == b""


def test_who_does_not_read_is_cut_off(shared: Served, monkeypatch):
    """Whether or not the connection is to be closed after the answer, which would wait for its last byte."""
    monkeypatch.setattr(wire, "_WRITE_SECONDS", 0.3)
    for last in (b"", b"Connection: close\r\n"):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            place = urlsplit(shared.url)
            connection.connect((place.hostname, place.port))
            connection.settimeout(SECONDS)
            # The documents are longer than what both sides hold of them.
            request = b"GET /openapi.json HTTP/1.1\r\n" + HOST
            connection.sendall((request + b"\r\n") * 400 + request + last + b"\r\n")
            time.sleep(2)
            read = b""
            with suppress(ConnectionResetError):
                read = read_all(connection)
            assert read.count(b"HTTP/1.1 200 ") < 401

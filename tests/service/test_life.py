"""What happens to a service while it runs: its table is loaded anew, its ledger goes away, its settings are wrong."""

from __future__ import annotations

import sqlite3
import time

import pytest

from parcomp.custodian import Settings, load_table
from parcomp.errors import FileError, MissingLedgerError
from parcomp.service import desk, serve
from tests.custodians import write_custodian
from tests.service.served import EVERYONE, MEN, WOMEN, people


def test_a_table_that_is_loaded_anew_is_opened_again(tmp_path):
    with people(tmp_path / "grown") as served:
        before = served.ask(WOMEN).json()
        with (served.path.parent / "people.csv").open("a", newline="") as file:
            file.write("F,3\r\n" * 500)
        load_table(Settings.load(served.path))
        statuses = []
        for _ in range(20):
            response = served.ask(WOMEN, "0.2")
            statuses.append(response.status_code)
            if response.status_code == 200:
                break
            assert response.headers["retry-after"]
            time.sleep(0.2)
        assert statuses[-1] == 200
        assert set(statuses[:-1]) <= {503}
        # Not the answer that was bought before: there are five hundred women more.
        assert response.json()["value"] > before["value"] + 250
        assert served.get("/readyz", None).status_code == 200


def test_without_its_ledger_it_is_not_ready_and_takes_no_key(tmp_path):
    """The file is moved away under the running service: nothing is charged to what is left of it."""
    with people(tmp_path / "lost") as served:
        assert served.ask(WOMEN).status_code == 200
        ledger = served.path.parent / "ledger.db"
        ledger.rename(ledger.with_suffix(".away"))
        refused = served.ask(EVERYONE)
        assert refused.status_code == 503
        assert "ledger.db" not in refused.text
        ledger.with_suffix(".away").rename(ledger)


def copy(source, target):
    with sqlite3.connect(source) as read, sqlite3.connect(target) as written:
        read.backup(written)
    read.close()
    written.close()


LOOKS = (
    "/v1/budget",
    "/v1/ledger",
    "/v1/graph",
    "/v1/budget/map?x=sex&y=age",
    "/console/charges",
    "/console/charges/1",
    "/console/charges/1/reason",
    "/console/graph",
    "/console/overview",
    "/console/bracket",
)


@pytest.mark.parametrize("marked", [True, False])
def test_a_ledger_that_is_rolled_back_is_neither_shown_nor_charged(tmp_path, monkeypatch, marked):
    """Where its mark is deleted too, the service remembers what it has seen, and does not open the older copy."""
    monkeypatch.setattr(desk, "_REOPEN_SECONDS", 0.0)
    with people(tmp_path / "back") as served:
        ledger, older = served.path.parent / "ledger.db", tmp_path / "older.db"
        assert served.ask(WOMEN, "0.1").status_code == 200
        copy(ledger, older)
        assert served.ask(MEN, "0.4").status_code == 200
        copy(older, ledger)
        if not marked:
            (served.path.parent / "custodian.mark").unlink()
        for _ in range(2):
            assert served.ask(WOMEN, "0.3").status_code == 503
            assert served.ask(MEN, "0.4").status_code == 503
            for path in LOOKS:
                assert served.get(path, "boss").status_code == 503, path
            assert served.call("POST", "/console/audits", "boss", json={}).status_code == 503
            assert served.get("/console/answers", "anna").status_code == 503
            assert served.get("/v1/estimates", "anna").status_code == 503
            assert served.get("/readyz", None).status_code == 503
        assert (served.path.parent / "custodian.mark").exists() == marked


def test_it_does_not_start_without_a_ledger_or_settings(tmp_path):
    path = write_custodian(tmp_path, init=False)
    with pytest.raises(MissingLedgerError):
        serve(path, port=0)
    for setting in (
        'answer_delay = "x"',
        "answer_delay = 1",
        "threads = 0",
        "color = 1",
        'proxies = "10.0.0.5"',
        'proxies = ["*"]',
        'proxies = ["0.0.0.0/0"]',
        'proxies = ["proxy.example.org"]',
        'deadline = "0.1"\nanswer_delay = "1"',
    ):
        wrong = path.with_name("wrong.toml")
        wrong.write_text(path.read_text() + f"\n[service]\n{setting}\n")
        with pytest.raises(FileError, match="service"):
            serve(wrong, port=0)

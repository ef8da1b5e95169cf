"""What happens to a service while it runs: its table is loaded anew, its ledger goes away, its settings are wrong."""

from __future__ import annotations

import time

import pytest

from parcomp.custodian import Settings, load_table
from parcomp.errors import FileError, MissingLedgerError
from parcomp.service import serve
from tests.custodians import write_custodian
from tests.service.served import EVERYONE, WOMEN, people


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

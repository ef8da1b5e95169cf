"""Processes that are killed while they answer, many of them, each forked from one that has loaded everything.

Started by ``test_kill.py`` with settings files, after the word ``together`` where batches are to be measured as a
whole.  Each line on standard input is a trial: the number of the settings, and the number of the call at which the next
victim kills itself, or ``after`` and a number of milliseconds after which it is killed.  A victim asks statement after
statement and writes what was released to a file beside its settings, as an analyst would note it; the answer to a trial
is how many calls the victim had made, or ``-`` if that is not known.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

from parcomp.custodian import Custodian, Settings
from parcomp.custodian.request import read_request
from parcomp.custodian.strategy import plan_strategy
from parcomp.errors import RefusedError, UnderivableError
from parcomp.noise import Mechanism, add_noise
from parcomp.overlap import LiveOverlap
from parcomp.sql import parse_statement

ASKS = 2
STRATEGIES, BUDGET = ("correlated", "atoms"), "0.5"
WATCHED = ("/custodian/", "/ledger/", "/noise/", "/data/")


def main(settings: Sequence[str], together: bool) -> None:
    """Serve trials until standard input ends."""
    _warm_up(Settings.load(settings[0]), together)
    print("ready", flush=True)
    for trial, line in enumerate(sys.stdin):
        chosen, *words = line.split()
        at = None if words[0] == "after" else int(words[0])
        reading, writing = os.pipe()
        victim = os.fork()
        if not victim:
            os.close(reading)
            _live(settings[int(chosen)], trial, at, writing, together)
            os._exit(0)
        os.close(writing)
        if at is None:
            os.read(reading, 1)
            time.sleep(int(words[1]) / 1000)
            os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        with os.fdopen(reading) as pipe:
            counted = pipe.read().split()
        print(counted[-1] if counted else "-", flush=True)


def _warm_up(settings: Settings, together: bool) -> None:
    """Load what every victim needs, without a connection or a thread that a fork would tear apart."""
    import_module("parcomp.data.codes.duckdb_codes")
    if settings.ledger.startswith("postgresql"):
        import_module("parcomp.ledger.postgres")
    add_noise(Mechanism("discrete-laplace", 1.0), [0])
    live = LiveOverlap(settings.domain, settings.row_budget)
    for number in range(2):
        statement = parse_statement(settings.domain, f"SELECT COUNT(*) FROM people WHERE part = {number} GROUP BY part")
        live.add(statement.query, 1)
    live.add(settings.domain.query(), 1)
    if together:
        for strategy in STRATEGIES:
            asked = read_request(settings, "", batch_of(0), budget=BUDGET, strategy=strategy)
            made = plan_strategy(settings, asked.together.statements, strategy, asked.together.row_budget)
            made.noise.half_widths_up(0.95)
        add_noise(Mechanism("discrete-gaussian", 1.0), [0])


def batch_of(trial: int) -> list[str]:
    """The statements of a batch, all on rows of its own."""
    return [
        f"SELECT COUNT(*) FROM people WHERE trial = {trial} AND part = 0",
        f"SELECT COUNT(*) FROM people WHERE trial = {trial} GROUP BY part",
    ]


def _live(settings: str, trial: int, at: int | None, pipe: int, together: bool) -> None:
    """Open the custodian, say so, and ask; kill oneself at the given call into the code that orders the steps."""
    released = Path(settings).with_name("released.jsonl")
    with Custodian.open(settings) as custodian:
        os.write(pipe, b"o\n")
        if at is not None:
            watch = _Watch(at)
            sys.setprofile(watch)
        for strategy in STRATEGIES if together else ():
            answers = custodian.ask_batch(batch_of(trial), budget=BUDGET, strategy=strategy, key=f"{trial}-{strategy}")
            values = [[group.value for group in answer.groups] for answer in answers]
            note = {"charge": answers[0].charge, "values": values, "trial": trial, "strategy": strategy}
            with released.open("a") as file:
                file.write(json.dumps(note) + "\n")
        for number in range(0 if together else ASKS):
            for sql in (
                f"SELECT COUNT(*) FROM people WHERE trial = {trial} AND part = {number}",
                f"SELECT COUNT(*) FROM people WHERE trial = {trial} GROUP BY part",
            ):
                try:
                    answer = custodian.ask(sql, epsilon="0.1", key=f"{trial}-{number}-{len(sql)}")
                except RefusedError:
                    continue
                note = {"charge": answer.charge, "values": [group.value for group in answer.groups], "sql": sql}
                with released.open("a") as file:
                    file.write(json.dumps(note) + "\n")
        if not together:
            _derive(custodian, f"SELECT COUNT(*) FROM people WHERE trial = {trial} AND part IN (0, 1)", released)
        sys.setprofile(None)
        if at is not None:
            os.write(pipe, f"{watch.calls}\n".encode())


def _derive(custodian: Custodian, sql: str, released: Path) -> None:
    """Note what follows from what was released, if it does."""
    with suppress(UnderivableError):
        answer = custodian.ask(sql, derive=True)
        note = {"charge": None, "values": [answer.value], "sql": sql}
        with released.open("a") as file:
            file.write(json.dumps(note) + "\n")


class _Watch:
    """Counts the calls and returns of the code that orders, charges, counts and adds noise."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0
        self._watched: dict[CodeType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Callable[..., None] | None:
        code = frame.f_code
        watched = self._watched.get(code)
        if watched is None:
            watched = any(part in code.co_filename for part in WATCHED)
            self._watched[code] = watched
        if watched and event in ("call", "return", "c_call", "c_return"):
            self.calls += 1
            if self.calls == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
        return None


if __name__ == "__main__":
    chosen = sys.argv[1] == "together"
    main(sys.argv[1 + chosen :], chosen)

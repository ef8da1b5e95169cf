"""Several processes that race for the last unit: sixteen threads each, one custodian each.

Started by ``test_race.py`` with the settings file and the numbers of processes and of rounds.  The processes are forked
from one that has loaded everything.  The parent says when a round begins by a line on standard input; the answer is a
line of how many of all threads won, and how many asked.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from importlib import import_module
from multiprocessing.connection import Connection

from parcomp.custodian import Custodian
from parcomp.errors import RefusedError

THREADS = 16


def main(settings: str, processes: int, rounds: int) -> None:
    """Let the processes take part in all rounds."""
    for module in ("parcomp.data.codes.duckdb_codes", "parcomp.ledger.postgres"):
        import_module(module)
    context = multiprocessing.get_context("fork")
    pipes = []
    for process in range(processes):
        ours, theirs = context.Pipe()
        context.Process(target=take_part, args=(settings, process, rounds, theirs), daemon=True).start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        assert pipe.recv() == "ready"
    print("ready", flush=True)
    for _ in range(rounds):
        if not sys.stdin.readline():
            return
        for pipe in pipes:
            pipe.send("go")
        results = [pipe.recv() for pipe in pipes]
        print(sum(won for won, _ in results), sum(asked for _, asked in results), flush=True)


def take_part(settings: str, process: int, rounds: int, pipe: Connection) -> None:
    """All rounds of one process."""
    with Custodian.open(settings) as custodian:
        custodian.quote("SELECT COUNT(*) FROM race", epsilon="0.000000001")
        pipe.send("ready")
        for number in range(rounds):
            pipe.recv()
            start = threading.Barrier(THREADS)
            won: list[int] = []
            threads = [
                threading.Thread(target=run, args=(custodian, start, number, THREADS * process + thread, won))
                for thread in range(THREADS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            pipe.send((sum(won), len(won)))


def run(custodian: Custodian, start: threading.Barrier, number: int, client: int, won: list[int]) -> None:
    """Ask for one unit on the rows of the round; every client asks something else, and all of them overlap."""
    sql = f"SELECT COUNT(*) FROM race WHERE round = {number} AND client <> {client}"
    start.wait()
    try:
        custodian.ask(sql, epsilon="0.000000001")
        won.append(1)
    except RefusedError:
        won.append(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

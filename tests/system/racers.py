"""One of several processes that race for the last unit: sixteen threads, one custodian.

Started by ``test_race.py`` with the settings file, the number of this process and of rounds.  The parent says when a
round begins by a line on standard input; this process answers with a line of how many of its threads won.
"""

from __future__ import annotations

import sys
import threading

from parcomp.custodian import Custodian
from parcomp.errors import RefusedError

THREADS = 16


def main(settings: str, process: int, rounds: int) -> None:
    """Take part in all rounds."""
    with Custodian.open(settings) as custodian:
        custodian.quote("SELECT COUNT(*) FROM race", epsilon="0.000000001")
        print("ready", flush=True)
        for number in range(rounds):
            sys.stdin.readline()
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
            print(sum(won), len(won), flush=True)


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

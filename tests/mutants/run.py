"""Put each mutant into a copy of the project and see whether its tests fail.

Each worker has a copy of its own, in which one file at a time is changed and put back.  Tests draw the same examples
every time, so that what is found once is found again.  First they are run on unchanged copies, where they must pass.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Literal, TypeAlias, TypeVar

from tests.mutants.copies import TIMED_OUT, Copy
from tests.mutants.entries import Mutant, load

__all__ = ["Outcome", "Verdict", "attempt", "main", "try_all"]

Verdict: TypeAlias = Literal["killed", "alive", "stale", "broken", "error", "time-out", "harmless"]

_VERDICTS: Final[Mapping[int, Verdict]] = {0: "alive", 1: "killed", TIMED_OUT: "time-out"}
"""By the exit code of pytest; all others mean that the tests were not run as they should."""

_Result = TypeVar("_Result")

_LIMIT = 300.0
"""Seconds that the tests of one mutant may take; compiling all kernels anew takes a good part of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant, and what to do about it."""

    name: str
    verdict: Verdict
    seconds: float = 0.0
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is nothing to do."""
        return self.verdict in {"killed", "harmless"}


def try_all(root: Path, mutants: Sequence[Mutant], workers: int = 2, limit: float = _LIMIT) -> Iterator[Outcome]:
    """What becomes of each mutant, as it is found out."""
    copies: SimpleQueue[Copy] = SimpleQueue()

    def on_a_copy(work: Callable[[Copy], _Result]) -> _Result:
        copy = copies.get()
        try:
            return work(copy)
        finally:
            copies.put(copy)

    with tempfile.TemporaryDirectory(prefix="mutants-") as place, ThreadPoolExecutor(workers) as pool:
        for number in range(workers):
            copies.put(Copy(root, Path(place, str(number))))

        def run(tests: Sequence[str]) -> tuple[int, str]:
            return on_a_copy(lambda copy: copy.run(tests, limit))

        by_file: dict[str, list[str]] = defaultdict(list)
        for test in dict.fromkeys(test for mutant in mutants for test in mutant.tests):
            by_file[test.partition("::")[0]].append(test)
        together = zip(by_file.values(), pool.map(run, by_file.values()), strict=True)
        doubtful = [test for tests, (code, _) in together if code != 0 for test in tests]
        alone = zip(doubtful, pool.map(run, [[test] for test in doubtful]), strict=True)
        failing = {test: note for test, (code, note) in alone if code != 0}
        waiting = []
        for mutant in mutants:
            note = next((failing[test] for test in mutant.tests if test in failing), None)
            if mutant.harmless:
                yield Outcome(mutant.name, "harmless", note=mutant.harmless)
            elif note is not None:
                yield Outcome(mutant.name, "broken", note=f"the tests fail without the mutant: {note}")
            else:
                waiting.append(pool.submit(on_a_copy, partial(attempt, mutant=mutant, limit=limit)))
        try:
            yield from (future.result() for future in as_completed(waiting))
        finally:
            # Who stops early shall not wait for the rest.
            pool.shutdown(cancel_futures=True)


def attempt(copy: Copy, mutant: Mutant, limit: float = _LIMIT) -> Outcome:
    """What becomes of a mutant whose tests pass without it."""
    started = time.monotonic()
    path = copy.root / mutant.file
    text = mutant.applied(path.read_text(encoding="utf-8")) if path.is_file() else None
    if text is None:
        return Outcome(mutant.name, "stale", note=f"its old text does not stand exactly once in {mutant.file}")
    with copy.changed(mutant.file, text):
        code, note = copy.run(mutant.tests, limit)
    verdict = _VERDICTS.get(code, "error")
    if verdict == "time-out" and mutant.timeout:
        verdict = "killed"
    if verdict == "alive":
        note = f"write a test that fails, or say why it is harmless: {mutant.why}"
    return Outcome(mutant.name, verdict, time.monotonic() - started, note)


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Try the mutants of a project, and return 1 unless every one is killed or harmless."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__.split("\n", 1)[0])
    parser.add_argument("pattern", nargs="?", default="*", help="which names to try, such as 'sql-*'")
    parser.add_argument("--workers", type=int, default=2, help="how many to try at a time")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds for the tests of one mutant")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes, a line each")
    options = parser.parse_args(arguments)
    root = root or Path(__file__).parents[2]
    mutants = [one for one in load(root / "tests/mutants") if fnmatchcase(one.name, options.pattern)]
    started, outcomes = time.monotonic(), []
    for outcome in try_all(root, mutants, options.workers, options.limit):
        outcomes.append(outcome)
        note = f"  {outcome.note}" if outcome.note and not outcome.ok else ""
        print(f"{len(outcomes):>4}/{len(mutants)}  {outcome.verdict:<8}  {outcome.name}{note}", flush=True)
    if options.json is not None:
        options.json.write_text("".join(json.dumps(asdict(one)) + "\n" for one in outcomes), encoding="utf-8")
    counts = Counter(one.verdict for one in outcomes)
    print(f"{', '.join(f'{count} {name}' for name, count in counts.items())} in {time.monotonic() - started:.0f} s")
    return 0 if outcomes and all(one.ok for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

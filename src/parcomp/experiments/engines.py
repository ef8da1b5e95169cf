"""Who runs the instances: children on this machine, or children of the workers of a Dask cluster; the same code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib import import_module
from itertools import islice
from types import TracebackType
from typing import Any, Protocol

from parcomp.errors import ParcompError
from parcomp.experiments.child import Outcome, Task, begin, end_children, run_in_child

__all__ = ["DaskEngine", "Engine", "LocalEngine"]


class Engine(Protocol):
    """Runs tasks side by side."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """What comes of the tasks, in the order in which they end."""
        ...

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LocalEngine:
    """So many children on this machine, each fed by a thread.

    A child gets its next task when the outcome of one has been taken, and the next one is asked for.  So whoever
    writes outcomes down as they come loses, when killed, at most one task of each child.
    """

    def __init__(self, workers: int) -> None:
        begin()
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="experiment")

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """What comes of the tasks, in the order in which they end."""
        waiting = iter(tasks)
        running: set[Future[Outcome]] = {
            self._pool.submit(run_in_child, task) for task in islice(waiting, self._workers)
        }
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
                running |= {self._pool.submit(run_in_child, task) for task in islice(waiting, 1)}

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the children, what they are at included."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        end_children(for_good=True)
        self._pool.shutdown()


class DaskEngine:
    """The workers of a Dask cluster at an address; without one, of a cluster of its own on this machine.

    Parcomp must be installed where the workers are.
    """

    def __init__(self, address: str = "", workers: int = 2) -> None:
        try:
            self._dask: Any = import_module("distributed")
        except ImportError as error:
            raise ParcompError("the engine dask needs Dask: pip install 'parcomp[cluster]'") from error
        self._cluster: Any = None
        try:
            if not address:
                self._cluster = self._dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            self._client: Any = self._dask.Client(address or self._cluster)
        except (OSError, ValueError) as error:
            raise ParcompError(f"the Dask scheduler cannot be reached: {error}") from None

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """What comes of the tasks, in the order in which they end."""
        futures = [self._client.submit(run_in_child, task, pure=False) for task in tasks]
        for future in self._dask.as_completed(futures):
            yield future.result()

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the cluster, and end it if it is this engine's own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

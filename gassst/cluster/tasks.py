"""Tasks on the workers of a cluster: submitted, and tried elsewhere where a worker fails."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from gassst.api.mapper import Mapper
from gassst.cluster.client import lost_errors
from gassst.cluster.job import ClusterRun
from gassst.errors import GassstError, OutputError, UsageError, WorkerError
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel

if TYPE_CHECKING:
    from distributed import Client, Future

log = logging.getLogger("gassst")
TRIES = 3
"""Workers on which a task may fail."""
LOOK_SECONDS = 10.0
"""How often it is looked whether workers that a task waits for are still there."""

T = TypeVar("T")
Progress = Callable[[Stats, float], None]


class WorkerState:
    """A plugin of Dask: what a worker process keeps for the tasks of one run. The index is opened by the first."""

    def __init__(self, name: str, job: ClusterRun):
        self.name, self.job = name, job

    def setup(self, worker: Any) -> None:
        """Called in the worker process when it starts, or when the run begins."""
        self._lock = threading.Lock()
        self._mapper: Mapper | None = None

    def teardown(self, worker: Any) -> None:
        """Called when the run is over."""
        self._mapper = None

    @property
    def mapper(self) -> Mapper:
        with self._lock:
            if self._mapper is None:
                self._mapper = self.job.open()
            return self._mapper


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its result, or what is wrong on that worker."""

    worker: str
    result: Any = None
    error: Exception | None = None


def _call(name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """A task: a method of `ClusterRun` with the mapper of this process. An error of the user is no failure of Dask,
    which would have it tried here again.
    """
    from distributed import get_worker

    worker = get_worker()
    state = worker.plugins[name]
    try:
        return Outcome(worker.address, call(state.job, state.mapper, *arguments))
    except (GassstError, OSError, MemoryError) as error:
        return Outcome(worker.address, error=error)


@dataclass
class _Task:
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    failed_on: list[str] = field(default_factory=list)
    """Workers, in turn."""
    only_on: list[str] | None = None
    """Workers that may run it; None: all."""


class TaskRun:
    """The tasks of one job: submitted, and tried elsewhere where a worker fails."""

    def __init__(self, client: Client, name: str, job: ClusterRun):
        self._client, self._name, self._job = client, name, job

    @classmethod
    @contextmanager
    def on(cls, client: Client, job: ClusterRun) -> Iterator[TaskRun]:
        """The workers of a cluster get what tasks need, and forget it when the run ends."""
        from distributed import WorkerPlugin

        name = f"gassst-{os.path.basename(job.folder)}"

        class Plugin(WorkerState, WorkerPlugin):  # type: ignore[misc]
            pass

        with lost_scheduler(client):
            for is_last in (False, True):  # a worker that dies meanwhile fails the call for all
                try:
                    client.register_plugin(Plugin(name, job), name=name)
                    break
                except OSError:
                    if is_last:
                        raise
        try:
            yield cls(client, name, job)
        finally:
            # Workers that are gone, or whose scheduler is, have nothing to forget.
            with suppress(*lost_errors()):
                if client.status == "running":
                    client.unregister_worker_plugin(name)

    def result_of(self, call: Callable[[ClusterRun, Mapper], T]) -> T:
        """What one task returns."""
        [(_, result)] = self._results([_Task(call, ())])
        found: T = result
        return found

    def results_of_shards(
        self, insert: InsertModel | None, head: InsertModel | None, progress: Progress | None
    ) -> list[Stats]:
        """The counts of all shards, in order."""
        job = self._job
        tasks = [_Task(ClusterRun.map_shard, (number, insert, head)) for number in range(1, job.shards + 1)]
        found: dict[int, Stats] = {}
        total = Stats()
        for task, stats in self._results(tasks):
            found[task.arguments[0]] = stats
            total += stats
            if progress is not None:
                progress(total, len(found) / job.shards)
        return [found[number] for number in sorted(found)]

    def _results(self, tasks: Sequence[_Task]) -> Iterator[tuple[_Task, Any]]:
        """Each task and what it returned, as they end. Raises what a task failed with on too many workers."""
        from distributed import wait

        with lost_scheduler(self._client):
            pending = {self._submit(task): task for task in tasks}
            try:
                while pending:
                    try:
                        ended = wait(list(pending), LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                    except TimeoutError:
                        ended = set()
                        self._free(pending)
                    for future in ended:
                        task = pending.pop(future)
                        outcome = self._outcome(future, task)
                        if outcome.error is None:
                            yield task, outcome.result
                        else:
                            pending[self._elsewhere(task, outcome)] = task
            finally:
                with suppress(*lost_errors()):
                    if pending and self._client.status == "running":
                        self._client.cancel(list(pending), force=True)

    def _elsewhere(self, task: _Task, outcome: Outcome) -> Future:
        """The task again, on workers on which it has not failed. Raises its error where there are none, or enough."""
        assert outcome.error is not None
        task.failed_on.append(outcome.worker)
        task.only_on = sorted(set(self._client.nthreads()).difference(task.failed_on))
        if isinstance(outcome.error, UsageError) or len(task.failed_on) >= TRIES or not task.only_on:
            raise _as_ours(outcome.error)
        log.info("%s: %s: tried on another worker", outcome.worker, outcome.error)
        return self._submit(task)

    def _free(self, pending: dict[Future, _Task]) -> None:
        """Let tasks run anywhere whose workers are all gone."""
        here = set(self._client.nthreads())
        for future, task in list(pending.items()):
            if task.only_on and not here.intersection(task.only_on):
                self._client.cancel([future], force=True)
                del pending[future]
                task.only_on = None
                pending[self._submit(task)] = task

    def _submit(self, task: _Task) -> Future:
        return self._client.submit(
            _call, self._name, task.call, task.arguments, pure=False, workers=task.only_on
        )

    def _outcome(self, future: Future, task: _Task) -> Outcome:
        from distributed import KilledWorker

        what = f"shard {task.arguments[0]}" if task.arguments else "learning insert sizes"
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            raise WorkerError(
                f"{what}: {error.allowed_failures + 1} workers died on it, the last {error.last_worker.address}: "
                "they may need more memory"
            ) from None
        return outcome


def _as_ours(error: Exception) -> Exception:
    """An error of a worker as one that a user can understand."""
    if isinstance(error, OSError) and not isinstance(error, GassstError):
        return OutputError(f"a worker: {error.strerror or error}")
    return error


@contextmanager
def lost_scheduler(client: Client) -> Iterator[None]:
    """Makes what Dask raises when its scheduler is gone a WorkerError."""
    from distributed.comm.core import CommClosedError

    address = getattr(client.scheduler, "address", "?")
    try:
        yield
    except lost_errors() as error:
        if isinstance(error, GassstError):
            raise
        if isinstance(error, OSError) and not isinstance(error, (CommClosedError, TimeoutError)):
            raise WorkerError(f"the Dask scheduler at {address}: {error.strerror or error}") from None
        raise WorkerError(f"the Dask scheduler at {address} is gone, and the tasks with it") from None

"""Workers that are threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from gassst.workers.base import Result, Shared


class _Here(NamedTuple):
    """A value in memory that all threads see."""

    value: Any


class ThreadWorkers:
    """`threads` of this process; `work` is shared by them."""

    def __init__(self, work: Any, threads: int):
        self.threads = threads
        self._work = work
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gassst")

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """As `Workers.submit`."""
        return self._pool.submit(function, self._work, *args)

    def share(self, value: Result) -> Shared[Result]:
        """As `Workers.share`."""
        return _Here(value)

    def close(self) -> None:
        """Calls that have not begun are dropped; those that have go on, and nobody waits for them."""
        self._pool.shutdown(wait=False, cancel_futures=True)

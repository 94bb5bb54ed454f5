"""Workers: the threads of a run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


class Workers:
    """Makes calls in the order in which they are submitted, `threads` at once. Any thread may submit."""

    def __init__(self, threads: int):
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gassst")

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """Call `function(*args)`."""
        return self._pool.submit(function, *args)

    def close(self) -> None:
        """Calls that have not begun are dropped; those that have go on, and nobody waits for them."""
        self._pool.shutdown(wait=False, cancel_futures=True)

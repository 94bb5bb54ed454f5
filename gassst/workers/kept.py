"""Workers that stay from one run to the next: their processes have touched the index already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gassst.workers.base import Workers


class KeptWorkers:
    """The workers of the run before, for runs of the same work, one at a time."""

    def __init__(self) -> None:
        self._workers: Workers | None = None
        self._suit: Any = None

    @contextmanager
    def lent(self, suit: Any, make: Callable[[], Workers]) -> Iterator[Workers]:
        """Workers for a run, which calls `Workers.accounts` before it gives them back. A run that fails ends them.

        Those of the run before where that told something equal to `suit`, and they live; else what `make` returns.
        """
        if self._workers is None or self._suit != suit or not self._workers.begin_again():
            self.close()
            self._workers, self._suit = make(), suit
        try:
            yield self._workers
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the workers."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

"""Threads for compiled code that holds no GIL: they end within a moment of an interrupt or a failure."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from gassst.errors import UsageError
from gassst.workers.thread_count import MAX_THREADS, usable_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_CELLS, MOST_CELLS = 1e6, 1e8  # of a task: some tenths of a millisecond, some hundredths of a second
THREAD_TASKS = 8  # of each of several threads where cells suffice, so that all end at about the same time
MOST_PAIRS = 4096  # of a task
SMALL_CELLS = 2e6  # of all tasks: about a millisecond at most, which threads would take to begin
AHEAD = 4  # tasks of each thread that are begun or wait
MOST_SMALL = 512  # tasks that are looked at for that
Progress = Callable[[float], object]
Shown = Progress | bool | None
"""Of an argument `progress`: what is called with the share that is done, 0 to 1; True is a line on stderr."""
Task = tuple[float, Callable[[], Any]]
"""Its work, and what does it."""


class ProgressBar:
    """Shares of the work that are done, 0 to 1, to a callable; True is a line on stderr that renews itself.

    Raises UsageError for anything else, unless it is False or None.
    """

    def __init__(self, progress: Shown, total: float):
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise UsageError(f"progress: must be a function or True, not {progress!r}")
        self._show: Progress | None = _show if progress is True else progress or None
        self._total, self._done, self._shown = max(total, 1.0), 0.0, 0.0

    def add(self, work: float) -> None:
        """So much more is done."""
        self._done += work
        now = time.monotonic()
        if self._show is not None and now - self._shown > 0.1:
            self._shown = now
            self._show(min(1.0, self._done / self._total))

    def finish(self) -> None:
        """All is done."""
        if self._show is not None:
            self._show(1.0)


def _show(share: float) -> None:
    import sys

    bar = "#" * round(40 * share)
    print(f"\r{bar:40} {100 * share:3.0f} %", end="\n" if share >= 1 else "", file=sys.stderr, flush=True)


def thread_count(threads: int | None) -> int:
    """All cores by default. Raises UsageError unless it is an integer from 1 to `MAX_THREADS`."""
    try:
        count = usable_threads() if threads is None else operator.index(threads)
    except TypeError:
        raise UsageError(f"threads: {threads!r} is not an integer") from None
    if not 1 <= count <= MAX_THREADS:
        raise UsageError(f"threads: {count} is not from 1 to {MAX_THREADS}")
    return count


def is_device(device: str | None) -> bool:
    """Whether an OpenCL device does the work, by its name. Raises UsageError for what is no name."""
    if device is None:
        return False
    if not isinstance(device, str):
        raise UsageError(f"device: {device!r} is not the name of a device")
    return device.lower() not in ("none", "auto")


def run_problems(
    cells: NDArray[np.float64],
    run: Callable[[int, int], object],
    threads: int,
    stop: Callable[[], object],
    bar: ProgressBar,
    lanes: int = 1,
) -> None:
    """Call `run(first, last + 1)` for stretches of problems of so many cells each, until all are done.

    Problems of like lengths should be neighbours: `lanes` of them share a vector, and a stretch begins with a vector.
    `stop`, and what is raised, are as in `run_all`.
    """
    bounds = task_bounds(cells, threads, lanes)
    tasks = ((float(cells[a:b].sum()), partial(run, a, b)) for a, b in bounds)
    run_all(tasks, threads, stop, bar, SMALL_CELLS)


def run_shown(
    cells: NDArray[np.float64],
    run: Callable[[int, int], object],
    threads: int,
    stop: Callable[[], object],
    progress: Shown,
    lanes: int = 1,
) -> None:
    """As `run_problems`, which are all that there is to do."""
    bar = ProgressBar(progress, float(cells.sum()))
    run_problems(cells, run, threads, stop, bar, lanes)
    bar.finish()


def task_bounds(cells: NDArray[np.float64], threads: int, lanes: int = 1) -> list[tuple[int, int]]:
    """Problems of so many cells each, in order, divided into tasks: the first of each, and the one behind its last."""
    if not len(cells):
        return []
    total = float(cells.sum())
    if total < LEAST_CELLS and len(cells) <= MOST_PAIRS:
        return [(0, len(cells))]
    tasks = THREAD_TASKS * threads if threads > 1 else 1
    share = min(max(total / tasks, LEAST_CELLS), MOST_CELLS)
    task = np.maximum(np.cumsum(cells) // share, np.arange(len(cells)) // MOST_PAIRS)
    begins = np.unique(np.append(0, np.flatnonzero(np.diff(task)) + 1) // lanes * lanes).tolist()
    return list(zip(begins, [*begins[1:], len(cells)], strict=True))


def run_all(
    tasks: Iterable[Task],
    threads: int,
    stop: Callable[[], object],
    bar: ProgressBar,
    small: float = 0,
) -> None:
    """Run tasks, each with its work, on so many threads.

    Tasks of at most `small` work together run in the calling thread: a moment, in which no interrupt is seen. What a
    task raises, and an interrupt, calls `stop`, which makes the others return soon; it is raised once they have.
    """
    todo = iter(tasks)
    first, work = [], 0.0
    for task in todo:
        first.append(task)
        work += task[0]
        if work > small or len(first) > MOST_SMALL:
            break
    else:
        for amount, compute in first:
            compute()
            bar.add(amount)
        return
    _run_on_threads(chain(first, todo), threads, stop, bar)


def _run_on_threads(todo: Iterator[Task], threads: int, stop: Callable[[], object], bar: ProgressBar) -> None:
    """As `run_all`. The caller makes the tasks, some more than there are threads, and shows what is done."""
    waiting: SimpleQueue[Task | None] = SimpleQueue()
    finished: SimpleQueue[float | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            while (task := waiting.get()) is not None:
                task[1]()
                finished.put(task[0])
        except BaseException as error:
            finished.put(error)

    with ThreadPoolExecutor(threads, thread_name_prefix="gassst-task") as pool:
        begun = unfinished = 0
        try:
            more = True
            while more or unfinished:
                while more and unfinished < AHEAD * threads:
                    task = next(todo, None)
                    more = task is not None
                    if task is not None:
                        waiting.put(task)
                        unfinished += 1
                        if begun < threads:
                            begun += 1
                            pool.submit(work)
                done = finished.get()
                if isinstance(done, BaseException):
                    raise done
                unfinished -= 1
                bar.add(done)
        except BaseException:
            stop()
            with suppress(Empty):
                while True:
                    waiting.get_nowait()
            raise
        finally:
            for _ in range(begun):
                waiting.put(None)

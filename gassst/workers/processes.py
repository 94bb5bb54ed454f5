"""Workers that are threads of several processes; `gassst.workers` says how they work together."""

from __future__ import annotations

import errno
import logging
import os
import pickle
import resource
import selectors
import signal
import threading
import warnings
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from gassst.errors import WorkerError
from gassst.workers.base import Result, Shared
from gassst.workers.children import load_libraries
from gassst.workers.process import (
    CALL,
    LENGTH,
    RESULT,
    Pipes,
    RemoteTraceback,
    serve,
)
from gassst.workers.shared_memory import SharedMemory, SharedValue

log = logging.getLogger("gassst")
MOST_REGIONS = 1 << 20
SPARE_FILES = 32  # that a run may open beside the pipes of its processes
ENDED = "the workers have ended"
HINTS: dict[int, str] = {
    signal.SIGKILL: "; memory may be exhausted",
    signal.SIGBUS: "; the index was changed while it was in use, or memory is exhausted",
}
"""Why a process may have been ended by a signal."""


class ProcessWorkers:
    """`threads` spread over as many `processes`, which are forked here; `work` is what they inherit.

    Raises OSError where the system grants no process, no pipe or no shared memory.
    """

    def __init__(self, work: Any, processes: int, threads: int):
        _check_limit_of_files(processes)
        self.threads = threads
        self._memory = SharedMemory(MOST_REGIONS)
        self._regions = _Regions()
        self._lock = threading.RLock()  # a result may be collected, and its region freed, while it is held
        self._under_way: dict[int, Future[Any]] = {}
        self._why_dead: str | None = None
        self._children: dict[int, _Child] = {}  # by the fd of its own pipe
        calls, self._calls = os.pipe()
        self._results, results = os.pipe()
        try:
            load_libraries()
            for i in range(processes):
                share = threads // processes + (i < threads % processes)
                child = self._fork(work, share, calls, results)
                self._children[child.pipe] = child
        except BaseException:
            self._kill()
            for child in self._children.values():
                child.reap()
            os.close(self._calls)
            self._forget_children()
            raise
        finally:
            self._forget_pipes(calls, results)
        self._collector = threading.Thread(target=self._collect, name="gassst-collector", daemon=True)
        self._collector.start()

    def _fork(self, work: Any, threads: int, calls: int, results: int) -> _Child:
        parent = os.getpid()
        own_read, own = os.pipe()
        try:
            with (
                warnings.catch_warnings()
            ):  # Python 3.12 warns beside any thread; `layout` has looked at them
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                # Ends of pipes that only the parent may hold: else nobody would ever see them end.
                self._forget_pipes(self._calls, self._results, own_read, *self._children)
                serve(work, threads, self._memory, Pipes(calls, results, own), parent)
        except BaseException:
            self._forget_pipes(own_read)
            raise
        finally:
            self._forget_pipes(own)
        return _Child(pid, own_read)

    @staticmethod
    def _forget_pipes(*fds: int) -> None:
        for fd in fds:
            os.close(fd)

    def _forget_children(self) -> None:
        self._forget_pipes(self._results, *self._children)
        self._children = {}

    # --- calls ------------------------------------------------------------------------------------------

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """As `Workers.submit`. Raises WorkerError where a process has died, or all have ended."""
        future: Future[Result] = Future()
        region, size = self._put(function, (function, args))
        with self._lock:
            self._check()
            self._under_way[region] = future
            with suppress(
                BrokenPipeError
            ):  # all processes are gone: the collector is about to fail this call
                os.write(self._calls, CALL.pack(region, size))
        return future

    def share(self, value: Result) -> Shared[Result]:
        """As `Workers.share`. Raises WorkerError as `submit`."""
        return SharedValue(value, *self._put(SharedValue, value), self._release)

    def _put(self, use: Hashable, value: Any) -> tuple[int, int]:
        """Writes a value into a region that is free for such a use, and returns that and the bytes."""
        with self._lock:
            self._check()
            region = self._regions.taken(use)
        size = self._memory.put(region, value)
        self._regions.filled(region, size)
        return region, size

    def _check(self) -> None:
        if self._why_dead is not None:
            raise WorkerError(self._why_dead)

    def _release(self, region: int) -> None:
        with self._lock:
            self._regions.give_back(region)

    # --- results, in a thread of their own --------------------------------------------------------------

    def _collect(self) -> None:
        """Until all pipes have ended, which they do with the processes."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._results, selectors.EVENT_READ)
            for pipe in self._children:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    is_open = (
                        self._take_result() if key.fd == self._results else self._hear(self._children[key.fd])
                    )
                    if not is_open:
                        selector.unregister(key.fd)
        self._fail(ENDED)

    def _take_result(self) -> bool:
        message = os.read(self._results, RESULT.size)
        if not message:
            return False
        region, size, is_error = RESULT.unpack(message)
        with self._lock:
            future = self._under_way.pop(region, None)
        if future is None:  # failed already, with the process that died
            return True
        self._regions.filled(region, size)
        try:
            value = self._memory.get(region, size, self._release)
        except BaseException as error:  # too little memory to map it
            future.set_exception(error)
            return True
        if is_error:
            raised, where = value
            raised.__cause__ = RemoteTraceback(where)
            future.set_exception(raised)
        else:
            future.set_result(value)
        return True

    def _hear(self, child: _Child) -> bool:
        """Messages of a process. At their end it has ended, and so have all calls under way."""
        more = os.read(child.pipe, 1 << 16)
        if more:
            for message in child.messages(more):
                logging.getLogger(message.name).handle(message)
            return True
        self._fail(child.reap())
        return False

    def _fail(self, why: str) -> None:
        """No call has a result any more, and what the other processes still do is of no use."""
        self._kill()
        with self._lock:
            self._why_dead = self._why_dead or why
            lost: list[Future[Any]] = list(self._under_way.values())
            self._under_way = {}
        for future in lost:
            future.set_exception(WorkerError(self._why_dead))

    # --- the end ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Kill the processes: nothing that they still do is of use."""
        if not self._children:
            return
        with self._lock:
            self._why_dead = self._why_dead or ENDED
            os.close(self._calls)
        self._kill()
        self._collector.join()
        self._forget_children()
        self._memory.close()

    def _kill(self) -> None:
        for child in self._children.values():
            child.kill()


def _check_limit_of_files(processes: int) -> None:
    """Raise OSError where the pipe of each process would leave too few descriptors for the files of a run."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    needed = len(os.listdir("/proc/self/fd")) + processes + SPARE_FILES
    if limit != resource.RLIM_INFINITY and needed > limit:
        raise OSError(errno.EMFILE, f"{processes} need {needed} open files, and the limit is {limit}")


class _Regions:
    """Which regions of the shared memory are free, and what they may be used for without growing.

    A region keeps the memory that it has ever filled. So each use gets the least one that held as much as that use
    has taken up to now: texts and records must not grow each other's regions.
    """

    def __init__(self) -> None:
        self.number = 0
        self._sizes: list[int] = []  # bytes that each has held
        self._free: list[tuple[int, int]] = []  # bytes and region, ascending
        self._use_of: dict[int, Hashable] = {}
        self._most: dict[Hashable, int] = {}  # bytes by use

    def taken(self, use: Hashable) -> int:
        """A region for this use, which is not free any more."""
        if self._free:
            at = bisect_left(self._free, (self._most.get(use, 0), 0))
            _, region = self._free.pop(min(at, len(self._free) - 1))
        else:
            region = self.number
            self.number += 1
            self._sizes.append(0)
        self._use_of[region] = use
        return region

    def filled(self, region: int, size: int) -> None:
        """The region holds so much."""
        use = self._use_of[region]
        self._sizes[region] = max(self._sizes[region], size)
        self._most[use] = max(self._most.get(use, 0), size)

    def give_back(self, region: int) -> None:
        insort(self._free, (self._sizes[region], region))

    @property
    def free(self) -> int:
        """How many are free."""
        return len(self._free)


class _Child:
    """A process of workers, and the pipe of its own messages."""

    def __init__(self, pid: int, pipe: int):
        self.pid, self.pipe = pid, pipe
        self._heard = b""
        self._lock = threading.Lock()
        self._is_reaped = False

    def messages(self, more: bytes) -> list[Any]:
        """The messages that are complete with these bytes."""
        self._heard += more
        found = []
        while len(self._heard) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._heard)[0]
            if len(self._heard) < end:
                break
            found.append(pickle.loads(self._heard[LENGTH.size : end]))
            self._heard = self._heard[end:]
        return found

    def kill(self) -> None:
        with self._lock, suppress(ProcessLookupError):
            if not self._is_reaped:  # else the number may be another's by now
                os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> str:
        """Wait for the end of the process, and return how it ended."""
        with self._lock:
            self._is_reaped = True
            try:
                _, status = os.waitpid(self.pid, 0)
            except ChildProcessError:  # children are not waited for in this process
                return f"worker process {self.pid} has ended"
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return f"worker process {self.pid} ended with code {code}"
        return f"worker process {self.pid} was ended by {_signal_name(-code)}{HINTS.get(-code, '')}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""Workers that are threads of several processes; `gassst.workers` says how they work together."""

from __future__ import annotations

import logging
import os
import pickle
import selectors
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from gassst.children import load_libraries
from gassst.errors import WorkerError
from gassst.workers.base import Result, Shared, Work
from gassst.workers.process import (
    CALL,
    LENGTH,
    RESULT,
    Account,
    Pipes,
    RemoteTraceback,
    serve,
)
from gassst.workers.shared_memory import SharedMemory, SharedValue

log = logging.getLogger("gassst")
MOST_REGIONS = 1 << 20
HINTS: dict[int, str] = {
    signal.SIGKILL: "; memory may be exhausted",
    signal.SIGBUS: "; the index was changed while it was in use, or memory is exhausted",
}
"""Why a process may have been ended by a signal."""


class ProcessWorkers:
    """`threads` spread over as many `processes`, which are forked here; `work` is what they inherit.

    Raises OSError where the system grants no process, no pipe or no shared memory.
    """

    def __init__(self, work: Work, processes: int, threads: int):
        self.threads = threads
        self._memory = SharedMemory(MOST_REGIONS)
        self._free: list[int] = []
        self._used = 0
        self._lock = threading.RLock()  # a result may be collected, and its region freed, while it is held
        self._under_way: dict[int, Future[Any]] = {}
        self._why_dead: str | None = None
        self._accounts: list[Any] = []
        self._ending = False
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
            self._forget_pipes(self._calls, self._results, *self._children)
            raise
        finally:
            self._forget_pipes(calls, results)
        self._collector = threading.Thread(target=self._collect, name="gassst-collector", daemon=True)
        self._collector.start()

    def _fork(self, work: Work, threads: int, calls: int, results: int) -> _Child:
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
            os.close(own_read)
            raise
        finally:
            os.close(own)
        return _Child(pid, own_read)

    @staticmethod
    def _forget_pipes(*fds: int) -> None:
        for fd in fds:
            os.close(fd)

    # --- calls ------------------------------------------------------------------------------------------

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """As `Workers.submit`. Raises WorkerError where a process has died, or all have ended."""
        future: Future[Result] = Future()
        region, size = self._put((function, args))
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
        return SharedValue(value, *self._put(value), self._release)

    def _put(self, value: Any) -> tuple[int, int]:
        """Writes a value into a free region, and returns that and the bytes."""
        with self._lock:
            self._check()
            region = self._free.pop() if self._free else self._used
            self._used += region == self._used
        return region, self._memory.put(region, value)

    def _check(self) -> None:
        if self._why_dead is not None or self._ending:
            raise WorkerError(self._why_dead or "the workers have ended")

    def _release(self, region: int) -> None:
        with self._lock:
            self._free.append(region)

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
        self._fail("the workers have ended")

    def _take_result(self) -> bool:
        message = os.read(self._results, RESULT.size)
        if not message:
            return False
        region, size, is_error = RESULT.unpack(message)
        with self._lock:
            future = self._under_way.pop(region, None)
        if future is None:  # failed already, with the process that died
            return True
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
        """Messages of a process. At their end it has ended, well only if it was told to and gave its account."""
        more = os.read(child.pipe, 1 << 16)
        if more:
            for message in child.messages(more):
                if isinstance(message, Account):
                    child.is_done = True
                    self._accounts.append(message.value)
                else:
                    logging.getLogger(message.name).handle(message)
            return True
        why = child.reap()
        if not child.is_done:
            self._fail(why)
        return False

    def _fail(self, why: str) -> None:
        """No call has a result any more, and what the other processes still do is of no use."""
        self._kill()
        with self._lock:
            self._why_dead = self._why_dead or why
            lost, self._under_way = list(self._under_way.values()), {}
        for future in lost:
            future.set_exception(WorkerError(self._why_dead))

    # --- the end ----------------------------------------------------------------------------------------

    def accounts(self) -> list[Any]:
        """As `Workers.accounts`. Raises WorkerError where a process has died."""
        self._end_calls()
        self._collector.join()
        if len(self._accounts) < len(self._children):
            raise WorkerError(self._why_dead or "a worker process has ended")
        return self._accounts

    def _end_calls(self) -> None:
        with self._lock:
            if not self._ending:
                self._ending = True
                os.close(self._calls)

    def close(self) -> None:
        """Kill the processes: nothing that they still do is of use."""
        if not self._children:
            return
        self._end_calls()
        self._kill()
        self._collector.join()
        self._forget_pipes(self._results, *self._children)
        self._children = {}

    def _kill(self) -> None:
        for child in self._children.values():
            child.kill()


class _Child:
    """A process of workers, and the pipe of its own messages."""

    def __init__(self, pid: int, pipe: int):
        self.pid, self.pipe = pid, pipe
        self.is_done = False
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

"""A process that does nothing but drive a device, for the worker processes of a run (Linux).

One process has the device and its memory. A thread that drives it needs Python's lock for every command; beside threads
that parse and encode it would wait for that lock longer than for the device. So workers put the reads of a batch into
shared memory, and find the bands of the batch there. Requests that wait are searched together. Until the device is
ready, and where it has more to do than the host needs time for, workers search on the host.

`DeviceServer` is forked before the workers are, which inherit its pipes: one for calls, and one for answers for each
thread that may ask.
"""

from __future__ import annotations

import gc
import logging
import mmap
import os
import select
import signal
import struct
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gassst.children import die_with_parent, load_libraries
from gassst.errors import DeviceError
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.device import DeviceSearch, Found, Request, Searched, is_taken
from gassst.search.device_index import IN_FLIGHT
from gassst.search.filters import Cascade
from gassst.seeding.plan import SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.stats import Stats
from gassst.workers.process import CALL
from gassst.workers.shared_memory import SharedMemory

log = logging.getLogger("gassst")

TICKET = struct.Struct("<I")
STARTING, FOUND, READY, WITHOUT, FAILED = range(5)
"""In the first byte that all processes share; WITHOUT: the host searches. Behind it lies the text of a failure."""
MOST_TEXT = 4000
POLL = 0.01  # s
DEVICE, HOST = range(2)
TOGETHER = 1 << 18
"""Reads from which on no further request is searched together with others. The device needs 10 ms for as many."""
SWITCH = 2e-4  # s; two threads drive the device, and what one prepares must not keep the other waiting


def threads_beside(threads: int) -> int:
    """Threads of workers where a device serves `threads` cores: those that wait for it leave their core to others."""
    return threads + -(-threads // 2)


class Load:
    """How much waits for the device, and how fast it and the host are; in memory that processes share.

    Each number has one writer, or is an average of many to which any may add; nobody needs them to agree.

    Parameters
    ----------
    clients : int
        That may ask.
    """

    def __init__(self, clients: int):
        self._numbers = np.frombuffer(mmap.mmap(-1, 8 * (2 + clients)), np.float64)
        self.paces, self.waiting = self._numbers[:2], self._numbers[2:]

    def note(self, which: int, reads: int, nanoseconds: float) -> None:
        """`DEVICE` or `HOST` has searched so many reads in so much time."""
        pace = nanoseconds / max(reads, 1)
        known = self.paces[which]
        self.paces[which] = pace if known == 0 else known + (pace - known) / 4

    def is_host_faster(self, reads: int) -> bool:
        """Whether the host would have searched these reads before the device could. The first batch measures it."""
        device, host = self.paces.tolist()
        waiting = float(self.waiting.sum())
        if device == 0:
            return waiting > 0
        return 0 < reads * host < (waiting + reads) * device


class DeviceServer:
    """The process, as its parent and the workers see it. `search` is for any thread of a worker.

    Parameters
    ----------
    index : SeedIndex
    device : str
        As `opencl_engine.choose` takes it.
    plan, cascade, params
        Of the run.
    threads : int
        That may call `search`.

    Raises OSError where the system grants no process, no pipe or no shared memory.
    """

    def __init__(
        self, index: SeedIndex, device: str, plan: SearchPlan, cascade: Cascade, params: Any, threads: int
    ):
        load_libraries()
        self._device, self.threads = device, threads
        self._memory, self._load = SharedMemory(threads), Load(threads)
        self._status = mmap.mmap(-1, mmap.PAGESIZE * 2)
        calls, self._calls = os.pipe()
        self._tickets, tickets = os.pipe()
        answers = [os.pipe() for _ in range(threads)]
        self._answers = [pipe[0] for pipe in answers]
        self._local = threading.local()
        self._lock = threading.Lock()
        for i in range(threads):
            os.write(tickets, TICKET.pack(i))
        own = os.getpid()
        with warnings.catch_warnings():  # Python 3.12 warns beside any thread; `layout` has looked at them
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid: int | None = os.fork()
        if self._pid == 0:
            for fd in (self._calls, self._tickets, tickets, *self._answers):
                os.close(fd)
            self._serve(
                device, index, Searched(plan, cascade, params), calls, [pipe[1] for pipe in answers], own
            )
        for fd in (calls, tickets, *(pipe[1] for pipe in answers)):
            os.close(fd)

    # --- in a worker ---------------------------------------------------------------------------------------------

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """As `DeviceSearch.search`. None also while the device is not ready, and where the host would be faster.

        Raises DeviceError where it has failed.
        """
        status = self._status[0]
        if status == FAILED:
            raise DeviceError(self._text())
        if status != READY or not is_taken(context) or self._load.is_host_faster(context.n):
            return None
        client = self._client()
        with stats.timed("device"):
            self._load.waiting[client] = context.n
            found = self._asked(client, Request.of(context))
            self._load.waiting[client] = 0
        return None if found is None else found.result(context, stats)

    def note_host(self, reads: int, nanoseconds: int) -> None:
        """The host has searched so many reads in so much time."""
        self._load.note(HOST, reads, nanoseconds)

    def _asked(self, client: int, request: Request) -> Found | None:
        with suppress(BrokenPipeError):  # told of by the answer that does not come
            os.write(self._calls, CALL.pack(client, self._memory.put(client, tuple(request))))
        answer = os.read(self._answers[client], CALL.size)
        if not answer:
            raise DeviceError(f"device {self._device}: the process that drives it has ended")
        found: tuple | DeviceError | None = self._memory.get(*CALL.unpack(answer))
        if isinstance(found, DeviceError):
            raise found
        return None if found is None else Found(*found)

    def _client(self) -> int:
        """The number of the thread that calls: its region, and its pipe of answers."""
        if not hasattr(self._local, "client"):
            (self._local.client,) = TICKET.unpack(os.read(self._tickets, TICKET.size))
        return self._local.client

    def _text(self) -> str:
        return self._status[1:MOST_TEXT].rstrip(b"\0").decode("utf-8", "replace")

    # --- in the parent -------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Wait until it is known whether there is such a device. Raises DeviceError where there is none."""
        while self._status[0] == STARTING and self._is_alive():
            time.sleep(POLL)
        if self._status[0] == FAILED:
            raise DeviceError(self._text())
        if self._status[0] == STARTING:
            raise DeviceError(f"device {self._device}: the process that drives it has ended")

    def describe(self) -> str:
        """One line for people."""
        what = {READY: "on the device", FOUND: "on the host: the device was not ready in time"}
        return f"search {what.get(self._status[0], 'on the host')} ({self._device})"

    def _is_alive(self) -> bool:
        with self._lock:
            if self._pid is not None and os.waitpid(self._pid, os.WNOHANG)[0]:
                self._pid = None
            return self._pid is not None

    def close(self) -> None:
        """End the process: nothing that it still does is of use."""
        with self._lock, suppress(ProcessLookupError, ChildProcessError):
            if self._pid is not None:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            self._pid = None
        for fd in (self._calls, self._tickets, *self._answers):
            with suppress(OSError):
                os.close(fd)
        self._answers = []

    # --- in the process ------------------------------------------------------------------------------------------

    def _serve(
        self,
        device: str,
        index: SeedIndex,
        searched: Searched,
        calls: int,
        answers: Sequence[int],
        parent: int,
    ) -> None:
        """Answer calls until nobody can make one; the process ends here."""
        try:
            die_with_parent(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGBUS, signal.SIG_DFL)  # the parent's handler removes what is the parent's
            gc.freeze()
            sys.setswitchinterval(SWITCH)
            search, inbox = self._opened(device, index), Inbox(calls, self._memory)
            others = [
                threading.Thread(target=self._answer, args=(search, searched, inbox, answers), daemon=True)
                for _ in range(IN_FLIGHT - 1)
            ]
            for thread in others:
                thread.start()
            self._answer(search, searched, inbox, answers)
            for thread in others:
                thread.join()
        except DeviceError as error:
            self._say(FAILED, str(error).splitlines()[0])
        finally:
            os._exit(0)

    def _opened(self, device: str, index: SeedIndex) -> DeviceSearch:
        from gassst.extension import opencl_engine

        began = time.monotonic()
        info, chosen = opencl_engine.choose(device)
        found = time.monotonic() - began
        self._say(FOUND)
        engine = opencl_engine.Engine(info, chosen, index.reference.planes, alignments=False)
        search = DeviceSearch(index, engine)
        on_device = search.on_device()
        if on_device is not None:
            on_device.program(1)
        self._say(WITHOUT if on_device is None else READY)
        log.debug("%s: found in %.2f s, ready in %.2f s", info.name, found, time.monotonic() - began)
        return search

    def _say(self, status: int, text: str = "") -> None:
        encoded = text.encode()[: MOST_TEXT - 1]
        self._status[1 : 1 + len(encoded)] = encoded
        self._status[0] = status

    def _answer(self, search: DeviceSearch, searched: Searched, inbox: Inbox, answers: Sequence[int]) -> None:
        while taken := inbox.take():
            began, waiting = time.perf_counter_ns(), deque(taken)
            error: Any = None
            try:
                for found in search.found(searched, [request for _, request in taken]):
                    # The client is told before it is forgotten: it must have one answer.
                    client, value = waiting[0][0], None if found is None else tuple(found)
                    os.write(answers[client], CALL.pack(client, self._memory.put(client, value)))
                    waiting.popleft()
            except DeviceError as failure:
                error = DeviceError(str(failure).splitlines()[0])
            except BaseException as failure:
                error = DeviceError(f"device: {type(failure).__name__}: {failure}")
            for client, _ in waiting:
                os.write(answers[client], CALL.pack(client, self._memory.put(client, error)))
            reads = sum(len(request.lengths) for _, request in taken)
            self._load.note(DEVICE, reads, (time.perf_counter_ns() - began) / IN_FLIGHT)


class Inbox:
    """The requests that wait, for the threads that drive the device.

    `calls`: the pipe of calls; `memory`: where the requests lie.
    """

    def __init__(self, calls: int, memory: SharedMemory):
        self._calls, self._memory = calls, memory
        self._lock = threading.Lock()
        self._calls_read: deque[tuple[int, int]] = deque()

    def take(self) -> list[tuple[int, Request]]:
        """The clients and requests that wait, `TOGETHER` reads of them or a little more; none once all have gone."""
        taken: list[tuple[int, Request]] = []
        reads = 0
        with self._lock:
            while reads < TOGETHER and (self._calls_read or not taken or self._has_more()):
                if not self._calls_read:
                    message = os.read(self._calls, CALL.size * select.PIPE_BUF)
                    if not message:
                        break
                    self._calls_read.extend(CALL.iter_unpack(message))
                client, size = self._calls_read.popleft()
                taken.append((client, Request(*self._memory.get(client, size))))
                reads += len(taken[-1][1].lengths)
        return taken

    def _has_more(self) -> bool:
        return bool(select.select([self._calls], [], [], 0)[0])

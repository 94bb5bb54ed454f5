"""What the process that drives a device does, and what workers ask of it (Linux).

One process has the device and its memory. A thread that drives it needs Python's lock for every command; beside threads
that parse and encode it would wait for that lock longer than for the device. So workers put the reads of a batch into
shared memory, and find the bands of the batch there. Requests that wait are searched together. Until the device is
ready, and where it has more to do than the host needs time for, workers search on the host.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gassst.errors import DeviceError
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.device import DeviceSearch, Found, Request, Searched, is_taken
from gassst.search.device_index import IN_FLIGHT
from gassst.search.device_process import (
    CALL,
    DEVICE,
    FOUND,
    HOST,
    READY,
    TICKET,
    WITHOUT,
    DeviceProcess,
    Job,
)
from gassst.search.filters import Cascade
from gassst.seeding.plan import SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.stats import Stats
from gassst.workers.shared_memory import SharedMemory

log = logging.getLogger("gassst")

TOGETHER = 1 << 18
"""Reads from which on no further request is searched together with others. The device needs 10 ms for as many."""
SWITCH = 2e-4  # s; two threads drive the device, and what one prepares must not keep the other waiting


class DeviceServer:
    """The device, as the workers and their parent see it. `search` is for any thread of a worker.

    Parameters
    ----------
    process : DeviceProcess
        Ended by `close`.
    named : bool
        Whether the run asked for this device. Else the host goes on without it where it fails.
    """

    def __init__(self, process: DeviceProcess, named: bool = True):
        self._process, self._named = process, named
        self.threads = process.threads
        self._local = threading.local()

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """As `DeviceSearch.search`. None also while the device is not ready, and where the host would be faster.

        Raises DeviceError where a device that was named has failed.
        """
        try:
            return self._search(context, stats)
        except DeviceError as error:
            if self._named:
                raise
            log.debug("%s: on with the host", error)
            return None

    def _search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        process = self._process
        if process.status != READY or not is_taken(context) or process.load.is_host_faster(context.n):
            return None
        client = self._client()
        process.load.waiting[client] = context.n
        try:
            with stats.timed("device"):
                found = self._asked(client, Request.of(context))
        finally:
            process.load.waiting[client] = 0
        return None if found is None else found.result(context, stats)

    def note_host(self, reads: int, nanoseconds: int) -> None:
        """The host has searched so many reads in so much time."""
        self._process.load.note(HOST, reads, nanoseconds)

    def _asked(self, client: int, request: Request) -> Found | None:
        with suppress(BrokenPipeError):  # told of by the answer that does not come
            os.write(self._process.calls, CALL.pack(client, self._process.memory.put(client, tuple(request))))
        answer = os.read(self._process.answers[client], CALL.size)
        if not answer:
            raise DeviceError(f"device {self._process.device}: the process that drives it has ended")
        found: tuple | DeviceError | None = self._process.memory.get(*CALL.unpack(answer))
        if isinstance(found, DeviceError):
            raise found
        return None if found is None else Found(*found)

    def _client(self) -> int:
        """The number of the thread that calls: its region, and its pipe of answers."""
        if not hasattr(self._local, "client"):
            (self._local.client,) = TICKET.unpack(os.read(self._process.tickets, TICKET.size))
        return self._local.client

    def describe(self) -> str:
        """One line for people."""
        what = {READY: "on the device", FOUND: "on the host: the device was not ready in time"}
        try:
            where = what.get(self._process.status, "on the host")
        except DeviceError as error:
            where = f"on the host: {error}"
        return f"search {where} ({self._process.device})"

    def verify(self) -> None:
        """As `DeviceProcess.verify`, of a device that was named."""
        if self._named:
            self._process.verify()

    def close(self) -> None:
        """As `DeviceProcess.close`."""
        self._process.close()


def serve(process: DeviceProcess, job: Job | None, jobs: int, calls: int, answers: Sequence[int]) -> None:
    """In the process: find the device, put the index there, answer calls until nobody can make one."""
    from gassst.extension import opencl_engine

    began = time.monotonic()
    info, device = opencl_engine.choose(process.device)
    found = time.monotonic() - began
    process.say(FOUND)
    if job is None:
        with os.fdopen(jobs, "rb") as pipe, suppress(EOFError):
            job = pickle.load(pipe)
    if job is None:  # the parent needs no device
        return
    index = job.index if job.path is None else SeedIndex.open(job.path, False, job.parts)
    engine = opencl_engine.Engine(info, device, index.reference.planes, alignments=False)
    search = DeviceSearch(index, engine)
    on_device = search.on_device()
    if on_device is not None:
        on_device.program(1)
        on_device.reads_at_once = TOGETHER + TOGETHER // 4
    plan = SearchPlan(job.params, index.plan_k, index.reference.unmasked)
    searched = Searched(plan, Cascade.of_run(job.params, plan), job.params)
    process.say(WITHOUT if on_device is None else READY)
    log.debug("%s: found in %.2f s, ready in %.2f s", info.name, found, time.monotonic() - began)
    gc.freeze()
    sys.setswitchinterval(SWITCH)
    inbox = Inbox(calls, process.memory)
    work = search, searched, inbox, process, answers
    others = [threading.Thread(target=_answer, args=work, daemon=True) for _ in range(IN_FLIGHT - 1)]
    for thread in others:
        thread.start()
    _answer(*work)
    for thread in others:
        thread.join()


def _answer(
    search: DeviceSearch, searched: Searched, inbox: Inbox, process: DeviceProcess, answers: Sequence[int]
) -> None:
    while taken := inbox.take():
        began, waiting = time.perf_counter_ns(), deque(taken)
        error: Any = None
        try:
            for found in search.found(searched, [request for _, request in taken]):
                # The client is told before it is forgotten: it must have one answer.
                client, value = waiting[0][0], None if found is None else tuple(found)
                os.write(answers[client], CALL.pack(client, process.memory.put(client, value)))
                waiting.popleft()
        except DeviceError as failure:
            error = DeviceError(str(failure).splitlines()[0])
        except BaseException as failure:
            error = DeviceError(f"device: {type(failure).__name__}: {failure}")
        for client, _ in waiting:
            os.write(answers[client], CALL.pack(client, process.memory.put(client, error)))
        reads = sum(len(request.lengths) for _, request in taken)
        process.load.note(DEVICE, reads, (time.perf_counter_ns() - began) / IN_FLIGHT)


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

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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby

from gassst.errors import DeviceError
from gassst.gpu.asked import Asked
from gassst.gpu.index import IN_FLIGHT, SOURCES, SOURCES_OF_ALL
from gassst.gpu.process import (
    CALL,
    DEVICE,
    FAILED,
    FOUND,
    HOST,
    READY,
    TICKET,
    WITHOUT,
    DeviceProcess,
    Job,
)
from gassst.gpu.requests import DENSE, SEARCH, Answer, Request, Searched
from gassst.gpu.search import DeviceSearch
from gassst.gpu.trial import PairTrial, Trial
from gassst.index.seed_index import SeedIndex
from gassst.model.stats import Stats
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.search.plan import SearchPlan
from gassst.workers.shared_memory import SharedMemory

log = logging.getLogger("gassst")

TOGETHER = 1 << 18
"""Reads from which on no further request is searched together with others. The device needs 10 ms for as many."""
TOGETHER_OF_ALL = 1 << 16
"""The same where all places are wanted: a read takes the device ten times as long, and what it finds the host, too."""
FEW_READS, PATIENCE = 1 << 17, 0.008
"""Fewer reads to be searched than these wait so many seconds for more. A search has a hundred commands however few
reads it has, and what drives the device is busier than the device."""
FEW_OF_PAIRS, PATIENCE_WITH_PAIRS = 1 << 15, 0.004
"""The same of reads whose seeds alone are looked up."""
SETTLED = 0.02
"""s from one look at whether the device is ready to the next."""
SWITCH = 2e-4  # s; two threads drive the device, and what one prepares must not keep the other waiting


class DeviceServer(Asked):
    """The device, as the workers and their parent see it. `search` is for any thread of a worker.

    Parameters
    ----------
    process : DeviceProcess
        Ended by `close`, but for one that is kept.
    named : bool
        Whether the run asked for this device. Else the host goes on without it where it fails.
    is_kept : bool
        Whether `close` leaves the process to the runs that follow.

    Attributes
    ----------
    threads : int
        That may ask.
    turns : Turns
        Of these threads, to be taken by what computes.
    process : DeviceProcess
    """

    def __init__(self, process: DeviceProcess, named: bool = True, is_kept: bool = False):
        self.process, self._named, self._is_kept = process, named, is_kept
        self.threads, self.turns = process.threads, process.turns
        self._counts, self._account = (0, 0), ""  # as of the last `settle`
        self._local = threading.local()

    def ask(self, context: BatchContext, stats: Stats, request: Request) -> Answer | None:
        """None also while the device is not ready, and where the host would be faster.

        For all places it waits until the device is ready, or will never be: a batch takes the host longer. Raises
        DeviceError where a device that was named has failed.
        """
        if request.stage == SEARCH and context.params.exhaustive:
            self._wait_until_settled()
        try:
            return self._asked_of_device(request, stats)
        except DeviceError as error:
            if self._named:
                raise
            log.debug("%s: on with the host", error)
            return None

    def _asked_of_device(self, request: Request, stats: Stats) -> Answer | None:
        process, reads = self.process, request.n_asked
        if process.status != READY:
            return None
        if request.stage == DENSE:  # few reads, and a wait costs no core
            with stats.timed("device"):
                return self._answer(self._client(), request)
        client, load = self._client(), process.load
        if load.is_host_faster(reads):
            load.left[client] += reads
            return None
        load.waiting[client] = reads
        try:
            with stats.timed("device"):
                found = self._answer(client, request)
        finally:
            load.waiting[client] = 0
        (load.left if found is None else load.taken)[client] += reads
        return found

    def _wait_until_settled(self) -> None:
        """Until it is known whether the device answers. The pipe of answers tells where its process has ended."""
        answers = self.process.answers[self._client()]
        with self.process.turns.given_up():
            while not self.process.is_settled and not select.select([answers], [], [], SETTLED)[0]:
                pass

    def admit(self) -> None:
        """As `DeviceProcess.admit`."""
        self.process.admit()

    def note_host(self, reads: int, nanoseconds: int) -> None:
        self.process.load.note(HOST, reads, nanoseconds)

    def _answer(self, client: int, request: Request) -> Answer | None:
        with suppress(BrokenPipeError):  # told of by the answer that does not come
            os.write(self.process.calls, CALL.pack(client, self.process.memory.put(client, request)))
        with self.process.turns.given_up():
            answer = os.read(self.process.answers[client], CALL.size)
        if not answer:
            raise DeviceError(f"device {self.process.device}: the process that drives it has ended")
        found: Answer | DeviceError | None = self.process.memory.get(*CALL.unpack(answer))
        if isinstance(found, DeviceError):
            raise found
        return found

    def _client(self) -> int:
        """The number of the thread that calls: its region, and its pipe of answers."""
        if not hasattr(self._local, "client"):
            (self._local.client,) = TICKET.unpack(os.read(self.process.tickets, TICKET.size))
        return self._local.client

    def settle(self) -> str:
        """What `describe` says from now on: of what was asked since the last call. The next run may have begun."""
        before, self._counts = self._counts, self.process.load.counts
        taken, left = (now - then for now, then in zip(self._counts, before, strict=True))
        what = {
            READY: f"on the device once it was ready: {taken:,} reads, and {left:,} on the host, which was free sooner",
            FOUND: "on the host: the device was not ready in time",
        }
        try:
            where = what.get(self.process.status, "on the host")
        except DeviceError as error:
            where = f"on the host: {error}"
        self._account = f"search {where} ({self.process.device})"
        return self._account

    def describe(self) -> str:
        """As `Asked.describe`, of the run that ended last."""
        return self._account

    def verify(self) -> None:
        """As `DeviceProcess.verify`, of a device that was named. Any other that was found and failed is a warning."""
        if self._named:
            self.process.verify()
            return
        try:
            self.process.status  # noqa: B018 - it may raise
        except DeviceError as error:
            level = logging.WARNING if self.process.was_found else logging.DEBUG
            log.log(level, "%s; the host has gone on without it", error)

    def close(self) -> None:
        """As `DeviceProcess.close`, of a process that is not kept."""
        if not self._is_kept:
            self.process.close()


def serve(process: DeviceProcess, job: Job | None, jobs: int, calls: int, answers: Sequence[int]) -> None:
    """In the process: find the device, put the index there, answer calls until nobody can make one."""
    from gassst.gpu import platforms
    from gassst.gpu.device import Engine

    began = time.monotonic()
    info, device = platforms.choose(process.device)
    found = time.monotonic() - began
    process.say(FOUND)
    if job is None:
        with os.fdopen(jobs, "rb") as pipe, suppress(EOFError):
            job = pickle.load(pipe)
    if job is None:  # the parent needs no device
        return
    index = SeedIndex.open(job.path, False) if job.path is not None else job.index
    assert index is not None
    if tuple(index.reference.md5) != job.md5:
        raise DeviceError(f"{job.path} was replaced while the run began")
    plan = SearchPlan(job.params, index.plan_k, index.reference.unmasked, index.spectrum)
    searched = Searched(plan, Cascade.of_run(job.params, plan), job.params)

    is_of_all = job.params.exhaustive and not job.pairs
    sources, together = (SOURCES_OF_ALL, TOGETHER_OF_ALL) if is_of_all else (SOURCES, TOGETHER)
    with ThreadPoolExecutor(1) as beside:
        # It takes as long as the context of the device.
        make: Callable[[SeedIndex, Searched], Trial | PairTrial] = PairTrial.of if job.pairs else Trial.of
        trial = beside.submit(make, index, searched)
        engine = Engine(info, device, index.reference.planes)
        search = DeviceSearch(index, engine, sources=sources)
        on_device = search.on_device()
        if on_device is not None:
            on_device.reads_at_once = together + together // 4
            search.warm_up(trial.result())
    process.say(WITHOUT if on_device is None else READY)
    log.debug("%s: found in %.2f s, ready in %.2f s", info.name, found, time.monotonic() - began)
    if on_device is None:
        return
    gc.freeze()
    sys.setswitchinterval(SWITCH)
    drive(search, searched, Inbox(calls, process.memory, together), process, answers)


def drive(
    search: DeviceSearch,
    searched: Searched,
    inbox: Inbox,
    process: DeviceProcess,
    answers: Sequence[int],
) -> None:
    """Answer calls by `IN_FLIGHT` threads until nobody can make one.

    What one of them cannot tell as an answer ends the process: no client waits in vain.
    """

    def answer() -> None:
        try:
            _answer(search, searched, inbox, process, answers)
        except BaseException as error:
            process.say(FAILED, f"device {process.device}: {type(error).__name__}: {error}")
            os._exit(1)

    threads = [threading.Thread(target=answer) for _ in range(IN_FLIGHT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _answer(
    search: DeviceSearch,
    searched: Searched,
    inbox: Inbox,
    process: DeviceProcess,
    answers: Sequence[int],
) -> None:
    """Search what waits, one of `IN_FLIGHT` threads that do."""
    while taken := inbox.take():
        taken.sort(key=lambda call: call[1].kind)
        spent, waiting = 0, deque(taken)
        error: DeviceError | None = None
        try:
            for _, calls in groupby(taken, lambda call: call[1].kind):
                requests, began = [request for _, request in calls], time.perf_counter_ns()
                for found in search.found(searched, requests):
                    # The client is told before it is forgotten: it must have one answer.
                    client = waiting[0][0]
                    os.write(answers[client], CALL.pack(client, process.memory.put(client, found)))
                    waiting.popleft()
                if requests[0].stage != DENSE:
                    spent += time.perf_counter_ns() - began
        except DeviceError as failure:
            error = DeviceError(str(failure).splitlines()[0])
        except BaseException as failure:
            error = DeviceError(f"device: {type(failure).__name__}: {failure}")
        if error is not None:
            process.say(FAILED, str(error))
        for client, _ in waiting:
            os.write(answers[client], CALL.pack(client, process.memory.put(client, error)))
        inbox.done()
        reads = sum(request.n_asked for _, request in taken if request.stage != DENSE)
        if reads:
            process.load.note(DEVICE, reads, spent / IN_FLIGHT)


class Inbox:
    """The requests that wait, for the threads that drive the device.

    `calls`: the pipe of calls; `memory`: where the requests lie; `together`: reads from which on no further request is
    taken together with others.
    """

    def __init__(self, calls: int, memory: SharedMemory, together: int = TOGETHER):
        self._calls, self._memory, self._together = calls, memory, together
        self._lock = threading.Lock()
        self._calls_read: deque[tuple[int, int]] = deque()
        self._counting = threading.Lock()
        self._searching = 0  # threads that have requests in hand

    def take(self) -> list[tuple[int, Request]]:
        """The clients and requests that wait, `together` reads of them or a little more; none once all have gone.

        While another thread searches, a few reads wait for more. `done` must follow.
        """
        taken: list[tuple[int, Request]] = []
        reads = 0
        with self._lock:
            while reads < self._together and (
                not taken or self._has_more(reads, taken[0][1].stage == SEARCH)
            ):
                if not self._calls_read:
                    message = os.read(self._calls, CALL.size * select.PIPE_BUF)
                    if not message:
                        break
                    self._calls_read.extend(CALL.iter_unpack(message))
                client, size = self._calls_read.popleft()
                taken.append((client, self._memory.get(client, size)))
                reads += len(taken[-1][1].lengths)
            with self._counting:
                self._searching += 1
        return taken

    def done(self) -> None:
        """What was taken has been searched."""
        with self._counting:
            self._searching -= 1

    def _has_more(self, reads: int, is_search: bool) -> bool:
        """Whether a request waits beside so many reads; such as are searched wait longer for more."""
        if self._calls_read:
            return True
        few, patience = (FEW_READS, PATIENCE) if is_search else (FEW_OF_PAIRS, PATIENCE_WITH_PAIRS)
        patience = patience if self._searching and reads < few else 0
        return bool(select.select([self._calls], [], [], patience)[0])

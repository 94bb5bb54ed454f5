"""A process that does nothing but drive a device, for the worker processes of a run (Linux).

One process has the device and its memory. A thread that drives it needs Python's lock for every command; beside threads
that parse and encode it would wait for that lock longer than for the device. So workers put the reads of a batch into
shared memory, and find the bands of the batch there. Until the device is ready they search on the host.

`DeviceServer` is forked before the workers are, which inherit its pipes: one for calls, and one for answers for each
thread that may ask.
"""

from __future__ import annotations

import gc
import logging
import mmap
import os
import signal
import struct
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gassst.children import die_with_parent, load_libraries
from gassst.errors import DeviceError
from gassst.search.arrays import U8, U32, U64, GlobalResult
from gassst.search.context import BatchContext
from gassst.search.device import DeviceSearch, Found, is_taken
from gassst.search.device_index import IN_FLIGHT
from gassst.search.filters import Cascade
from gassst.seeding.lookup import WholeIndex
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


@dataclass(frozen=True, eq=False, repr=False)
class Packed:
    """As `PackedReads`."""

    planes: U64
    plane_start: U32
    lengths: U32


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
        self._device = device
        self._memory = SharedMemory(threads)
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
            context = index, WholeIndex(index), plan, cascade, params
            self._serve(device, context, calls, [pipe[1] for pipe in answers], own)
        for fd in (calls, tickets, *(pipe[1] for pipe in answers)):
            os.close(fd)

    # --- in a worker ---------------------------------------------------------------------------------------------

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """As `DeviceSearch.search`; None also while the device is not ready. Raises DeviceError where it has failed."""
        status = self._status[0]
        if status == FAILED:
            raise DeviceError(self._text())
        if status != READY or not is_taken(context):
            return None
        with stats.timed("device"):
            found = self._asked(context)
        return None if found is None else found.result(context, stats)

    def _asked(self, context: BatchContext) -> Found | None:
        packed, client = context.packed, self._client()
        arrays = packed.planes, packed.plane_start, packed.lengths, context.flip
        with suppress(BrokenPipeError):  # told of by the answer that does not come
            os.write(self._calls, CALL.pack(client, self._memory.put(client, arrays)))
        answer = os.read(self._answers[client], CALL.size)
        if not answer:
            raise DeviceError(f"device {self._device}: the process that drives it has ended")
        found: Found | DeviceError | None = self._memory.get(*CALL.unpack(answer))
        if isinstance(found, DeviceError):
            raise found
        return found

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

    def _serve(self, device: str, context: tuple, calls: int, answers: Sequence[int], parent: int) -> None:
        """Answer calls until nobody can make one; the process ends here."""
        try:
            die_with_parent(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGBUS, signal.SIG_DFL)  # the parent's handler removes what is the parent's
            gc.freeze()
            search = self._opened(device, context[0])
            others = [
                threading.Thread(target=self._answer, args=(search, context, calls, answers), daemon=True)
                for _ in range(IN_FLIGHT - 1)
            ]
            for thread in others:
                thread.start()
            self._answer(search, context, calls, answers)
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

    def _answer(self, search: DeviceSearch, context: tuple, calls: int, answers: Sequence[int]) -> None:
        while message := os.read(calls, CALL.size):
            client, size = CALL.unpack(message)
            planes, plane_start, lengths, flip = self._memory.get(client, size)
            found: Any
            try:
                found = search.found(batch_context(context, Packed(planes, plane_start, lengths), flip))
            except DeviceError as error:
                found = DeviceError(str(error).splitlines()[0])
            except BaseException as error:
                found = DeviceError(f"device: {type(error).__name__}: {error}")
            os.write(answers[client], CALL.pack(client, self._memory.put(client, found)))


def batch_context(searched: tuple, packed: Any, flip: U8) -> BatchContext:
    """A batch as the device sees it: what only the host's passes read is left empty."""
    index, parts, plan, cascade, params = searched
    plan.prepare(packed.lengths)
    of_reads = plan.errors[packed.lengths], plan.words[packed.lengths]
    lead, digest = np.empty(0, np.uint32), np.empty(0, np.uint64)
    return BatchContext(index, parts, plan, cascade, params, packed, *of_reads, lead, flip, digest)

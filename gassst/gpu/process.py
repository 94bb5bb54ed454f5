"""The process that drives a device, as the others see it: started early, told later what to search in (Linux).

`gassst map` starts it before anything large is imported: the device's libraries load while the host opens the index.
So this module imports little. What the process does is in `gpu.server`, and so is what workers ask of it;
`gpu.start` starts it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import struct
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gassst.errors import DeviceError
from gassst.workers.children import die_with_parent, load_libraries
from gassst.workers.shared_memory import SharedMemory

if TYPE_CHECKING:
    from gassst.index.seed_index import SeedIndex
    from gassst.model.params import MapParams

CALL = struct.Struct("<IQ")  # client, bytes
TICKET = struct.Struct("<I")
STARTING, FOUND, READY, WITHOUT, FAILED = range(5)
"""In the first byte that all processes share; WITHOUT: the host searches. Behind it lies the text of a failure."""
MOST_TEXT = 4000
WAS_FOUND = MOST_TEXT + 1
POLL = 0.01  # s
DEVICE, HOST = range(2)
FIRST_PACE = 250.0  # ns a read; what a device is taken for until it is known. An H100 needs 60


class Load:
    """How much waits for the device, and how fast it and the host are; in memory that processes share.

    `waiting`: reads of each client that wait; `taken`: those that the device has answered it for; `left`: the others of
    which it would have asked. A read of a pair is asked for more than once.

    Each number has one writer, or is an average of many to which any may add; nobody needs them to agree.

    Parameters
    ----------
    clients : int
        That may ask.
    """

    def __init__(self, clients: int):
        numbers = np.frombuffer(mmap.mmap(-1, 8 * (2 + 3 * clients)), np.float64)
        self.paces, by_client = numbers[:2], numbers[2:].reshape(3, clients)
        self.waiting, self.taken, self.left = by_client
        self.paces[DEVICE] = FIRST_PACE

    def note(self, which: int, reads: int, nanoseconds: float) -> None:
        """`DEVICE` or `HOST` has searched so many reads in so much time.

        What a few reads take is mostly the same for many: the pace falls at once, and rises by half at most.
        """
        pace, known = nanoseconds / max(reads, 1), self.paces[which]
        self.paces[which] = pace if known == 0 else min(pace, 1.5 * known)

    def begin_again(self) -> None:
        """Forget what was counted, not how fast they are."""
        self.waiting[:] = self.taken[:] = self.left[:] = 0

    @property
    def counts(self) -> tuple[int, int]:
        """Reads `taken` and `left` in all."""
        return int(self.taken.sum()), int(self.left.sum())

    def is_host_faster(self, reads: int) -> bool:
        """Whether the host would have searched these reads before the device could."""
        device, host = self.paces.tolist()
        return bool(0 < reads * host < (float(self.waiting.sum()) + reads) * device)


class Turns:
    """Lets so many threads compute at once, of all processes that inherit it; one that waits for a device does not.

    The turns that nobody has are bytes in a pipe, which is open as long as a thread has this object.
    """

    def __init__(self, turns: int):
        self.pipe = os.pipe()
        for fd in self.pipe:
            weakref.finalize(self, os.close, fd)
        os.write(self.pipe[1], bytes(turns))
        self._mine = threading.local()

    def __enter__(self) -> None:
        os.read(self.pipe[0], 1)
        self._mine.has_one = True

    def __exit__(self, *error: object) -> None:
        self._mine.has_one = False
        os.write(self.pipe[1], b"\0")

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """While this thread waits. Nothing to give up has one that has no turn."""
        if not getattr(self._mine, "has_one", False):
            yield
            return
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()


@dataclass(frozen=True)
class Job:
    """What a run searches: `index`, a SeedIndex, or `path` for `SeedIndex.open`; the parameters.

    `md5` of its contigs: there may be another index under the name by then. `pairs`: whether its reads have mates.
    """

    index: SeedIndex | None
    path: str | None
    md5: tuple[str, ...]
    params: MapParams
    pairs: bool = False

    @classmethod
    def of(cls, index: SeedIndex, params: MapParams, pairs: bool = False) -> Job:
        """The job of searching in an index that the run has opened."""
        params = params.for_pairs() if pairs else params.for_single()
        return cls(index, index.path, tuple(index.reference.md5), params, pairs)


class DeviceProcess:
    """The process, its pipes and the memory that it shares. Workers inherit them.

    There is a pipe for calls, and for each thread that may call one for its answers.

    Parameters
    ----------
    device : str
        As `platforms.choose` takes it.
    threads : int
        That may call.
    serve : callable
        What the process does, with this object, the job, and the file descriptors of the pipe of jobs, of that of
        calls and of those of answers.
    job : Job, optional
        None: `tell` gives it later.
    at_once : int, optional
        Threads that may compute at once (`Turns`); all by default.

    Raises OSError where the system grants no process, no pipe or no shared memory.
    """

    def __init__(
        self,
        device: str,
        threads: int,
        serve: Callable[..., None],
        job: Job | None = None,
        at_once: int | None = None,
    ):
        load_libraries()
        self.device, self.threads = device, threads
        self._told = job
        self.memory, self.load = SharedMemory(threads), Load(threads)
        self.turns = Turns(at_once or threads)
        self._status = mmap.mmap(-1, mmap.PAGESIZE * 2)
        self._lock = threading.Lock()
        with ExitStack() as unless_started:

            def pipe() -> tuple[int, int]:
                ends = os.pipe()
                for fd in ends:
                    unless_started.callback(os.close, fd)
                return ends

            calls, self.calls = pipe()
            jobs, self._jobs = pipe()
            self.tickets, tickets = pipe()
            answers = [pipe() for _ in range(threads)]
            self.answers = [ends[0] for ends in answers]
            self._tickets = tickets
            self._put_tickets()
            own = os.getpid()
            with (
                warnings.catch_warnings()
            ):  # Python 3.12 warns beside any thread; `layout` has looked at them
                warnings.simplefilter("ignore", DeprecationWarning)
                self._pid: int | None = os.fork()
            unless_started.pop_all()
        if self._pid == 0:
            for fd in (self.calls, self._jobs, self.tickets, tickets, *self.answers):
                os.close(fd)
            self._drive(lambda: serve(self, job, jobs, calls, [pipe[1] for pipe in answers]), own)
        self._open = [self.calls, self._jobs, self.tickets, tickets, *self.answers]
        for fd in (calls, jobs, *(pipe[1] for pipe in answers)):
            os.close(fd)

    def _put_tickets(self) -> None:
        """One for each thread that may call."""
        for i in range(self.threads):
            os.write(self._tickets, TICKET.pack(i))

    def _drive(self, serve: Callable[[], None], parent: int) -> None:
        """In the process, which ends here."""
        try:
            die_with_parent(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGBUS, signal.SIG_DFL)  # the parent's handler removes what is the parent's
            serve()
        except DeviceError as error:
            self.say(FAILED, str(error).splitlines()[0])
        except BaseException as error:
            self.say(FAILED, f"device {self.device}: {type(error).__name__}: {error}")
        finally:
            os._exit(0)

    def say(self, status: int, text: str = "") -> None:
        """To all that share the memory; of the process alone."""
        self._status[1:MOST_TEXT] = text.encode()[: MOST_TEXT - 1].ljust(MOST_TEXT - 1, b"\0")
        self._status[WAS_FOUND] |= status == FOUND
        self._status[0] = status

    @property
    def status(self) -> int:
        """STARTING to WITHOUT. Raises DeviceError where the device has failed."""
        if self._status[0] == FAILED:
            raise DeviceError(self._status[1:MOST_TEXT].rstrip(b"\0").decode("utf-8", "replace"))
        return self._status[0]

    @property
    def is_ready(self) -> bool:
        """Whether the index is on the device, and answers come from there."""
        return self._status[0] == READY

    @property
    def is_settled(self) -> bool:
        """Whether it is known if answers come from there."""
        return self._status[0] in (READY, WITHOUT, FAILED)

    @property
    def was_found(self) -> bool:
        """Whether there is such a device, failed or not."""
        return bool(self._status[WAS_FOUND])

    # --- in the parent -------------------------------------------------------------------------------------------

    def tell(self, job: Job) -> None:
        """What to search in, once; of an index its path."""
        self._told = replace(job, index=None)
        with suppress(BrokenPipeError), os.fdopen(self._jobs, "wb", closefd=False) as pipe:
            pickle.dump(self._told, pipe)

    def serves(self, job: Job) -> bool:
        """Whether it searches for such a job already: an index that it has uploaded is of use to the next sample."""
        return self._told == replace(job, index=None) and bool(self._open)

    def begin_again(self) -> None:
        """For another run."""
        self.load.begin_again()

    def admit(self) -> None:
        """Have threads call that are about to start, after all that could call have ended."""
        while select.select([self.tickets], [], [], 0)[0]:
            os.read(self.tickets, TICKET.size)
        self._put_tickets()

    @property
    def can_be_told(self) -> bool:
        """Whether it waits for what to search in: it is told once, and not after `close`."""
        return self._told is None and bool(self._open)

    def verify(self) -> None:
        """Wait until it is known whether there is such a device. Raises DeviceError where there is none."""
        while self.status == STARTING:
            if not self._is_alive() and self.status == STARTING:
                raise DeviceError(f"device {self.device}: the process that drives it has ended")
            time.sleep(POLL)

    def _is_alive(self) -> bool:
        with self._lock:
            if self._pid is not None and os.waitpid(self._pid, os.WNOHANG)[0]:
                self._pid = None
            return self._pid is not None

    def close(self) -> None:
        """End the process: nothing that it still does is of use."""
        with self._lock:
            if self._pid is not None:
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(self._pid, signal.SIGKILL)
                    os.waitpid(self._pid, 0)
            self._pid, closed, self._open = None, self._open, []
        for fd in closed:
            os.close(fd)

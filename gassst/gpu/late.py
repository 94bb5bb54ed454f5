"""A device that a thread looks for while the host maps already: that of `gassst map` where it uses a GPU.

Until the device is ready, batches are searched on the host. Drivers may crash or hang, so another process tries the
device first (`gpu.probe`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gassst.errors import DeviceError
from gassst.gpu.devices import is_named
from gassst.gpu.taken import IN_FLIGHT, is_searched, is_taken
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.search.plan import SearchPlan

if TYPE_CHECKING:
    from gassst.gpu.found import Found
    from gassst.gpu.search import DeviceSearch

log = logging.getLogger("gassst")


START = 4.0
"""Seconds of threads that the start of a device takes, about."""
SHARE = 0.02
"""Of what is left of a run, that the start of a device which nobody named may take."""
MEASURED = 5 * START
"""Seconds of threads from which on it is known how fast reads are done."""


class LateSearch:
    """The search of whole batches on a device that is looked for once a run can use it (`search.context.BatchDevice`).

    It raises DeviceError where a device that was named has failed; the host goes on without any other.

    Parameters
    ----------
    index : SeedIndex
    lookup : WholeIndex
    plan, cascade, params
        Of all runs, as `BatchContext` has them. Without the name of a device it is any GPU.

    Attributes
    ----------
    more_threads : int
        Threads of a run beyond those that were asked for, as some wait for the device. None where nobody named it: it
        may not come.
    """

    def __init__(
        self, index: SeedIndex, lookup: WholeIndex, plan: SearchPlan, cascade: Cascade, params: MapParams
    ):
        self.named = is_named(params.device)
        self.device = str(params.device).lower() if self.named else "gpu"
        self.more_threads = IN_FLIGHT * self.named
        self._index, self._lookup, self._plan, self._cascade = index, lookup, plan, cascade
        self._params = params
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._found, self._settled = threading.Event(), threading.Event()
        self._search: DeviceSearch | None = None  # once it is ready
        self._error: DeviceError | None = None
        self._is_told = False
        self._taken = 0  # reads, since the last run has ended
        # When the first reads were done that are measured, how many were by then, and which share of the input.
        self._since: tuple[float, int, float] | None = None
        self._pace_alone, self._is_judged, self._is_slower = 0.0, False, False
        self._account = ""

    # --- runs ----------------------------------------------------------------------------------------------------

    def for_run(self) -> LateSearch | None:
        """This, or None for a run that has no use for it. With the name of a device, the thread starts now."""
        if not self._suits():
            if self.named and not self._is_told:
                self._is_told = True
                log.info("device %s: such a run is searched on the host", self.device)
                self._tried()
            return None
        if self.named and self._thread is None:
            self._start_thread()
        return self

    def note_done(self, reads: int, share: float | None) -> None:
        """Note how many reads of a run are done, and which share of its input; None of a stream: as much may be left.

        A device that nobody named is looked for once so much is left to the host that the start hardly counts. It is
        left alone again if reads were done faster before. The first, small batches tell nothing: most reads are under
        way then.
        """
        is_awaited = self._thread is not None and self._search is None
        round_of_batches = self._params.threads * self._params.reads_per_batch()
        if self.named or is_awaited or self._is_judged or reads < round_of_batches:
            return
        now = time.monotonic()
        since, reads_before, before = self._since = self._since or (now, reads, share or 0.0)
        spent = (now - since) * self._params.threads
        if spent < MEASURED or reads == reads_before:
            return
        pace = (reads - reads_before) / spent
        if self._thread is not None:
            self._is_judged, self._is_slower = True, pace < self._pace_alone
            log.debug("reads a second of a thread: %.0f alone, %.0f with the device", self._pace_alone, pace)
            return
        left = spent if share is None else spent * (1 - share) / max(share - before, 1e-9)
        if left * SHARE > START:
            log.debug("a device is looked for: about %.0f s of threads are left", left)
            self._pace_alone, self._since = pace, None
            self._start_thread()

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._start, name="gassst-device", daemon=True)
        self._thread.start()

    def _suits(self) -> bool:
        is_whole = self._index.reference.alt is None
        return is_whole and is_searched(self._params, self._index, self._lookup, self._cascade)

    def end_run(self) -> None:
        """A run is over. Raises DeviceError where the device was named, and cannot be had or has failed."""
        if self.named:
            self._found.wait()
        error = self._error
        if error is not None and self.named:
            raise error
        if error is not None and not self._is_told:
            self._is_told = True
            level = logging.WARNING if self._found.is_set() else logging.DEBUG
            log.log(level, "%s; the host has gone on without it", error)
        where = "on the host"
        if self._search is not None:
            where = f"on the device once it was ready: {self._taken:,} reads"
        elif self._thread is None:
            where = "on the host: too little to do for a device"
        elif error is None:
            where = "on the host: the device was not ready in time"
        self._account = f"search {where} ({self.device})"
        self._taken, self._since = 0, None
        log.debug("%s", self._account)

    def describe(self) -> str:
        """One line for people, of the run that ended last."""
        return self._account

    @property
    def compiled(self) -> int:
        """Nanoseconds that the device's programs have been compiled."""
        return 0 if self._search is None else self._search.compiled

    # --- the thread ----------------------------------------------------------------------------------------------

    def _tried(self) -> str | None:
        from gassst.gpu.probe import kind_of, tried

        return tried(self.device, self._params.threads, kind_of(self._params), self._index.step).device

    def _start(self) -> None:
        """Find the device, put the index there, and have it search what the host knows."""
        try:
            self._search = self._started()
        except DeviceError as error:
            self._error = DeviceError(str(error).splitlines()[0])
        except BaseException as error:
            self._error = DeviceError(f"device {self.device}: {type(error).__name__}: {error}")
        finally:
            self._settled.set()
            if self._error is not None and self.named:
                self._found.set()

    def _started(self) -> DeviceSearch | None:
        """The search, None where the index does not fit. Raises DeviceError."""
        from gassst.gpu import platforms
        from gassst.gpu.device import Engine
        from gassst.gpu.search import DeviceSearch, sources_of
        from gassst.gpu.trial import Trial

        began, index, params = time.monotonic(), self._index, self._params.for_single()
        trial = Trial.of(index, self._plan, self._cascade, params)
        info, device = platforms.choose(self._tried(), params.threads)
        found = time.monotonic() - began
        self._found.set()
        engine = Engine(info, device, index.reference.planes)
        search = DeviceSearch(index, engine, sources=sources_of(params))
        if search.on_device() is None:
            return None
        trial.put_to(search)
        ready = time.monotonic() - began
        log.debug("%s: found in %.2f s, ready in %.2f s", info.name, found, ready)
        return search

    # --- batches -------------------------------------------------------------------------------------------------

    def search(self, context: BatchContext, stats: Stats, with_mates: bool = False) -> Found | None:
        """As `DeviceSearch.search`; None while it is not ready, and where it is slower.

        Where all places are wanted it waits until one that was named is ready: a batch takes the host longer.
        """
        if not is_taken(context):
            return None
        if context.params.exhaustive and self.named:
            self._settled.wait()
        search = self._search
        if self._error is not None and self.named:
            raise self._error
        if search is None or self._error is not None or self._is_slower:
            return None
        found = self._asked(search.search, context, stats, with_mates)
        if found is None:
            return None
        with self._lock:
            self._taken += context.n
        return found if found.copies is None else found._replace(copies=partial(self._asked, found.copies))

    def _asked(self, search: Callable[..., Found | None], *reads: Any) -> Found | None:
        """What a search on the device returns; None where a device that nobody named fails."""
        try:
            return search(*reads)
        except DeviceError as error:
            self._error = DeviceError(str(error).splitlines()[0])
            if self.named:
                raise
            return None

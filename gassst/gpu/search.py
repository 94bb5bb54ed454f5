"""The search of whole batches on an OpenCL device: what it takes, and whether the index fits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter_ns

from gassst.errors import DeviceError
from gassst.gpu.all_places import AllPlaces
from gassst.gpu.backend import DeviceBackend, DeviceBatch
from gassst.gpu.dense import DenseLook
from gassst.gpu.device import Engine, OutOfDeviceMemory
from gassst.gpu.index import IN_FLIGHT, SOURCES, DeviceIndex, Slot
from gassst.gpu.requests import (
    DENSE,
    SEARCH,
    Answer,
    Densely,
    Found,
    Looked,
    Request,
    Searched,
    copied,
)
from gassst.gpu.trial import PairTrial, Trial
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U32
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.filters import Cascade

log = logging.getLogger("gassst")

FIRST_PACE = 250.0  # ns a read; what a device is taken for until it is known. An H100 needs 60

CASCADES = ((), ("band32",))
"""Filters that the device has."""
CASCADES_OF_ALL = CASCADES[1:]
"""Where all places are wanted."""


def is_searched(params: MapParams, index: SeedIndex, lookup: WholeIndex, cascade: Cascade) -> bool:
    """Whether a device can search so, with an index of step 1 in one piece. For all places, but not the best stratum,
    it takes the narrow band."""
    cascades = CASCADES_OF_ALL if params.exhaustive else CASCADES
    return not params.strata and is_looked_up(index, lookup) and cascade.names in cascades


def is_looked_up(index: SeedIndex, lookup: WholeIndex) -> bool:
    """Whether a device can look seeds up in an index: in one of step 1 in one piece."""
    return index.step == 1 and not lookup.copies


def is_taken(context: BatchContext) -> bool:
    """Whether a device can search this batch."""
    suits = is_searched(context.params, context.index, context.lookup, context.cascade)
    # Mates that are mapped one by one, which insert sizes are learned from, stay on the host in either mode. With
    # clipped ends they are given up earlier than the device gives single reads up: `plan_columns`.
    is_single = context.whole_reads == context.params.reports_whole_reads
    return suits and is_single and context.left_out is None and context.n > 0 and not context.library.damage


def paced(known: float, reads: int, nanoseconds: float) -> float:
    """The pace of a search in ns a read, 0 where it is not known, after some more reads.

    What a few reads take is mostly the same for many: the pace falls at once, and rises by half at most.
    """
    pace = nanoseconds / max(reads, 1)
    return pace if known == 0 else min(pace, 1.5 * known)


def _backend(searched: Searched, requests: Sequence[Request], slot: Slot) -> DeviceBackend:
    """For requests of one kind."""
    search = AllPlaces if searched.params.exhaustive else DeviceBackend
    kinds = {DENSE: DenseLook, SEARCH: search}
    kind = kinds.get(requests[0].stage, DeviceBackend)
    return kind(DeviceBatch(searched, requests), slot)


class DeviceSearch:
    """The search of whole batches on the device of an engine (`search.context.BatchDevice`).

    The index is uploaded once, when it is first needed. None in place of what is found leaves that to the host.

    `index`: of any run; `engine`: an Engine with the planes of its reference. `allocation`, `sources`: as
    `DeviceIndex` takes them.

    Attributes
    ----------
    pace : float
        ns a read, where as many batches are searched at once as can be.
    """

    turns: AbstractContextManager[object] = nullcontext()
    """To be held by what computes: all threads may at once."""
    more_threads = 0

    def __init__(
        self,
        index: SeedIndex,
        engine: Engine,
        allocation: int | None = None,
        sources: tuple[Path, ...] = SOURCES,
    ):
        self.index, self.engine = index, engine
        self.pace = FIRST_PACE
        self._built = allocation, sources
        self._lock = threading.Lock()
        self._on_device: DeviceIndex | None = None
        self._failed = self._told = False

    def describe(self) -> str:
        return f"search on the {'host' if self._on_device is None else 'device'} ({self.engine.info.name})"

    def for_run(self, with_mates: bool) -> DeviceSearch:
        """This takes what it can of any run."""
        return self

    def end_run(self) -> None:
        """A run is over."""

    def note_host(self, reads: int, nanoseconds: int) -> None:
        """The host has searched reads that the device did not take: of no interest to one that takes what it can."""

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """What `search.single.search` finds in a batch."""
        if not is_taken(context):
            return None
        found = self.ask(context, stats, Request.of(context))
        return found.result(context, stats) if isinstance(found, Found) else None

    def look_up(self, context: BatchContext, stats: Stats, reads: U32, stage: int) -> Looked | None:
        """The seeds of a stage of some reads (uint32[a], ascending)."""
        if not is_looked_up(context.index, context.lookup):
            return None
        found = self.ask(context, stats, Request.for_anchors(context, stage, reads))
        return found if isinstance(found, Looked) else None

    def look_densely(
        self, context: BatchContext, stats: Stats, reads: U32, seeds: DenseSeeds
    ) -> DenselyLooked | None:
        """What dense seeds of some reads (uint32[a], ascending) lead to."""
        if context.left_out is not None or not is_looked_up(context.index, context.lookup):
            return None
        found = self.ask(context, stats, Request.for_dense(context, reads, seeds))
        return found.looked(reads) if isinstance(found, Densely) else None

    def on_device(self) -> DeviceIndex | None:
        """The index on the device; None, with one warning, where it does not fit."""
        with self._lock:
            if self._on_device is None and not self._failed:
                try:
                    self._on_device = DeviceIndex(self.index, self.engine, *self._built)
                except OutOfDeviceMemory as error:
                    self._failed = True
                    log.warning("%s; the search continues on the host", error)
            return self._on_device

    def warm_up(self, trial: Trial | PairTrial) -> None:
        """Search in every slot what a trial asks for: the first search loads kernels and takes memory.

        Raises DeviceError where the host finds something else.
        """
        device = self.on_device()
        if device is None:
            return
        try:
            with self.engine.errors():
                for slot in device.slots:
                    for part in trial.parts:
                        for found in _backend(part.searched, [part.request], slot).answers():
                            if not part.is_met_by(found):
                                raise DeviceError(f"OpenCL device {self.engine.info.name}: wrong results")
        except OutOfDeviceMemory as error:  # the batches that come will say what does not fit
            log.debug("%s", error)

    def ask(self, context: BatchContext, stats: Stats, request: Request) -> Answer | None:
        """The answer to a request, of the kind that it asks for."""
        began = perf_counter_ns()
        searched, answer = Searched(context.plan, context.cascade, context.params), None
        for found in self.found(searched, [request]):
            answer = copied(found)
        stats.nanoseconds["device"] += perf_counter_ns() - began
        return answer

    def found(self, searched: Searched, requests: Sequence[Request]) -> Iterator[Answer | None]:
        """What was found of every request, which must be of one kind; None where there is no room.

        Those for the whole search must suit `is_taken`.

        They are searched together where that fits. What is found lies in memory that is used again: it must be copied
        before the next is asked for.
        """
        device = self.on_device()
        if device is None:
            yield from (None for _ in requests)
            return
        try:
            with device.slot() as slot, self.engine.errors():
                began = perf_counter_ns()
                yield from _backend(searched, requests, slot).answers()
                if requests[0].stage != DENSE:
                    spent, reads = perf_counter_ns() - began, sum(each.n_asked for each in requests)
                    self.pace = paced(self.pace, reads, spent / IN_FLIGHT)
        except OutOfDeviceMemory as error:
            if len(requests) > 1:
                for request in requests:
                    yield from self.found(searched, [request])
                return
            if not self._told:
                self._told = True
                log.warning("%s: searching on the host", error)
            yield None

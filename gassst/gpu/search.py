"""The search of whole batches on an OpenCL device: what it takes, and whether the index fits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter_ns

from gassst.errors import DeviceError
from gassst.gpu.all_places import AllPlaces
from gassst.gpu.asked import Asked
from gassst.gpu.backend import DeviceBackend, DeviceBatch
from gassst.gpu.dense import DenseLook
from gassst.gpu.device import Engine, OutOfDeviceMemory
from gassst.gpu.index import SOURCES, DeviceIndex, Slot
from gassst.gpu.requests import (
    DENSE,
    SEARCH,
    Answer,
    Request,
    Searched,
    copied,
)
from gassst.gpu.trial import PairTrial, Trial
from gassst.index.seed_index import SeedIndex
from gassst.model.stats import Stats
from gassst.search.context import BatchContext

log = logging.getLogger("gassst")


def _backend(searched: Searched, requests: Sequence[Request], slot: Slot) -> DeviceBackend:
    """For requests of one kind."""
    search = AllPlaces if searched.params.exhaustive else DeviceBackend
    kinds = {DENSE: DenseLook, SEARCH: search}
    kind = kinds.get(requests[0].stage, DeviceBackend)
    return kind(DeviceBatch(searched, requests), slot)


class DeviceSearch(Asked):
    """The search of whole batches on the device of an engine. The index is uploaded once, when it is first needed.

    `index`: of any run; `engine`: an Engine with the planes of its reference. `allocation`, `sources`: as
    `DeviceIndex` takes them.
    """

    def __init__(
        self,
        index: SeedIndex,
        engine: Engine,
        allocation: int | None = None,
        sources: tuple[Path, ...] = SOURCES,
    ):
        self.index, self.engine = index, engine
        self.turns = nullcontext()  # all threads may compute at once
        self._built = allocation, sources
        self._lock = threading.Lock()
        self._on_device: DeviceIndex | None = None
        self._failed = self._told = False

    def describe(self) -> str:
        return f"search on the {'host' if self._on_device is None else 'device'} ({self.engine.info.name})"

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
                yield from _backend(searched, requests, slot).answers()
        except OutOfDeviceMemory as error:
            if len(requests) > 1:
                for request in requests:
                    yield from self.found(searched, [request])
                return
            if not self._told:
                self._told = True
                log.warning("%s: searching on the host", error)
            yield None

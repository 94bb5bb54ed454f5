"""The search of whole batches on an OpenCL device: what it takes, and whether the index fits."""

from __future__ import annotations

import logging
import os
import threading
from functools import partial
from pathlib import Path

import numpy as np

from gassst.gpu.all_places import AllPlaces
from gassst.gpu.arrays import STATE
from gassst.gpu.backend import DeviceBackend, DeviceBatch, ReferenceTexts
from gassst.gpu.device import Engine, OutOfDeviceMemory
from gassst.gpu.found import Found
from gassst.gpu.index import SOURCES, SOURCES_OF_ALL, DeviceIndex
from gassst.gpu.taken import is_taken
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U8, U16, U32, U64
from gassst.model.layouts import NO_SCORE
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.search.context import BatchContext

log = logging.getLogger("gassst")

FEWEST = 1024
"""Reads in the stage for copies from which on it goes to the device: fewer are done on the host in less time than a
batch of commands takes."""


def sources_of(params: MapParams) -> tuple[Path, ...]:
    """Return the files of the kernels that a run needs."""
    return SOURCES_OF_ALL if params.exhaustive else SOURCES


class DeviceSearch:
    """The search of whole batches on the device of an engine (`search.context.BatchDevice`).

    The index is uploaded once, when it is first needed. None in place of what is found leaves that to the host.

    `index`: of any run; `engine`: an Engine with the planes of its reference. `allocation`, `sources`: as
    `DeviceIndex` takes them.
    """

    more_threads = 0

    def __init__(
        self,
        index: SeedIndex,
        engine: Engine,
        allocation: int | None = None,
        sources: tuple[Path, ...] = SOURCES,
    ):
        self.index, self.engine = index, engine
        self._built = allocation, sources
        self._lock = threading.Lock()
        self._on_device: DeviceIndex | None = None
        self._failed = self._told = False
        self._process = os.getpid()

    def describe(self) -> str:
        return f"search on the {'host' if self._on_device is None else 'device'} ({self.engine.info.name})"

    @property
    def compiled(self) -> int:
        """Nanoseconds that its programs have been compiled."""
        return self.engine.compiled

    def for_run(self) -> DeviceSearch:
        """This, for any run."""
        return self

    def end_run(self) -> None:
        """A run is over."""

    def note_done(self, reads: int, share: float | None) -> None:
        """Reads of a run are done: of no interest to one that is ready."""

    def search(self, context: BatchContext, stats: Stats, with_mates: bool = False) -> Found | None:
        """The places of a batch, of pairs those of the first stage; None where there is no room, too.

        A process that was forked has no device: drivers do not survive that.
        """
        if not is_taken(context) or os.getpid() != self._process:
            return None
        batch = DeviceBatch.of(context, with_mates)
        found = self._found(batch, stats)
        return (
            found
            if found is None or with_mates
            else found._replace(copies=partial(self.copies, batch, stats))
        )

    def copies(
        self, batch: DeviceBatch, stats: Stats, active: U32, planes: U64, *known: U16 | U8
    ) -> Found | None:
        """What the stage for copies finds; None where there is no room, and of few reads.

        Parameters
        ----------
        active : uint32[a]
            Reads that have the stage.
        planes : uint64[]
            Of the reference at their places, as `PackedReads` has them.
        known : six of uint16[n] or uint8[n]
            The arrays of `states_t`.
        """
        if len(active) < FEWEST:
            return None
        *four, looked, capped = known
        state = np.array([*four, capped, looked], np.uint16)
        sought = np.zeros_like(state)
        of = {name: i for i, name in enumerate(STATE)}
        sought[: of["COMPLETE"]], sought[of["COMPLETE"]] = state[: of["COMPLETE"]], NO_SCORE
        sought[of["COMPLETE"], active] = 0
        rows = 2 * (batch.lengths[active].astype(np.int64) + 63 >> 6)
        start = np.zeros_like(batch.lengths)
        start[active[1:]] = np.cumsum(rows[:-1])
        found = self._found(batch._replace(texts=ReferenceTexts(planes, start, sought)), stats)
        if found is None:
            return None
        state[: of["COMPLETE"]] = found.state[: of["COMPLETE"]]
        whole = found.state[of["CAPPED"], active] == 0
        state[of["LOOKED"], active] |= whole.astype(np.uint16) << batch.plan.MAX_STAGES
        return found._replace(state=state)

    def _found(self, batch: DeviceBatch, stats: Stats) -> Found | None:
        """What is found in a batch; None where there is no room."""
        if (device := self.on_device()) is None:
            return None
        kind = AllPlaces if batch.params.exhaustive else DeviceBackend
        try:
            with stats.timed("device"), device.slot() as slot, self.engine.errors():
                backend = kind(batch, slot)
                arrays = backend.search()
                backend.stats.extension += slot.spent()
        except OutOfDeviceMemory as error:
            if not self._told:
                self._told = True
                log.warning("%s: searching on the host", error)
            return None
        found = backend.found(arrays)
        stats.add_work_of(backend.stats)
        return found

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

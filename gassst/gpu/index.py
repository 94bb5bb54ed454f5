"""The seed index in the memory of a device, and what a batch needs there: a queue, kernels, buffers.

Everything is summed and compared with the device's memory before anything is allocated. An array that is only too large
for one allocation is split into up to four.
"""

from __future__ import annotations

import queue
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gassst.gpu.arrays import ENDS_WIDTHS, GROUP, definitions, plan_columns
from gassst.gpu.device import KERNELS, Commands, Engine, Noted, OutOfDeviceMemory
from gassst.gpu.taken import IN_FLIGHT
from gassst.index.file import unit_of
from gassst.index.seed_index import SeedIndex
from gassst.local.align import WIDTHS, doubled, leaving_cost, whole_costs
from gassst.model.params import MapParams
from gassst.pairing.error_rate import ErrorRate
from gassst.search.filters import Cascade
from gassst.search.host import given_up
from gassst.search.plan import SearchPlan

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

_SOURCES = tuple(
    KERNELS / name for name in ("band.h", "search.h", "seeds.cl", "anchors.cl", "bounds.cl", "buckets.cl")
)
SOURCES, SOURCES_OF_ALL = (*_SOURCES, KERNELS / "ends.cl"), (*_SOURCES, KERNELS / "places.cl")
"""Where all places are wanted."""
MOST_PARTS = 4
WORK_BYTES = 1 << 30
"""Of a batch in flight, at least. A batch that needs more gets more while there is some."""
COUNTERS_BYTES = 4096
"""From the counters of one stage to those of the next: buffers may begin there."""
SPARE_SHARE = 0.06
"""Of the device's memory, for its driver and for the alignments."""


class Fit(NamedTuple):
    """Whether an index fits a device. `why`: for people, "" where it fits; `parts`: into how many an array is split;
    `part_bits`: log2 of the elements of a part; `work_bytes`: of each batch in flight."""

    why: str
    parts: int
    part_bits: int
    work_bytes: int


def fit(index: SeedIndex, memory: int, allocation: int) -> Fit:
    """Whether an index and two batches fit `memory` bytes of a device, whose buffers take `allocation` each at most."""
    arrays = index.table, index.positions, index.following
    planes = index.reference.planes.nbytes
    index_bytes = sum(array.nbytes for array in arrays) + planes
    work = (int(memory * (1 - SPARE_SHARE)) - index_bytes) // IN_FLIGHT
    bits = max((allocation // 4).bit_length() - 1, 0)
    parts = -(-max(len(array) for array in arrays) >> bits)
    parts = 1 if max(array.nbytes for array in arrays) <= allocation else max(2, parts)
    why = ""
    if unit_of(index.step) != 1:
        why = f"an index of step {index.step} is searched on the host"
    elif work < WORK_BYTES:
        why = f"{_gib(index_bytes)} of index and {_gib(IN_FLIGHT * WORK_BYTES)} to work in do not fit {_gib(memory)}"
    elif planes > allocation or parts > MOST_PARTS:
        why = f"the largest allocation is {_gib(allocation)}"
    return Fit(why, min(parts, MOST_PARTS) if parts == 1 else MOST_PARTS, bits, work)


def _gib(n: int) -> str:
    return f"{n / 2**30:.1f} GiB"


class DeviceIndex:
    """The arrays of an index on the device of an engine, and slots for batches.

    Raises OutOfDeviceMemory where `fit` says that it does not fit, or the driver does; DeviceError where the kernels
    cannot be built. `allocation`: bytes of the largest buffer, by default what the device says. `sources`: of the
    kernels that are built meanwhile.
    """

    def __init__(
        self,
        index: SeedIndex,
        engine: Engine,
        allocation: int | None = None,
        sources: tuple[Path, ...] = SOURCES,
    ):
        self.engine, self.index = engine, index
        self.fit = fit(index, engine.info.memory, allocation or engine.device.max_mem_alloc_size)
        if self.fit.why:
            raise OutOfDeviceMemory(f"the index does not fit {engine.info.name}: {self.fit.why}")
        fitted = (
            f"-DSTEP={index.step}",
            f"-DINDEX_PARTS={self.fit.parts}",
            f"-DPART_BITS={self.fit.part_bits}",
        )
        self._options = " ".join([*fitted, *definitions()])
        self._by_words: dict[int, tuple[str, ...]] = {}
        self.rooms: dict[str, int] = {}  # how many of something batches had, or how many bytes
        pieces = [self._cut(array) for array in (index.table, index.positions, index.following)]
        with engine.errors():
            all_pieces = [piece for cut in pieces for piece in cut]
            buffers = iter(engine.given_all(all_pieces, lambda: engine.program(sources, self.of_words(1))))
        self.table, self.positions, self.following = ([next(buffers) for _ in cut] for cut in pieces)
        self.slots = [Slot(self) for _ in range(IN_FLIGHT)]
        self._idle: queue.SimpleQueue[Slot] = queue.SimpleQueue()  # in turn: a trial is put to each of them
        for slot in self.slots:
            self._idle.put(slot)

    def _cut(self, array: np.ndarray) -> list[np.ndarray]:
        """The parts of an array; of all parts, those that it does not need are empty."""
        room = 1 << self.fit.part_bits
        return (
            [array[i * room : (i + 1) * room] for i in range(self.fit.parts)]
            if self.fit.parts > 1
            else [array]
        )

    def of_words(self, words: int) -> tuple[str, ...]:
        """Options of the compiler for bands of 64 * words diagonals."""
        if words not in self._by_words:
            self._by_words[words] = (f"-DWORDS={words} {self._options}",)
        return self._by_words[words]

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """A slot of one's own; waits for it."""
        slot = self._idle.get()
        try:
            yield slot
        finally:
            slot.forget()
            self._idle.put(slot)


class Slot(Commands):
    """What one batch in flight has on the device.

    Attributes
    ----------
    counters : buffer
        Of all stages; `counters_of` has that of each.
    kept : dict
        What was noted for earlier batches, which another one alike has done again: it takes a tenth of the time under
        Python's lock. Of one plan, in the buffers that there are.
    """

    def __init__(self, index: DeviceIndex):
        super().__init__(index.engine)
        self.index = index
        stages = SearchPlan.MAX_STAGES + 1  # the last one for copies
        self.counters = self.allocate(COUNTERS_BYTES * stages)
        whole = self.cl.Buffer.from_int_ptr(self.counters.int_ptr)
        self.counters_of: list[Memory] = [
            whole.get_sub_region(COUNTERS_BYTES * stage, COUNTERS_BYTES) for stage in range(stages)
        ]
        self.kept: dict[Hashable, Noted] = {}
        self._plan: object = None  # that is on the device

    def begin(
        self,
        plan: SearchPlan,
        library: ErrorRate,
        cascade: Cascade,
        params: MapParams,
        sources: tuple[Path, ...] = SOURCES,
    ) -> list[Memory]:
        """A batch that is searched so, by kernels of these sources: buffers of the columns of every stage, of caps, of
        scores, and of what ends cost."""
        self.paths = sources
        names = [f"plan{stage}" for stage in range(plan.MAX_STAGES + 1)]
        searched = plan, library, cascade, params, int(np.count_nonzero(plan.known_lengths))
        if self._plan != searched:
            self.kept.clear()
            for stage, name in enumerate(names):
                is_given_up = plan.lost_of(library)[0, min(stage, plan.MAX_STAGES - 1)] < given_up(params)
                self.upload(name, plan_columns(plan, stage, is_given_up).ravel())
            leaving = [leaving_cost(params.scoring, width) for width in WIDTHS[:ENDS_WIDTHS]]
            self.upload("caps", plan.caps)
            self.upload("scoring", doubled(params.scoring))
            self.upload("costs", np.array([*whole_costs(params.scoring), *leaving], np.int32))
            self.finish()
            self._plan = searched
        return [self.buffers[name] for name in (*names, "caps", "scoring", "costs")]

    def again(self, like: Hashable, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
        """What comes of arrays by what was noted for those of a batch like this one; None where nothing was kept."""
        noted = self.kept.get(like)
        return None if noted is None else self.handed_over(noted, arrays)

    def buffer(self, name: str, size: int) -> Memory:
        held = self.buffers.get(name)
        if held is None or held.size < size:
            self.kept.clear()
            self.buffers.pop(name, None)
            used = sum(each.size for each in self.buffers.values())
            most = min(self.index.fit.work_bytes - used, self.device.device.max_mem_alloc_size)
            if size > most:
                whole = _gib(self.index.fit.work_bytes)
                raise OutOfDeviceMemory(f"{self.device.info.name}: a batch needs more than {whole}")
        return super().buffer(name, size)

    def launch(
        self,
        name: str,
        items: int | tuple[int, int],
        *arguments: object,
        words: int = 1,
        group: int = GROUP,
    ) -> None:
        """Run a kernel with so many work-items, or so many times so many."""
        across, down = items if isinstance(items, tuple) else (items, 1)
        if across and down:
            size = -(-across // group) * group, down
            self.note(name, self.index.of_words(words), size, (group, 1), *arguments)

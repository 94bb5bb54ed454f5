"""Seeds that a device looks up for the host: those of pairs, which it does not search as a whole, and dense ones.

Looking seeds up and sorting what they hit is half of the search of pairs, and more in a large genome, where every seed
misses the caches. What follows needs no index, and goes on where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gassst.gpu.found import Looked
from gassst.model.array_types import U32
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.host import HostBackend

if TYPE_CHECKING:
    from gassst.gpu.search import DeviceSearch

# Reads for which a device is asked, at least: it answers after some milliseconds, in which the host looks up as many.
LEAST_READS = 2048
# The same of reads whose dense seeds are looked up, of which each costs the host a hundred times as much.
LEAST_DENSE = 8


class SeedsOnDevice(HostBackend):
    """The passes on the host; the device of the context looks seeds up."""

    @property
    def _device(self) -> DeviceSearch:
        return cast("DeviceSearch", self.context.on_device)

    @property
    def seeds_on_device(self) -> SeedsOnDevice:
        return self

    def anchors_of(self, reads: U32, stage: int) -> Looked | None:
        """What the seeds of a stage of `reads` (uint32[a], ascending) hit, sorted and merged by diagonal.

        None: the host has to look them up.
        """
        if len(reads) < LEAST_READS:
            return None
        return self._device.look_up(self.context, self.stats, reads, stage)

    def note_host(self, reads: int, nanoseconds: int) -> None:
        """The host has looked up the seeds of reads that the device did not take."""
        if reads >= LEAST_READS:
            self._device.note_host(reads, nanoseconds)

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        found = None
        if len(reads) >= LEAST_DENSE:
            found = self._device.look_densely(self.context, self.stats, reads, seeds)
        return super().look_densely(reads, seeds) if found is None else found

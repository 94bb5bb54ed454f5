"""The passes over pairs on the host, with the quick look from a device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst.gpu import seeds as device_seeds
from gassst.gpu.asked import asked_of
from gassst.gpu.requests import QuickLooked
from gassst.gpu.seeds import SeedsOnDevice
from gassst.model.array_types import U8, U32, place_keys
from gassst.model.stats import Stats
from gassst.pairing.pair_scoring import PairChoice
from gassst.search import paired
from gassst.search.arrays import Buckets, GlobalResult
from gassst.search.backend import Grouped, Selected
from gassst.search.context import QUICK_EVERY, BatchContext, PairContext
from gassst.search.host_pairs import HostPairPasses
from gassst.search.state import PairState, SearchState


class PairsOnDevice(HostPairPasses):
    """The passes on the host; the device of the context takes the quick look.

    `seeds`: the passes of the same batch, which get the anchors that the host asks for next.
    """

    def __init__(self, context: BatchContext, pairs: PairContext, stats: Stats, seeds: SeedsOnDevice):
        super().__init__(context, pairs, stats)
        self._seeds = seeds
        self._repeats: U8 | None = None

    def quick_look(self, reads: U32, mates: U32, search: SearchState, state: PairState) -> bool:
        if len(mates) < device_seeds.LEAST_READS:
            return False
        context, stats = self.context, self.stats
        found = asked_of(context).quick_look(context, stats, reads, mates, self.pairs.insert)
        if found is None:
            return False
        with stats.timed("pairs"):
            looked = found.looked
            stats.add_work_of(looked.counted)
            self._repeats = found.repeats.copy()
            note_quick_look(found, mates, search, state, self)
            self._seeds.keep_ahead(reads[state.open[reads]], looked._replace(counted=Stats()))
        return True

    def rate(
        self,
        search: SearchState,
        state: PairState | None,
        found: Grouped,
        selected: Selected,
        choice: PairChoice,
    ) -> GlobalResult:
        return replace(super().rate(search, state, found, selected, choice), repeats=self._repeats)


def note_quick_look(
    found: QuickLooked, mates: U32, search: SearchState, state: PairState, passes: HostPairPasses
) -> None:
    """Bring states, of a batch of which nothing was looked up, up to date with what a device found of `mates`.

    Of pairs that are closed no later pass asks for more than their bands.
    """
    context, pairs = passes.context, passes.pairs
    for name in ("best", "rival", "complete", "capped"):
        getattr(search, name)[:] = getattr(found, name)
    disjoint = context.plan.disjoint[0][context.lengths[mates]]
    search.looked[mates], search.planned[mates] = 1, (disjoint + np.uint16(QUICK_EVERY - 1)) // QUICK_EVERY
    state.open[:] = found.is_open.view(bool)
    state.before_rescue[mates] = ~state.open[mates]
    state.unsettled = pairs.first[state.open[pairs.first]]
    bands, is_kept = found.bands(context)
    search.bands.append(bands.take(np.flatnonzero(is_kept)))
    is_open = state.open[bands.read_strand >> 1]
    scored = bands.take(np.flatnonzero(is_open))
    bucket = (scored.band_start + context.lead[scored.read_strand >> 1]) >> context.shift
    search.fresh.append(Buckets(scored.read_strand, bucket.astype(np.uint32)))
    state.tried.append(place_keys(scored.read_strand, bucket))
    passes.add_places(bands.take(np.flatnonzero(is_open & is_kept)), search, state)
    passes.note_look(mates, state, paired.QUICK_LOOK)

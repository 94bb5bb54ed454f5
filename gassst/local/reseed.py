"""Another look for reads of which much stays unaligned: dense seeds, and no filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gassst._core.read_search import MOST_SCORED, LocalAligner, promising_buckets
from gassst.model.array_types import COORDINATE_BITS, F64, I64, U32
from gassst.model.params import LEAST_SHARE
from gassst.search.arrays import Diagonals
from gassst.search.context import BatchContext
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend, given_up

# Bases from seed to seed. At 3 another look costs a third more, and 0.01 % more of human reads with adapters are right.
STRIDE = 5
SPECIFIC = 4  # bases by which a seed is longer than one that occurs once by chance; 2 and 6 place fewer right


class PassedOver(NamedTuple):
    """Bases at which seeds begin that occur too often, of some reads: how many (float64[a]) among the bases
    first .. end - 1 (int64[a]) of the read as sequenced."""

    bases: F64
    first: I64
    end: I64


def seed_length(context: BatchContext) -> int:
    """How many bases a seed has."""
    return min(context.plan.affordable + SPECIFIC, context.index.longest_seed)


def _dense_seeds(context: BatchContext) -> DenseSeeds:
    length = seed_length(context)
    return DenseSeeds(length, STRIDE, context.plan.occurrence_cap(length))


def that_may_fit(backend: HostBackend, reads: U32) -> U32:
    """Return those of `reads` (uint32[a], ascending) that are worth another look. Where hardly any read has a place, a
    part has to be in the genome: of seeds beside each other one occurs."""
    context, seeds = backend.context, _dense_seeds(backend.context)
    lost = context.lost[0, -1, context.lengths[reads]]
    if not reads.size or context.library.is_known or lost.max() >= given_up(context.params):
        return reads
    looked = backend.look_densely(reads, seeds._replace(stride=seeds.length))
    return reads[(np.diff(looked.anchors.start) > 0) | (looked.clipped > 0)]


def look_again(backend: HostBackend, reads: U32, most: int) -> tuple[Diagonals, PassedOver]:
    """At most so many promising diagonals of each of `reads` (uint32[a], ascending), and what was passed over."""
    context, scoring = backend.context, backend.context.params.scoring
    looked = backend.look_densely(reads, _dense_seeds(context))
    least = np.minimum(context.lengths[reads] * np.int32(scoring.match), scoring.least_score).astype(np.int32)
    promising = promising_buckets(looked.anchors, context, most, least)
    end = np.where(looked.last < 0, looked.first, looked.last + STRIDE)
    return Diagonals(*promising), PassedOver(looked.clipped.astype(np.float64) * STRIDE, looked.first, end)


def diagonals_of_copies(backend: HostBackend, aligner: LocalAligner) -> Iterator[Diagonals]:
    """Further diagonals on which reads may have copies that are to be listed, by what the aligner knows.

    A copy that scores LEAST_SHARE has one of the disjoint seeds without an error. Seeds as long are looked up at every
    STRIDE-th base, too, where several of these occur too often; for all copies that score -T dense seeds alone are.
    """
    context, scoring = backend.context, backend.context.params.scoring
    reads, least = aligner.least_listed()
    most, loss = max(MOST_SCORED, context.params.most_hits), (1 - LEAST_SHARE) * scoring.match
    disjoint = DenseSeeds(context.index.longest_seed, 0, 0, int((scoring.match + scoring.mismatch) / loss))
    is_all, gaps = context.params.all_hits, context.plan.gaps
    for seeds in (_dense_seeds(context),) if is_all else (disjoint, disjoint._replace(stride=STRIDE)):
        looked = backend.look_densely(reads, seeds)
        found = Diagonals(*promising_buckets(looked.anchors, context, most, least, -1 if is_all else gaps))
        places = aligner.places
        known = _keys(Diagonals(places["read_strand"], places["diagonal"]))
        fresh = ~np.isin(_keys(found), known)
        yield Diagonals(found.read_strand[fresh], found.diagonal[fresh])
        reads, least = reads[looked.clipped > 1], least[looked.clipped > 1]


def _keys(at: Diagonals) -> I64:
    return at.read_strand.astype(np.int64) << COORDINATE_BITS | at.diagonal

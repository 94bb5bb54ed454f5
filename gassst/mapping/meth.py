"""Reads of which bisulfite, or an enzyme, converted bases: which index they need, and which records are doubtful."""

from __future__ import annotations

import numpy as np

from gassst.errors import UsageError
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U32
from gassst.model.params import MapParams
from gassst.model.sam_flags import FAILED_QC, PROPER_PAIR
from gassst.model.slices import slices
from gassst.search.arrays import BatchResult

# bwa-meth's rule of chimeras, which its users filter by: the longest stretch without a gap has less of the read.
LEAST_SHARE = 0.44


def verify_conversion(index: SeedIndex, params: MapParams) -> None:
    """Raises UsageError for reads of another kind than those that the index is for."""
    name = index.path or "the index"
    if params.meth and not index.converted:
        raise UsageError(f"{name}: not an index for methylation: build one with `gassst index --meth`")
    if index.converted and not params.meth:
        raise UsageError(f"{name}: an index for methylation: map with --meth, or build one without it")


def fail_chimeras(result: BatchResult, lengths: U32, mate: np.ndarray | None) -> int:
    """Mark templates with an alignment that holds too little of its read in one piece, as bwa-meth does.

    Their rows get flag 0x200 and are no proper pairs, and such an alignment has a MAPQ of 1 at most. `mate` uint8[n] is
    that of the ReadBatch. Returns how many pairs were proper before.
    """
    hits, runs = result.hits, result.cigars
    rows = np.flatnonzero(hits["cigar_runs"] > 0)
    if not rows.size:
        return 0
    at, offsets = slices(hits["cigar_start"][rows], hits["cigar_runs"][rows])
    longest = np.maximum.reduceat(np.where(runs[at] & 15 == 0, runs[at] >> 4, 0), offsets[:-1])
    short = rows[longest < LEAST_SHARE * lengths[hits["read"][rows]]]
    hits["mapq"][short] = np.minimum(hits["mapq"][short], 1)
    template = hits["read"].astype(np.int64)
    if mate is not None:
        template -= mate[template] == 2
    failed = np.isin(template, template[short])
    was_proper = failed & (hits["flag"] & PROPER_PAIR > 0)
    hits["flag"][failed] |= FAILED_QC
    hits["flag"][failed] &= 0xFFFF ^ PROPER_PAIR
    return len(np.unique(template[was_proper]))

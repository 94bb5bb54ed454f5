"""Whether two mappers that are both confident of a read say the same place; `samdiff.py` lists where not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gassst.model.sam_flags import UNMAPPED
from gassst.tools.truth import read_alignments

CONFIDENT = 20
TOLERANCE = 10

Key = tuple[str, int]
Placements = dict[Key, tuple[str, int, int, int]]


def placements(path: Path) -> Placements:
    """(contig, strand, start, end) of the confident primary alignments, by read name and mate."""
    found: Placements = {}
    for chunk in read_alignments(str(path)):
        confident = np.flatnonzero((chunk.flags & UNMAPPED == 0) & (chunk.mapq >= CONFIDENT))
        keys = zip((chunk.names[i] for i in confident), chunk.mate[confident].tolist(), strict=True)
        columns = (chunk.contigs, chunk.strand, chunk.start, chunk.end)
        found.update(zip(keys, zip(*(c[confident].tolist() for c in columns), strict=True), strict=True))
    return found


def is_same_place(a: tuple, b: tuple) -> bool:
    """Whether one end agrees: what is a clip for one mapper may be an insertion or a deletion for another."""
    return a[:2] == b[:2] and min(abs(a[2] - b[2]), abs(a[3] - b[3])) <= TOLERANCE


def agreement(ours: Placements, theirs: Placements) -> dict:
    """How many reads both are confident of, the share of these with the same place, and who else is."""
    both = sum(key in theirs for key in ours)
    same = sum(key in theirs and is_same_place(place, theirs[key]) for key, place in ours.items())
    alone = {"only_ours": len(ours) - both, "only_theirs": len(theirs) - both}
    return {"both": both, "same": same, "share": same / both if both else None, **alone}

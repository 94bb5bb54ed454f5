"""The arrays that one pass of the search hands to the next, as parallel columns."""

from __future__ import annotations

import numpy as np

from gassst.frozen import field, frozen
from gassst.model.array_types import U32, Structs
from gassst.model.layouts import READ_SUMMARY


@frozen(eq=False)
class BatchResult:
    """Rows to write: `hits` HIT[h] grouped by read, primary first; `summary` READ_SUMMARY[n]; `cigars` uint32[].

    `parts` READ_SUMMARY[p]: of supplementary alignments, which the `part` of rows counts from 1.
    """

    hits: Structs
    summary: Structs
    cigars: U32
    parts: Structs = field(default_factory=lambda: np.empty(0, READ_SUMMARY))

    @property
    def rows(self) -> tuple[Structs, Structs, U32]:
        """Hits, summaries of reads and of parts, and CIGARs, as encoders take them."""
        summary = np.concatenate([self.summary, self.parts]) if len(self.parts) else self.summary
        return self.hits, summary, self.cigars

    def hits_behind(self, runs: int, parts: int) -> Structs:
        """HIT[h]: a copy of the hits, for a result that has so many CIGAR runs and parts before these."""
        hits = self.hits.copy()
        hits["cigar_start"] += np.uint32(runs)
        hits["part"][hits["part"] > 0] += np.uint32(parts)
        return hits

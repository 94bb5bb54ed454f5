"""What a device finds in the reads of a batch, as the host goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gassst.model.array_types import U16, U32, U64, NDArray

WHOLE_END = np.dtype(
    [(name, np.uint32) for name in ("touched", "diagonal")]
    + [(name, np.uint16) for name in ("key", "rows", "scored")],
    align=True,
)
"""The fields of whole_end in kernels/local_start.h."""


class TracedRows(NamedTuple):
    """Alignments of all bands of a batch, `h` of them.

    Attributes
    ----------
    reach : uint16[h]
        As `Found` has it.
    diagonal : uint32[h]
        On which each begins.
    edits : uint16[h]
        Its errors.
    start : uint32[h], n_runs : uint16[h]
        Runs of alignment i are start[i] .. start[i] + n_runs[i] of `cigars` uint32[]; 0 for an ungapped one.
    """

    reach: U16
    diagonal: U32
    start: U32
    edits: U16
    n_runs: U16
    cigars: U32


class Found(NamedTuple):
    """What a device found in the `n` reads of a batch: `h` bands within the limits.

    Attributes
    ----------
    read_strand : uint32[h], first : uint32[h]
        Bands, and their first diagonals. Single reads come in any order without `traced`, and the bands of each as they
        were found.
    edits, end : uint16[h]
        Errors, and the diagonal offset of the best end.
    state : uint16[len(STATE), n]
        The columns `gpu.arrays.STATE`.
    ends : WHOLE_END[h]
        The best local alignments that touch the diagonals of bands, where ends may be clipped; else WHOLE_END[0].
    traced : TracedRows or None
        Where all places were wanted: of the bands, which lie read by read then.
    seen : uint64[]
        Of pairs, of which all this is from the first stage, and in the order of the reads: keys of the buckets seen
        there.
    copies : callable or None
        Makes the stage for copies of places: see `DeviceSearch.copies`, whose first arguments it has.
    """

    read_strand: U32
    first: U32
    edits: U16
    end: U16
    state: U16
    ends: NDArray[np.void] = np.empty(0, WHOLE_END)
    traced: TracedRows | None = None
    seen: U64 = np.empty(0, np.uint64)
    copies: Callable[..., Found | None] | None = None

    @property
    def reach(self) -> U16:
        """uint16[h]: how many diagonals behind `end` an ungapped alignment may end instead."""
        return self.edits if self.traced is None else self.traced.reach

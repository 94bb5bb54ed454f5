"""What a device finds in the reads of a batch, as the host goes on with it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gassst.gpu.arrays import STATE
from gassst.model.array_types import COORDINATE, I64, U16, U32
from gassst.model.stats import Stats
from gassst.search.arrays import Bands, GlobalResult, Grouped, ReadStates, Traced
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend


class TracedRows(NamedTuple):
    """Alignments of all bands of a batch, `h` of them.

    Attributes
    ----------
    reach : uint16[h]
        As `Bands` has it.
    diagonal : uint32[h]
        On which each begins.
    start : uint32[h], n_runs : uint16[h]
        Runs of alignment i are start[i] .. start[i] + n_runs[i] of `cigars` uint32[]; 0 for an ungapped one.
    """

    reach: U16
    diagonal: U32
    start: U32
    n_runs: U16
    cigars: U32

    def at(self, rows: I64) -> tuple[I64, Traced]:
        """Returns what `GlobalResult.traced` has of some rows."""
        n_runs = self.n_runs[rows]
        gapped = rows[n_runs > 0]
        diagonal = self.diagonal.astype(COORDINATE)
        of_gapped = diagonal[gapped], self.cigars, self.start[gapped], self.n_runs[gapped]
        return np.where(n_runs == 0, diagonal[rows], 0), Traced(*of_gapped)


class Found(NamedTuple):
    """What a device found in the `n` reads of a batch: `h` bands within the limits.

    Attributes
    ----------
    read_strand, first : uint32[h]
        Bands by read; first diagonals.
    edits, end : uint16[h]
        Errors, and the diagonal offset of the best end.
    start : int64[n + 1]
        Bands of read r are start[r] .. start[r + 1].
    state : uint16[len(STATE), n]
        The columns `gpu.arrays.STATE`.
    traced : TracedRows or None
        Where all places were wanted: of the bands, which lie in the order of `select_all` then.
    """

    read_strand: U32
    first: U32
    edits: U16
    end: U16
    start: I64
    state: U16
    traced: TracedRows | None = None

    def result(self, context: BatchContext, stats: Stats) -> GlobalResult:
        """The places of every read, as the host selects and rates them; adds to `stats`."""
        host, traced = HostBackend(context, None, stats), self.traced
        reach = self.edits if traced is None else traced.reach
        columns = (
            self.first.astype(COORDINATE),
            self.end,
            self.edits,
            context.plan.words[context.lengths[self.read_strand >> 1]],
        )
        grouped = Grouped(Bands(self.read_strand, *columns, reach), self.start)
        state = ReadStates(
            **{
                name.lower(): column.astype(np.uint8 if name in ("LOOKED", "CAPPED") else np.uint16)
                for name, column in zip(STATE, self.state, strict=True)
            }
        )
        if traced is None:
            return host.rate(state, grouped, host.select_best(grouped, context.params.max_hits))
        selected = host.select_all(grouped)
        return replace(host.rate(state, grouped, selected), traced=traced.at(selected.rows))

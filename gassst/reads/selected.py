"""The reads of a `Selection`: those of a range, with their ends cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from gassst.model.read_batch import ReadBatch
from gassst.model.slices import slices
from gassst.reads.selection import Selection
from gassst.reads.streams import Unparsed


class TemplateRange:
    """Goes through the batches of all lanes, and counts templates until the range is over."""

    def __init__(self, selection: Selection):
        self._skip = selection.skip
        self._left = selection.upto

    @property
    def is_over(self) -> bool:
        """Whether nothing behind this belongs to the range."""
        return self._left == 0

    def of(self, batches: Iterable[Unparsed]) -> Iterator[Unparsed]:
        """What the range has of the batches of a lane. Batches are parsed as long as templates are counted."""
        for batch in batches:
            if not self._skip and self._left is None:
                yield batch
                continue
            parsed = batch.parsed()
            starts = np.arange(len(parsed) + 1)
            if parsed.mate is not None:
                starts = np.append(np.flatnonzero(parsed.mate != 2), len(parsed))
            first = min(self._skip, len(starts) - 1)
            last = len(starts) - 1 if self._left is None else min(first + self._left, len(starts) - 1)
            self._skip -= first
            self._left = None if self._left is None else self._left - (last - first)
            if last > first:
                part = parsed.part(int(starts[first]), int(starts[last]))
                # Of the whole batch: it is counted once, however little of it is left.
                yield replace(
                    part, renamed=parsed.renamed, left_out=parsed.left_out, read_group=parsed.read_group
                )
            if self.is_over:
                return


def without_ends(batch: ReadBatch, selection: Selection) -> ReadBatch:
    """The reads without the bases that are cut off; shorter ones become empty."""
    if not selection.trim_5 and not selection.trim_3:
        return batch
    begin, end = batch.offsets[:-1].astype(np.int64), batch.offsets[1:].astype(np.int64)
    begin = np.minimum(begin + selection.trim_5, end)
    kept = np.maximum(end - selection.trim_3 - begin, 0)
    base, offsets = slices(begin, kept)
    quals = None if batch.quals is None else batch.quals[base]
    return replace(batch, bases=batch.bases[base], quals=quals, offsets=offsets.astype(np.uint32))

"""Reads of small RNA before they are mapped: cut where the 3' adapter begins, and counted by their names."""

from __future__ import annotations

import numpy as np

from gassst._core.read_search import FIRST_PART, fragment_ends
from gassst.errors import UsageError
from gassst.frozen import frozen, replace
from gassst.model.array_types import I64
from gassst.model.read_batch import ReadBatch
from gassst.model.slices import slices
from gassst.reads.adapters import RULES, codes_of

KITS = (
    "TGGAATTCTCGGGTGCCAAGG",  # TruSeq small RNA
    "AGATCGGAAGAGCACACGTCT",  # NEBNext and others
    "AACTGTAGGCACCATCAAT",  # QIAseq
    "ATCTCGTATGCCGTCTTCTGCTTG",  # before 2012: v1.5
    "TCGTATGCCGTCTTCTGCTTG",  # v1.0
)
"""The 3' adapters of usual kits."""
LONGEST_COUNT = 9  # digits of how many reads one stands for


@frozen()
class Preparation:
    """What is done to reads before they are mapped.

    Attributes
    ----------
    adapters : tuple of str
        At the 3' end. A read is cut where one begins; of several with equally few differences, the first counts.
    collapsed : bool
        Names end in `_x` and how many reads each stands for; 1 where they do not.
    """

    adapters: tuple[str, ...] = ()
    collapsed: bool = False

    @classmethod
    def of_preset(cls, preset: str | None, adapters: tuple[str, ...] | None = None) -> Preparation:
        """What a preset does, with other adapters where they are given."""
        is_small = preset == "small-rna"
        return cls((KITS if is_small else ()) if adapters is None else adapters, collapsed=is_small)

    def verify(self) -> Preparation:
        """Return self. Raises UsageError for an adapter that is too short, or that has other letters."""
        for adapter in self.adapters:
            if len(adapter) < FIRST_PART or set(adapter) - set("ACGT"):
                raise UsageError(
                    f"--adapter {adapter}: must be at least {FIRST_PART} of the letters A, C, G and T"
                )
        return self

    def of(self, batch: ReadBatch) -> ReadBatch:
        """The reads of a batch, cut and counted."""
        if self.adapters:
            batch = _cut(batch, self.adapters)
        return replace(batch, copies=copies(batch)) if self.collapsed else batch


NOTHING = Preparation()


def _cut(batch: ReadBatch, adapters: tuple[str, ...]) -> ReadBatch:
    packed = batch.pack()
    lengths = packed.lengths.astype(np.int64)
    # What begins at base 0 is not told from no adapter: its first base is left.
    start = fragment_ends(packed, codes_of(adapters, FIRST_PART), *RULES, 1).astype(np.int64)
    kept = np.where(start > 0, start, lengths)
    base, offsets = slices(batch.offsets[:-1], kept)
    return replace(
        batch,
        bases=batch.bases[base],
        quals=None if batch.quals is None else batch.quals[base],
        offsets=offsets.astype(np.uint32),
        trimmed=int(np.count_nonzero(start)),
    )


def copies(batch: ReadBatch) -> I64:
    """int64[n]: how many reads each stands for, by its name."""
    names, ends = batch.names, batch.name_offsets[1:].astype(np.int64)
    room = ends - batch.name_offsets[:-1]
    count, digits = np.zeros(len(batch), np.int64), np.zeros(len(batch), np.int64)
    goes_on = np.ones(len(batch), bool)
    for i in range(LONGEST_COUNT):
        goes_on &= room > i
        letter = names[np.where(goes_on, ends - 1 - i, 0)] if len(names) else np.zeros(len(batch), np.uint8)
        goes_on &= (letter >= ord("0")) & (letter <= ord("9"))
        count += np.where(goes_on, (letter.astype(np.int64) - ord("0")) * 10**i, 0)
        digits += goes_on
    marked = (digits > 0) & (room > digits + 1)
    at = np.where(marked, ends - digits - 2, 0)
    if len(names):
        marked &= (names[at] == ord("_")) & (names[np.minimum(at + 1, len(names) - 1)] == ord("x"))
    return np.where(marked, count, 1)

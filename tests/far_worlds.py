"""Indexes whose contigs lie beyond 2^32 bases, in sparse memory and sparse files.

Contigs of N that no seed leads to are put before those of a small index. Their planes are never read, so they stay
pages of zeros that nobody has written, in memory and on disk.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from gassst.files.contigs import Contigs
from gassst.index import file as index_file
from gassst.index.seed_index import SeedIndex
from gassst.model.reference import FRONT, GAP, Exceptions

EACH = (
    256 * -(-(2**32) // 768) + 256 - GAP
)  # bases of a contig of N: three of them move others by a multiple of 256
SHIFT = 3 * (EACH + GAP)
assert SHIFT > 2**32 and SHIFT % 256 == 0 and EACH < 2**31


def far_index(near: SeedIndex) -> SeedIndex:
    """The index, of step 2 or 4, with SHIFT bases before its contigs."""
    old = near.reference
    fillers = np.full(3, EACH, np.int64)
    before = Contigs.of(["filler1", "filler2", "filler3"], fillers)
    starts = FRONT + np.arange(3, dtype=np.int64) * (EACH + GAP)
    planes = np.zeros((len(old.planes) + SHIFT // 64, 3), np.uint64)
    planes[-len(old.planes) :] = old.planes
    exceptions = Exceptions(
        np.concatenate([starts, old.exceptions.start + SHIFT]),
        np.concatenate([fillers.astype(np.uint32), old.exceptions.length]),
        np.concatenate([np.full(3, ord("N"), np.uint8), old.exceptions.code]),
    )
    reference = replace(
        old,
        planes=planes,
        total=old.total + SHIFT,
        contigs=Contigs(before.text.tobytes() + old.contigs.text.tobytes()),
        starts=np.concatenate([starts, old.starts + SHIFT]),
        exceptions=exceptions,
    )
    far = replace(near, reference=reference, positions=near.positions + np.uint32(SHIFT // near.step))
    far.__dict__["spectrum"] = (
        near.spectrum
    )  # that of the fillers, which are no poly-A, is not to be measured
    return far


class _Sparse:
    """A file that leaves holes where zeros are written."""

    def __init__(self, file):
        self._file = file
        self.tell, self.seek = file.tell, file.seek

    def write(self, data) -> None:
        if np.frombuffer(data, np.uint8).any():
            self._file.write(data)
        else:
            self._file.seek(len(data), 1)


def write_sparse(index: SeedIndex, path: Path) -> None:
    """As `SeedIndex.save`."""
    with open(path, "wb") as file:
        index_file.write(_Sparse(file), index._contents(), index_file.STEP_VERSION)

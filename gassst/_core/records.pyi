from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pysam

class Reads(Protocol):
    """The arrays of a `ReadBatch`."""

    @property
    def names(self) -> npt.NDArray[np.uint8]: ...
    @property
    def name_offsets(self) -> npt.NDArray[np.uint32]: ...
    @property
    def bases(self) -> npt.NDArray[np.uint8]: ...
    @property
    def quals(self) -> npt.NDArray[np.uint8] | None: ...
    @property
    def offsets(self) -> npt.NDArray[np.uint32]: ...

class HitBatch:
    def __init__(
        self,
        reads: Reads,
        hits: npt.NDArray[np.void],
        summaries: npt.NDArray[np.void],
        cigars: npt.NDArray[np.uint32],
    ) -> None: ...
    def unmapped_fastq(self) -> tuple[bytes, int]: ...

class EncodedRecords:
    records: int
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

Bytes = bytes | bytearray | memoryview | EncodedRecords | npt.NDArray[np.uint8]

class RecordBuilder:
    header: pysam.AlignmentHeader
    def __init__(
        self,
        header: pysam.AlignmentHeader,
        planes: npt.NDArray[np.uint64],
        starts: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        exceptions: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8]],
        *,
        eqx: bool = False,
        xa: bool = False,
        soft_clip_supplementary: bool = False,
        mark_secondary: bool = False,
        read_groups: Sequence[str] = (),
    ) -> None: ...
    def encode(self, batch: HitBatch, *, bam: bool, skip_unmapped: bool = False) -> EncodedRecords: ...
    def aligned_segments(self, batch: HitBatch) -> list[pysam.AlignedSegment]: ...

class CramWriter:
    def __init__(self, builder: RecordBuilder, fd: int, name: str, mode: str, threads: int = 0) -> None: ...
    def write(self, batch: HitBatch, *, skip_unmapped: bool = False) -> int: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...

class BamIndex:
    def __init__(self, contigs: int, longest: int, csi: bool, offset: int) -> None: ...
    def add(self, bam: Bytes, blocks: npt.NDArray[np.uint64], block_size: int) -> None: ...
    def save(self, path: str) -> None: ...

def sort_keys(bam: Bytes, n: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
def gather(bam: Bytes, ends: npt.NDArray[np.uint64], order: npt.NDArray[np.int64]) -> EncodedRecords: ...

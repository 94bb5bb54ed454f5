import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]

def orient(planes: _U64, plane_start: _U32, lengths: _U32) -> tuple[_U8, _U64]: ...

class Seeds:
    @property
    def occurrences(self) -> int: ...
    def __init__(
        self,
        planes: _U64,
        plane_start: _U32,
        lengths: _U32,
        flip: _U8,
        active: _U32,
        seed_length: _U16,
        seed_count: _U16,
        seed_every: _U16,
        longest: int,
        before: Seeds | None = None,
    ) -> None: ...
    def resolve(
        self,
        table: _U32,
        positions: _U32,
        following: _U8,
        reference_planes: _U64,
        k: int,
        caps: _U32,
        kmer_from: int,
        kmer_to: int,
    ) -> None: ...
    def limit(self, caps: _U32) -> tuple[_U16, _U8]: ...
    def copy_positions(self, positions: _U32, lo: int, hi: int) -> None: ...

def gather(
    seeds: Seeds,
    positions: _U32,
    active: _U32,
    flip: _U8,
    shift: int,
    scored: _U64,
    scored_start: _I64,
) -> tuple[_U32, _U32, _U16, _U16, _I64]: ...
def best_supported(
    read_strand: _U32, diagonal: _U32, length: _U16, start: _I64, shift: int, chosen: _U8 | None = None
) -> tuple[_U32, _U32]: ...
def supported(
    read_strand: _U32, diagonal: _U32, length: _U16, shift: int, width: _U16, need: _U16
) -> _I64: ...
def buckets(
    read_strand: _U32, diagonal: _U32, shift: int, known_read_strand: _U32, known_bucket: _U32
) -> tuple[_U32, _U32]: ...

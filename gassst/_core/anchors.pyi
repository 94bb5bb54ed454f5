import numpy as np
from numpy.typing import NDArray

from gassst._core.seeds import Seeds

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]

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

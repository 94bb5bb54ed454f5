import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]

def near(
    read_strand: _U32,
    diagonal: _U32,
    start: _I64,
    active: _U32,
    mate: _U8,
    flip: _U8,
    lengths: _U32,
    orientation: int,
    low: int,
    high: int,
    slack: int,
) -> _U8: ...
def best_buckets(
    chosen: _U8,
    read_strand: _U32,
    diagonal: _U32,
    length: _U16,
    start: _I64,
    active: _U32,
    limited: _U8,
    mate: _U8,
    digest: _U64,
    shift: int,
    most: int,
) -> _U8: ...
def few(near: _U8, start: _I64, active: _U32, mate: _U8, most: int) -> _U8: ...
def of_reads(read_strand: _U32, near: _U8, reads: _U8, is_near: bool) -> _U8: ...
def fresh(read_strand: _U32, bucket: _U32, *known: _U64) -> tuple[_U32, _U32, _U64]: ...
def of_open_pairs(active: _U32, mate: _U8, open: _U8) -> _U32: ...

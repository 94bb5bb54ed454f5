import numpy as np
from numpy.typing import NDArray

_Bool = NDArray[np.bool_]
_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def apart(diagonal: _U32, other: _U32) -> _Bool: ...
def at_one_place(
    read_strand: _U32,
    diagonal: _U32,
    edits: _U16,
    worst: _U16,
    start: _I64,
    chosen: _I64,
) -> _U8: ...
def known_places(
    read_strand: _U32,
    band_start: _U32,
    end: _U16,
    edits: _U16,
    worst: _U16,
    start: _I64,
    wanted: _U8,
    chosen: _I64,
    flip: _U8,
) -> _I64: ...
def within(read_strand: _U32, diagonal: _U32, windows: _I64) -> _Bool: ...
def best_of(
    eligible: _U8,
    read_strand: _U32,
    diagonal: _U32,
    band_start: _U32,
    total: _I32,
    given: _U8,
    flip: _U8,
    digest: _U64,
) -> _I64: ...
def rivals(
    read_strand: _U32,
    diagonal: _U32,
    score: _I32,
    total: _I32,
    reached: _U8,
    rows: _U16,
    line_strand: _U32,
    line_begin: _I64,
    line_end: _I64,
    first_diagonal: _U32,
    last_diagonal: _U32,
    lengths: _U32,
    match: int,
) -> tuple[_I32, _I32, _I64, _I64]: ...

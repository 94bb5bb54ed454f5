import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]
_U64 = NDArray[np.uint64]

LEFT_OUT: int

def pack(text: bytes | bytearray | _U8, start: int, planes: _U64) -> int: ...
def exceptions(text: bytes | bytearray | _U8, start: int) -> tuple[_I64, _U32, _U8]: ...
def pack_codes(planes: _U64, first: int, last: int, codes: _U64, conversion: int = ...) -> None: ...
def count_parts(
    planes: _U64, codes: _U64, first: int, last: int, prefix: int, step: int, counts: _U32
) -> None: ...
def scatter_parts(
    planes: _U64,
    codes: _U64,
    first: int,
    last: int,
    prefix: int,
    step: int,
    cursors: _U32,
    positions: _U32,
) -> None: ...
def sort_part(
    codes: _U64,
    k: int,
    behind: int,
    step: int,
    prefix: int,
    part: int,
    bounds: _I64,
    table: _U32,
    positions: _U32,
    following: _U8,
) -> None: ...
def lookup(
    table: _U32,
    positions: _U32,
    following: _U8,
    planes: _U64,
    k: int,
    longest: int,
    step: int,
    seeds: _U64,
    w: int,
) -> tuple[_U32, _U32]: ...

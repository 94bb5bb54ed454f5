import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def expected(loss: _I64, most: _I64, leaving: _I64, widths: _I64) -> _U16: ...
def of_width(
    width: _U16, w: int, read_strand: _U32, diagonal: _U32, band_start: _U32, most: _I64
) -> tuple[_I64, _U32, _U32]: ...
def widen(
    width: _U16,
    w: int,
    leaving: int,
    rows: _I64,
    score: _I32,
    reached: _U8,
    read_strand: _U32,
    most: _I64,
    lengths: _U32,
    match: int,
    clip: int,
) -> None: ...
def put(
    rows: _I64, first: _U32, found: tuple[_I32, _U8, _U16, _U16], into: tuple[_I32, _U8, _U16, _U32]
) -> None: ...

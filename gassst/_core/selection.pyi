from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def grouped(
    parts: Sequence[Any], lengths: _U32
) -> tuple[tuple[_U32, _U32, _U16, _U16, _U8, _U16], _U32, _I64]: ...
def select_best(
    read_strand: _U32,
    end_position: _U32,
    edits: _U16,
    start: _I64,
    flip: _U8,
    digest: _U64,
    margin: int,
    further: int,
    max_hits: int,
) -> tuple[_I64, _I64, _Structs]: ...
def chosen_first(
    rows: _I64, start: _I64, primary: _I64, edits: _U16, limit: _U16, most: int
) -> tuple[_I64, _I64]: ...
def contigs(read_strand: _U32, ends: _U32, lengths: _U32, borders: _I64) -> _I32: ...
def alike(
    summary: NDArray[Any], lengths: _U32, complete: _U16, planned: _U16, looked: _U8, capped: _U8
) -> tuple[_I64, _I64]: ...

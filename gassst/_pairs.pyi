import numpy as np
from numpy.typing import NDArray

from .insert import InsertModel

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]

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

class Ledger:
    paired: _U16
    unguided: _U8
    def __init__(
        self, mate: _U8, lengths: _U32, orientation: int, low: int, high: int, borders: _I64
    ) -> None: ...
    def add(self, read_strand: _U32, end_position: _U32, edits: _U16) -> None: ...
    def alone(self, first: _I64, margin: int) -> _U8: ...
    def windows(self, wanted: _U8, best: _U16, most: int, shift: int, slack: int) -> tuple[_U32, _U32]: ...

def choose(
    read_strand: _U32,
    end_position: _U32,
    edits: _U16,
    contig: _I32,
    start: _I64,
    mate: _U8,
    flip: _U8,
    lengths: _U32,
    digest: _U64,
    odds: _F64,
    insert: InsertModel,
    unpaired_phred: float,
) -> tuple[_I64, _U8, _F64, _U8]: ...

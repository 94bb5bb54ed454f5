from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gassst._core.records import Bytes

_U64 = npt.NDArray[np.uint64]
_U8 = npt.NDArray[np.uint8]

class Signer:
    barcodes: bool
    spots: bool
    columns: int
    def __init__(
        self,
        lengths: npt.NDArray[np.int64],
        groups: Sequence[bytes],
        libraries: npt.NDArray[np.uint32],
        barcode_tag: bytes,
        spots: bool,
    ) -> None: ...
    def sign(self, bam: Bytes, n: int) -> tuple[_U64, _U64, _U64, npt.NDArray[np.int64]]: ...

class Ties:
    rows: _U64
    def __init__(self, rows: _U64, barcodes: bool) -> None: ...
    def look(self, data: _U8, ends: _U64, templates: _U64) -> None: ...
    def settled(self) -> _U64: ...

def sort_rows(rows: _U64) -> None: ...
def bounds(rows: _U64, keys: _U64) -> npt.NDArray[np.int64]: ...
def judge(
    rows: _U64, ends: _U64, barcodes: bool, distance: int, settled: bool, libraries: int
) -> tuple[_U64, _U8, _U64, npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...
def set_bits(bits: _U8, ordinals: _U64) -> None: ...
def marks_of(templates: _U64, marked: _U8, optical: _U8) -> _U8: ...

import numpy as np
from numpy.typing import NDArray

from gassst.search.arrays import Bands, Traced
from gassst.search.context import BatchContext

_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def local_minima(
    profile: _U16, read_strand: _U32, band_start: _I64, lengths: _U32, limit: _U16
) -> tuple[_I64, _U16, _U16]: ...
def ungapped_diagonals(bands: Bands, context: BatchContext) -> _I64: ...
def losses(bands: Bands, context: BatchContext) -> _I64: ...
def reported_rows(hits: _Structs, start: _I64, rated: _Structs) -> _Structs: ...
def hits_from_bands(
    bands: Bands, ungapped: _I64, traced: Traced, context: BatchContext
) -> tuple[_Structs, _U32]: ...

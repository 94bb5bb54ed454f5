import numpy as np
from numpy.typing import NDArray

from gassst.bands.base import ReadsHandle
from gassst.index.seed_index import SeedIndex
from gassst.search.arrays import Bands, BatchResult, GlobalResult
from gassst.search.context import BatchContext

_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def local_minima(
    profile: _U16, read_strand: _U32, band_start: _I64, lengths: _U32, limit: _U16
) -> tuple[_I64, _U16, _U16]: ...
def losses(bands: Bands, context: BatchContext) -> _I64: ...

class Traces:
    scored: int
    traced: int
    calls: int
    pairs: int
    kernel: int

    def __init__(self, index: SeedIndex) -> None: ...
    def rows(
        self,
        found: GlobalResult,
        context: BatchContext,
        handle: ReadsHandle | None,
        most_cells: int,
        local: BatchResult | None = None,
    ) -> tuple[_Structs, _Structs, _U32]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.bands.base import ReadsHandle
from gassst.index.seed_index import SeedIndex
from gassst.search.arrays import Bands, BatchResult, GlobalResult
from gassst.search.context import BatchContext

_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

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
        local: BatchResult | None = None,
    ) -> tuple[_Structs, _Structs, _U32]: ...

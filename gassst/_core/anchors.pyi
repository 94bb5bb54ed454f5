import numpy as np
from numpy.typing import NDArray

from gassst._core.seeds import Seeds
from gassst.search.arrays import Anchors, Buckets, Candidates, KeysByRead
from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]

def gather(
    seeds: Seeds,
    positions: _U32,
    active: _U32,
    context: BatchContext,
    scored: KeysByRead,
    rejected: KeysByRead,
) -> tuple[_U32, _I64, _U16, _U16, _I64]: ...
def best_supported(anchors: Anchors, shift: int) -> tuple[_U32, _U32]: ...
def buckets(candidates: Candidates, shift: int, known: Buckets) -> tuple[_U32, _U32]: ...

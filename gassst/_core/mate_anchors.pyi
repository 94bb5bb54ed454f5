import numpy as np
from numpy.typing import NDArray

from gassst.search.arrays import Anchors, Buckets
from gassst.search.context import BatchContext, PairContext

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]

def mark_near_mates(anchors: Anchors, context: BatchContext, pairs: PairContext) -> _U8: ...
def outside_buckets(anchors: Anchors, chosen: _U8, buckets: Buckets, shift: int) -> _U8: ...
def unscored_buckets(read_strand: _U32, bucket: _U32, *known: _U64) -> tuple[_U32, _U32, _U64]: ...
def bands_in_windows(
    reads: _I64, windows: _I64, context: BatchContext, most: int, run: int
) -> tuple[_U32, _I64, _U8]: ...

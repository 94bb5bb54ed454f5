import numpy as np
from numpy.typing import NDArray

from gassst.pairing.pair_scoring import PlacesByRead
from gassst.search.context import BatchContext, PairContext

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]

def choose_pairs(
    places: PlacesByRead, odds: _F64, context: BatchContext, pairs: PairContext, unpaired_phred: float
) -> tuple[_I64, _U8, _F64, _U8]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.model.array_types import Structs

SCORED: int
_U8 = NDArray[np.uint8]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]

def best_of(places: Structs, flip: _U8, digest: _U64) -> _I64: ...

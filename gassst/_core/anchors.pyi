import numpy as np
from numpy.typing import NDArray

from gassst._core.seeds import Seeds
from gassst.search.context import BatchContext

_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]

def gather(
    seeds: Seeds, positions: _U32, active: _U32, context: BatchContext
) -> tuple[_U32, _I64, _U16, _U16, _I64]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]
_U32 = NDArray[np.uint32]

def bands_in_windows(
    reads: _I64, windows: _I64, context: BatchContext, most: int, run: int
) -> tuple[_U32, _I64, _U8]: ...

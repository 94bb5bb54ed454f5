import numpy as np
from numpy.typing import NDArray

from gassst.search.context import BatchContext
from gassst.search.state import SearchState

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]

NONE: int

def screen(
    context: BatchContext, state: SearchState, first_stage: int, taken: _U8, reads: _U32
) -> tuple[_U8, _U32, _U32, _U32, _U16, _U8]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.search.backend import Grouped
from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def select_best(
    found: Grouped, context: BatchContext, margin: int, max_hits: int
) -> tuple[_I64, _I64, _Structs]: ...
def chosen_first(
    rows: _I64, start: _I64, primary: _I64, edits: _U16, limit: _U16, most: int
) -> tuple[_I64, _I64]: ...

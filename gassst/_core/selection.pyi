import numpy as np
from numpy.typing import NDArray

from gassst.search.arrays import Grouped
from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]
_Structs = NDArray[np.void]

def select_best(
    found: Grouped, context: BatchContext, margin: int, max_hits: int
) -> tuple[_I64, _I64, _Structs]: ...
def select_all(
    found: Grouped, context: BatchContext, strata: bool, max_hits: int
) -> tuple[_I64, _I64, _Structs]: ...
def likeliest_first(
    rows: _I64, start: _I64, lost: _I64, digest: _U64, edits: _U16, most: int
) -> tuple[_I64, _I64, _I64]: ...

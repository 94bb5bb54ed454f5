import numpy as np
from numpy.typing import NDArray

from gassst.model.array_types import Bool, Structs
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext

SCORED: int
_U8 = NDArray[np.uint8]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def known_places(found: GlobalResult, worse: int, flip: _U8) -> tuple[_I64, Bool]: ...
def best_of(places: Structs, context: BatchContext) -> _I64: ...
def rivals(lines: Structs, places: Structs, context: BatchContext) -> tuple[_I32, _I32, _I64, _I64, _I64]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Lines, Places
from gassst.local.realign import Known
from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def at_one_place(known: Known, worse: int) -> _U8: ...
def known_places(known: Known, wanted: _U8, flip: _U8) -> _I64: ...
def best_of(places: Places, eligible: _U8, context: BatchContext) -> _I64: ...
def rivals(lines: Lines, places: Places, context: BatchContext) -> tuple[_I32, _I32, _I64, _I64]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Targets
from gassst.search.context import BatchContext

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

def expected_widths(loss: _I64, widest: _I64, leaving: _I64, widths: _I64) -> _U16: ...
def bands_of_width(width: _U16, w: int, targets: Targets) -> tuple[_I64, _U32, _I64]: ...
def widen_unproved(
    width: _U16,
    rows: _I64,
    found: tuple[_I32, _U8],
    leaving: int,
    context: BatchContext,
    targets: Targets,
) -> None: ...
def store_scores(
    rows: _I64, first: _I64, found: tuple[_I32, _U8, _U16, _U16], into: tuple[_I32, _U8, _U16, _I64]
) -> None: ...

import numpy as np
from numpy.typing import NDArray

from gassst.search.arrays import Grouped, Selected
from gassst.search.context import BatchContext, PairContext

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]

class PairChooser:
    def __init__(self, pairs: PairContext, unpaired_phred: float, phred: float) -> None: ...

def choose_pairs(
    found: Grouped,
    selected: Selected,
    context: BatchContext,
    pairs: PairContext,
    unpaired_phred: float,
    edit_phred: float,
    extra: int,
    most: int,
) -> tuple[_I64, _I64, _U8, _F64, _U8]: ...

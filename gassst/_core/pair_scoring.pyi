import numpy as np
from numpy.typing import NDArray

from gassst.pairing.pair_scoring import PairedReads, PlacesByRead
from gassst.search.backend import Grouped, Selected

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]

def places_of_rows(
    found: Grouped, selected: Selected, lengths: _U32, borders: _I64
) -> tuple[_U32, _I64, _U16, _I32]: ...
def choose_pairs(
    places: PlacesByRead, odds: _F64, reads: PairedReads, unpaired_phred: float, edit_phred: float
) -> tuple[_I64, _U8, _F64, _U8]: ...

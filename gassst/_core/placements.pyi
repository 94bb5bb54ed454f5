import numpy as np
from numpy.typing import NDArray

from gassst.pairing.insert_size import InsertModel
from gassst.search.arrays import Bands
from gassst.search.context import BatchContext, PairContext
from gassst.search.state import PairState, SearchState

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_I64 = NDArray[np.int64]

class Placements:
    paired: _U16
    unguided: _U8
    def __init__(self, mate: _U8, lengths: _U32, insert: InsertModel, borders: _I64) -> None: ...
    def add(self, read_strand: _U32, end_position: _I64, edits: _U16) -> None: ...
    def add_bands(self, bands: Bands, search: SearchState, context: BatchContext, margin: int) -> None: ...
    def settle(
        self,
        search: SearchState,
        state: PairState,
        pairs: PairContext,
        context: BatchContext,
        guided: bool,
    ) -> None: ...
    def tighten(self, read_strand: _U32, best: _U16, errors: _U16, margin: int, limit: _U16) -> None: ...
    def windows(self, reads: _U32, best: _U16, most: int, shift: int, slack: int) -> tuple[_U32, _U32]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.search.context import BatchContext
from gassst.search.state import SearchState

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]

def unsettled(
    state: SearchState,
    context: BatchContext,
    stage: int,
    margin: int,
    given_up: float,
) -> _U32: ...
def note_looked(
    state: SearchState, context: BatchContext, stage: int, every: _U16, reads: _U32, found: tuple[_U16, _U8]
) -> None: ...
def bands_of(read_strand: _U32, bucket: _U32, shift: int, margin: _U32, words: _U8) -> tuple[_I64, _U8]: ...
def within_limit(read_strand: _U32, edits: _U16, best: _U16, limit: _U16, margin: int) -> _I64: ...
def merge_scored(
    scored: _U64, scored_start: _I64, active: _U32, read_strand: _U32, place: _I64
) -> tuple[_U64, _I64]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.local.places import Lines
from gassst.model.array_types import I64, U8, U32, Bool
from gassst.search.arrays import Anchors, Candidates
from gassst.search.context import BatchContext
from gassst.search.state import SearchState

def ungapped_instead(
    lines: Lines, context: BatchContext
) -> tuple[I64, I64, NDArray[np.uint16], NDArray[np.uint16]]: ...
def leave_to_local(
    anchors: Anchors,
    state: SearchState,
    context: BatchContext,
    among: Bool | None,
    chosen: U8 | None,
    partner: I64 | None,
    sure_errors: int,
    gain: int,
) -> bool: ...
def promising_buckets(
    anchors: Anchors,
    context: BatchContext,
    most: int,
    reach: int,
    stretches: U32 | None = None,
) -> tuple[U32, U32, I64, Bool]: ...
def stretches_of(candidates: Candidates, context: BatchContext) -> U32: ...

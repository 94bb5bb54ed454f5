from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.search.arrays import I64, U8, Anchors, Bool
from gassst.search.context import BatchContext
from gassst.search.state import SearchState

def best_stretches(
    reference: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    plane_start: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    read_strand: NDArray[np.uint32],
    diagonal: NDArray[np.uint32],
    scoring: Any,
    least: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.uint16]]: ...
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
    anchors: Anchors, context: BatchContext, most: int, relevant: int, reach: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], Bool]: ...

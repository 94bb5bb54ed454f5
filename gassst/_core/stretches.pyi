from typing import Any

import numpy as np
from numpy.typing import NDArray

def best_stretches(
    reference: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    plane_start: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    read_strand: NDArray[np.uint32],
    diagonal: NDArray[np.uint32],
    scoring: Any,
) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.uint16]]: ...

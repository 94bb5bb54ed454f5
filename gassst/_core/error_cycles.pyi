import numpy as np
from numpy.typing import NDArray

def errors_by_cycle(
    hits: NDArray[np.void],
    cigars: NDArray[np.uint32],
    reference: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    plane_start: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

import numpy as np
from numpy.typing import NDArray

def keys_of(
    anchors: NDArray[np.uint64], segment: NDArray[np.uint32], flip: NDArray[np.uint8], shift: int
) -> NDArray[np.uint64]: ...
def order_by_read(read_strand: NDArray[np.uint32], n: int) -> NDArray[np.int64]: ...

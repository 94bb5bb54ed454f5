from typing import Any

import numpy as np
from numpy.typing import NDArray

def finish(
    read_strand: NDArray[np.uint32],
    position: NDArray[np.uint32],
    cigars: NDArray[np.uint32],
    cigar_start: NDArray[np.uint32],
    cigar_runs: NDArray[np.uint16],
    reference: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    plane_start: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    contig_starts: NDArray[np.int64],
    contig_lengths: NDArray[np.int64],
    scoring: Any,
) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint16]]: ...
def stands(
    read_strand: NDArray[np.uint32],
    diagonal: NDArray[np.uint32],
    band_start: NDArray[np.uint32],
    words: NDArray[np.uint8],
    reference: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    plane_start: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    scoring: Any,
) -> NDArray[np.uint8]: ...

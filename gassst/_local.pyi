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
    first_run: int,
) -> tuple[
    NDArray[Any],
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.uint32],
    NDArray[np.uint32],
]: ...
def at_one_place(
    read_strand: NDArray[np.uint32],
    diagonal: NDArray[np.uint32],
    edits: NDArray[np.uint16],
    worst: NDArray[np.uint16],
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> NDArray[np.uint8]: ...
def known_places(
    read_strand: NDArray[np.uint32],
    band_start: NDArray[np.uint32],
    end: NDArray[np.uint16],
    edits: NDArray[np.uint16],
    worst: NDArray[np.uint16],
    start: NDArray[np.int64],
    wanted: NDArray[np.uint8],
    chosen: NDArray[np.int64],
    flip: NDArray[np.uint8],
) -> NDArray[np.int64]: ...

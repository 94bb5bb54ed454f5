import numpy as np
from numpy.typing import NDArray

def instruction_sets() -> list[str]: ...
def fit(planes: NDArray[np.uint64], plane_start: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> bool: ...
def pack_cigars(
    runs: NDArray[np.uint32], slot_end: NDArray[np.uint32], n_runs: NDArray[np.uint16]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...

class Band:
    def __init__(
        self,
        reference: NDArray[np.uint64],
        reads: NDArray[np.uint64],
        read_row: NDArray[np.uint32],
        read_length: NDArray[np.uint32],
        instruction_set: str,
    ) -> None: ...
    def score(
        self,
        read_strand: NDArray[np.uint32],
        band_start: NDArray[np.int64],
        words: int,
        limit: NDArray[np.uint16] | None = None,
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]: ...
    def profile(
        self, read_strand: NDArray[np.uint32], band_start: NDArray[np.int64], words: int
    ) -> NDArray[np.uint16]: ...
    def align(
        self,
        read_strand: NDArray[np.uint32],
        band_start: NDArray[np.int64],
        words: int,
        end: NDArray[np.uint16],
        edits: NDArray[np.uint16],
        slot_end: NDArray[np.uint32],
        rows: int,
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint32]]: ...
    def local(
        self,
        read_strand: NDArray[np.uint32],
        band_start: NDArray[np.int64],
        width: int,
        scoring: NDArray[np.int16],
    ) -> NDArray[np.uint16]: ...
    def align_local(
        self,
        read_strand: NDArray[np.uint32],
        band_start: NDArray[np.int64],
        width: int,
        scoring: NDArray[np.int16],
        slot_end: NDArray[np.uint32],
        rows: int,
    ) -> tuple[
        NDArray[np.uint16], NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint32]
    ]: ...

import numpy as np
from numpy.typing import NDArray

from gassst.pairing.insert_size import InsertModel

def count_reads(
    hits: NDArray[np.void],
    summary: NDArray[np.void],
    lengths: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    shortest: int,
    longest: int,
    confident: int,
) -> tuple[int, int, int, int, NDArray[np.int64], NDArray[np.int64]]: ...
def count_coverage(
    hits: NDArray[np.void],
    cigars: NDArray[np.uint32],
    starts: NDArray[np.int64],
    gap: int,
    edges: NDArray[np.int64],
    windows: NDArray[np.int64],
    contigs: NDArray[np.int64],
) -> None: ...
def count_templates(
    hits: NDArray[np.void],
    cigars: NDArray[np.uint32],
    mate: NDArray[np.uint8],
    starts: NDArray[np.int64],
    insert: InsertModel,
    confident: int,
    longest: int,
) -> NDArray[np.int64]: ...
def reads_of_stretches(
    hits: NDArray[np.void],
    cigars: NDArray[np.uint32],
    rows: NDArray[np.int64],
    mate: NDArray[np.uint8],
    starts: NDArray[np.int64],
    numbers: list[int],
    orientations: list[int],
    confident: int,
) -> list[tuple[int, int, int, list[list[int]]]]: ...

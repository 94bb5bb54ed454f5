import numpy as np
from numpy.typing import NDArray

LANES: int
MOST_ROWS: int
MOST_COLUMNS: int

def instruction_sets() -> list[str]: ...
def walk(
    trace: NDArray[np.uint8], row: int, column: int, state: int
) -> tuple[NDArray[np.uint8], int, int, int]: ...

class Tiles:
    def __init__(self, matrix: NDArray[np.int32], first: int, extend: int, instruction_set: str) -> None: ...
    def sweep(
        self,
        query: NDArray[np.uint8],
        target: NDArray[np.uint8],
        tile_rows: int,
        tile_columns: int,
        across: NDArray[np.int32],
        down: NDArray[np.int32],
        corner: int,
        best: NDArray[np.int32],
        blocked_start: NDArray[np.int64] | None = None,
        blocked: NDArray[np.int32] | None = None,
        dirty: NDArray[np.uint8] | None = None,
    ) -> int: ...
    def trace(
        self,
        query: NDArray[np.uint8],
        target: NDArray[np.uint8],
        top: NDArray[np.int32],
        left: NDArray[np.int32],
        corner: int,
        blocked: NDArray[np.uint8] | None = None,
        wanted: int = -1,
    ) -> tuple[NDArray[np.uint8], int, int]: ...

from typing import Any

import numpy as np
from numpy.typing import NDArray

OVERFLOW: int

def instruction_sets() -> list[str]: ...
def encode(
    texts: list[Any], codes: NDArray[np.uint16], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None: ...

class Comparison:
    lanes: list[int]
    def __init__(
        self, queries: Any, targets: Any, table: NDArray[np.uint8], costs: Any, instruction_set: str
    ) -> None: ...
    def stop(self) -> None: ...
    def run(self, width: int, groups: Any, out: NDArray[np.int32]) -> None: ...
    def score_each(
        self,
        table: NDArray[np.int16],
        query: NDArray[np.int64],
        target: NDArray[np.int64],
        slot: NDArray[np.int64],
        out: NDArray[np.int32],
    ) -> None: ...
    def trace(
        self, table: NDArray[np.int16], pairs: NDArray[np.int64], whole_bytes: int, block_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]: ...
    def distances(
        self,
        query: NDArray[np.int64],
        start: NDArray[np.int64],
        target: NDArray[np.int64],
        limit: int,
        infix: bool,
        out: NDArray[np.int32],
    ) -> None: ...

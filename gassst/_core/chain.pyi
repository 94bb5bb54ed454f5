import numpy as np
from numpy.typing import NDArray

STATES: int

def instruction_sets() -> list[str]: ...

class Chain:
    def __init__(
        self,
        states: int,
        is_double: bool,
        start: NDArray[np.uint8],
        end: NDArray[np.uint8],
        transition: NDArray[np.uint8],
        turned: NDArray[np.uint8],
        emission: NDArray[np.uint8],
        instruction_set: str,
    ) -> None: ...
    def stop(self) -> None: ...
    def path(
        self,
        symbols: NDArray[np.uint16],
        stretch: int,
        marks: NDArray[np.uint8],
        rows: NDArray[np.uint8],
        path: NDArray[np.int32],
    ) -> bool: ...
    def forward(
        self,
        symbols: NDArray[np.uint16],
        is_kept: bool,
        rows: NDArray[np.float64],
        scales: NDArray[np.float64],
    ) -> float: ...
    def backward(
        self,
        symbols: NDArray[np.uint16],
        scales: NDArray[np.float64],
        rows: NDArray[np.float64],
        memory: NDArray[np.float64],
    ) -> None: ...

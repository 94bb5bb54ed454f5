import numpy as np
from numpy.typing import NDArray

PATH: int
SUM: int
NARROW: int
COMPOSITION: int
FILTER: int
UNITS: int
WRONG: int
LEAST_STEPS: list[int]
LEAST_ODDS: int

def instruction_sets() -> list[str]: ...

class Scorer:
    seen: int
    def __init__(
        self,
        steps: NDArray[np.float32],
        emission: NDArray[np.float32],
        small: NDArray[np.int16],
        whole: NDArray[np.int32],
        enough: NDArray[np.float32],
        text: NDArray[np.uint8],
        code: NDArray[np.uint8],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
        exits: int,
        kind: int,
        instruction_set: str,
    ) -> None: ...
    @property
    def lanes(self) -> int: ...
    def stop(self) -> None: ...
    def run(self, first: int, last: int, logs: NDArray[np.float64]) -> None: ...
    def align(self, number: int) -> tuple[float, int, int, int, int, bytes]: ...

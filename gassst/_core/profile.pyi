import numpy as np
from numpy.typing import NDArray

PATH: int
SUM: int
NARROW: int
FILTER: int
UNITS: int
STRIPE: int

def instruction_sets() -> list[str]: ...

class Scorer:
    def __init__(
        self,
        steps: NDArray[np.float32],
        emission: NDArray[np.float32],
        small: NDArray[np.int16],
        whole: NDArray[np.int32],
        thirds: NDArray[np.int8],
        codes: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        exits: int,
        kind: int,
        instruction_set: str,
    ) -> None: ...
    @property
    def lanes(self) -> int: ...
    def stop(self) -> None: ...
    def run(self, first: int, last: int, logs: NDArray[np.float64]) -> None: ...
    def align(self, number: int) -> tuple[float, int, int, int, int, bytes]: ...

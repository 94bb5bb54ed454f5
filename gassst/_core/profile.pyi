import numpy as np
from numpy.typing import NDArray

def instruction_sets() -> list[str]: ...

class Scorer:
    def __init__(
        self,
        steps: NDArray[np.float32],
        emission: NDArray[np.float32],
        codes: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        instruction_set: str,
    ) -> None: ...
    @property
    def lanes(self) -> int: ...
    def stop(self) -> None: ...
    def run(self, first: int, last: int, is_sum: bool, logs: NDArray[np.float64]) -> None: ...

import numpy as np
from numpy.typing import NDArray

NONE: int
INFINITE: int
PARAMETERS: int
FEW: int
OVERFLOW: int

def instruction_sets() -> list[str]: ...
def memory(n: int, lanes: int) -> int: ...
def ensemble_memory(n: int) -> int: ...

class Folder:
    def __init__(
        self,
        parameters: NDArray[np.int16],
        hairpin: NDArray[np.int32],
        codes: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        instruction_set: str,
    ) -> None: ...
    @property
    def lanes(self) -> int: ...
    def stop(self) -> None: ...
    def run(
        self,
        first: int,
        last: int,
        is_wide: bool,
        energy: NDArray[np.int32],
        structure: NDArray[np.uint8] | None = ...,
    ) -> None: ...
    def ensemble(
        self,
        number: int,
        least: float,
        kt: float,
        beside: NDArray[np.float64],
        hairpin: NDArray[np.float64],
        pairs: NDArray[np.float64],
    ) -> float: ...
    def zuker(
        self, width: int, beside: NDArray[np.float64], hairpin: NDArray[np.float64]
    ) -> list[tuple[bytes, int]]: ...

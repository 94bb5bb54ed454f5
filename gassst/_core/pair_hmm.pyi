import numpy as np
from numpy.typing import NDArray

def instruction_sets() -> list[str]: ...

class PairHmmBatch:
    def __init__(
        self,
        bases: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        steps: NDArray[np.float64],
        haplotypes: NDArray[np.uint8],
        haplotype_offsets: NDArray[np.int64],
    ) -> None: ...
    def stop(self) -> None: ...
    def logs(
        self,
        pairs: NDArray[np.int32],
        largest: bool,
        form: str,
        instruction_set: str,
        out: NDArray[np.float64],
    ) -> None: ...
    def path(self, pairs: NDArray[np.int32], pair: int) -> tuple[float, int, NDArray[np.uint8]]: ...
    def posterior(self, read: int, haplotype: int) -> tuple[float, NDArray[np.float64]]: ...

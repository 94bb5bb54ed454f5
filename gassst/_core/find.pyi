from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LETTERS: int
BETWEEN: bytes
EVENT: np.dtype[np.void]
LAST: np.dtype[np.void]

class Finder:
    everywhere: NDArray[np.int32]
    def __init__(
        self,
        allowed: NDArray[np.uint8],
        lengths: NDArray[np.int32],
        edits: int,
        word: int,
        codes: NDArray[np.uint8],
        is_letter: NDArray[np.uint8],
    ) -> None: ...
    def list_words(self, most_share: float) -> None: ...
    def stop(self) -> None: ...
    def search(self, text: bytes, begin: int, end: int) -> tuple[NDArray[Any], int]: ...
    def minima(self, events: NDArray[Any], last: NDArray[Any], until: int) -> NDArray[Any]: ...
    def paths(
        self, text: bytes, least: NDArray[np.int64], events: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]: ...

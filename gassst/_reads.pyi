import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]
Arrays = tuple[
    NDArray[np.uint8],
    NDArray[np.uint32],
    NDArray[np.uint8],
    NDArray[np.uint8] | None,
    NDArray[np.uint32],
    int,
]
Packed = tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]

MAX_READS: int
MAX_LENGTH_LIMIT: int

class RecordParser:
    path: str
    def __init__(self, path: str, max_reads: int, max_bases: int, max_length: int) -> None: ...
    def parse(self, data: Bytes, eof: bool) -> int: ...
    def add(self, name: bytes, sequence: bytes, quality: bytes | None = None) -> None: ...
    @property
    def full(self) -> bool: ...
    @property
    def records(self) -> int: ...
    def __len__(self) -> int: ...
    def take(self) -> Arrays: ...

def pack(bases: Bytes, offsets: NDArray[np.uint32]) -> Packed: ...
def pack_portable(bases: Bytes, offsets: NDArray[np.uint32]) -> Packed: ...

import numpy as np
from numpy.typing import NDArray

from gassst.reads.tags import TagSources

_Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]
_Arrays = tuple[
    NDArray[np.uint8],
    NDArray[np.uint32],
    NDArray[np.uint8],
    NDArray[np.uint8] | None,
    NDArray[np.uint32],
    int,
    NDArray[np.uint8] | None,
    NDArray[np.uint8] | None,
    NDArray[np.uint32] | None,
]
_Packed = tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]

MAX_READS: int
MAX_LENGTH_LIMIT: int

class RecordParser:
    paths: tuple[str, ...]
    wants: int | None
    def __init__(
        self,
        path: str,
        max_reads: int,
        max_bases: int,
        max_length: int,
        mate_path: str | None = None,
        interleaved: bool = False,
        before: int | None = None,
        tags: TagSources | None = None,
    ) -> None: ...
    def reserve(self, size: int) -> None: ...
    def parse(self, data: _Bytes, eof: bool) -> int: ...
    def parse_pairs(
        self, first: _Bytes, first_eof: bool, second: _Bytes, second_eof: bool
    ) -> tuple[int, int]: ...
    def add(self, name: bytes, sequence: bytes, quality: bytes | None = None) -> bool: ...
    def ends_early(self, i: int) -> Exception: ...
    @property
    def path(self) -> str: ...
    @property
    def full(self) -> bool: ...
    @property
    def renamed(self) -> int: ...
    @property
    def left_out(self) -> int: ...
    @property
    def records(self) -> int: ...
    def __len__(self) -> int: ...
    def take(self) -> _Arrays: ...

PASSED: int
STRAY: int
AT_END: int
TOO_LONG: int

def cut(data: _Bytes, most: int, enough: int = ...) -> tuple[int, int, bool]: ...
def pass_over(
    fd: int, buffer: memoryview, filled: int, most: int, enough: int
) -> tuple[int, int, int, int]: ...
def spread(
    bases: _Bytes,
    offsets: NDArray[np.uint32],
    mate: NDArray[np.uint8] | None,
    stretches: list[tuple[int, int]],
    most: int,
) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint8] | None, NDArray[np.int64], list[int]]: ...
def pack(
    bases: _Bytes,
    offsets: NDArray[np.uint32],
    longest: int = ...,
    conversions: NDArray[np.uint8] | None = ...,
    shortest: int = ...,
) -> _Packed: ...
def pack_portable(
    bases: _Bytes,
    offsets: NDArray[np.uint32],
    longest: int = ...,
    conversions: NDArray[np.uint8] | None = ...,
) -> _Packed: ...

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]

class _Packed(Protocol):
    @property
    def planes(self) -> _U64: ...
    @property
    def plane_start(self) -> _U32: ...
    @property
    def lengths(self) -> _U32: ...

class _Index(Protocol):
    @property
    def k(self) -> int: ...

class _Context(Protocol):
    """Of a `BatchContext`."""

    @property
    def packed(self) -> _Packed: ...
    @property
    def flip(self) -> _U8: ...
    @property
    def index(self) -> _Index: ...

class _Rows(Protocol):
    """Of a `SeedRows`."""

    @property
    def length(self) -> _U16: ...
    @property
    def number(self) -> _U16: ...
    @property
    def every(self) -> _U16: ...

def orient(planes: _U64, plane_start: _U32, lengths: _U32) -> tuple[_U8, _U64]: ...

class Seeds:
    @property
    def occurrences(self) -> int: ...
    def __init__(self, context: _Context, active: _U32, rows: _Rows, before: Seeds | None = None) -> None: ...
    def resolve(
        self,
        table: _U32,
        positions: _U32,
        following: _U8,
        reference_planes: _U64,
        k: int,
        caps: _U32,
        kmer_from: int,
        kmer_to: int,
    ) -> None: ...
    def limit(self, caps: _U32) -> tuple[_U16, _U8]: ...
    def clipped_span(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def copy_positions(self, positions: _U32, lo: int, hi: int) -> None: ...

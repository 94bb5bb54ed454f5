from typing import Protocol

from gassst.model.array_types import I64, U16, U32, U64
from gassst.search.arrays import Candidates

_Columns = tuple[U32, I64, U16, U16]

class _Packed(Protocol):
    @property
    def planes(self) -> U64: ...
    @property
    def plane_start(self) -> U32: ...
    @property
    def lengths(self) -> U32: ...

class Filter: ...

def filter_of(name: str, gaps: int) -> Filter: ...
def passed(
    one: Filter,
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    instruction_set: str | None = None,
) -> tuple[_Columns, tuple[U32, I64]]: ...

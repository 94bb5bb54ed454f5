from gassst._core.filters import Filter, _Columns, _Packed
from gassst.model.array_types import U8, U16, U64
from gassst.search.arrays import Candidates

def score_table(l: int) -> U8: ...
def filter_of(name: str, gaps: int) -> Filter: ...
def tnw4_4(
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int,
    shift: int = 0,
    verified: U64 | None = None,
) -> _Columns: ...
def frequency_distance(
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int,
    shift: int = 0,
    verified: U64 | None = None,
) -> _Columns: ...
def tnw4_16(
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int,
    shift: int = 0,
    verified: U64 | None = None,
) -> _Columns: ...
def tnw5_full(
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int,
    shift: int = 0,
    verified: U64 | None = None,
) -> _Columns: ...
def duplicate(
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int = 0,
    shift: int = 0,
    verified: U64 | None = None,
) -> _Columns: ...

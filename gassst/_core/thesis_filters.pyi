from gassst._core.filters import Filter, _Columns, _Packed
from gassst.model.array_types import U8, U16, U64
from gassst.search.arrays import Candidates

def score_table(l: int) -> U8: ...
def filter_of(name: str, gaps: int) -> Filter: ...
def passed(
    name: str,
    candidates: Candidates,
    limits: U16,
    packed: _Packed,
    reference_planes: U64,
    gaps: int,
    shift: int,
    verified: U64 | None,
) -> _Columns: ...

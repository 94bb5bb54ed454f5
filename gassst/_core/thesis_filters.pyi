from typing import Any

from gassst._core.stages import Filter
from gassst.model.array_types import I64, U8, U16, U32, U64
from gassst.model.read_batch import PackedReads

_Columns = tuple[U32, I64, U16, U16]

def score_table(l: int) -> U8: ...
def filter_of(name: str, gaps: int) -> Filter: ...
def passed(
    one: Filter,
    candidates: Any,
    limits: U16,
    packed: PackedReads,
    reference_planes: U64,
    instruction_set: str | None = None,
) -> _Columns: ...

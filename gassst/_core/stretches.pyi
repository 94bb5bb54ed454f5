from gassst.model.array_types import I32, I64, U32
from gassst.search.arrays import Anchors, Diagonals
from gassst.search.context import BatchContext

def best_stretches(read_strand: U32, diagonal: I64, context: BatchContext) -> I64: ...
def promising_buckets(
    anchors: Anchors,
    context: BatchContext,
    most: int,
    stretches: U32 | None = None,
    least: I32 | None = None,
    passed: Diagonals | None = None,
) -> tuple[U32, I64]: ...

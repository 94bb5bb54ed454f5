from gassst.model.array_types import I32, I64, U32
from gassst.search.arrays import Anchors, Diagonals
from gassst.search.context import BatchContext

def promising_buckets(
    anchors: Anchors,
    context: BatchContext,
    most: int,
    least: I32,
    passed: Diagonals | None = None,
) -> tuple[U32, I64]: ...

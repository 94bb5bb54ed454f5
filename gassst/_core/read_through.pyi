from gassst.model.array_types import U8, U16, U32, U64, Structs
from gassst.model.read_batch import PackedReads
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext

def fragment_ends(
    packed: PackedReads,
    adapters: U8,
    first_part: int,
    shortest: int,
    bases_an_error: int,
    earliest: int,
    mate: U8 | None = None,
) -> U16: ...
def cut(packed: PackedReads, kept: U16) -> tuple[U32, U64, U32]: ...
def put_back(result: BatchResult, kept: U32, context: BatchContext) -> tuple[Structs, Structs, U32]: ...

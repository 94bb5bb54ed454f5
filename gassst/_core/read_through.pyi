from gassst.model.array_types import I64, U8, U16, U32, U64, Structs
from gassst.model.read_batch import PackedReads

def fragment_ends(
    packed: PackedReads,
    adapters: U8,
    first_part: int,
    shortest: int,
    bases_an_error: int,
    earliest: int,
    mate: U8 | None = None,
) -> U16: ...
def first_bases_of(packed: PackedReads, rows: I64, kept: U16) -> tuple[U32, U64, U32]: ...
def with_tails(
    hits: Structs, cigars: U32, tails: U32, clipped: bool = False
) -> tuple[I64, U32, U32, U16]: ...

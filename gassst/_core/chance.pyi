from gassst.model.array_types import F64, I64, U32
from gassst.model.read_batch import PackedReads

def letters_of(reads: U32, begin: I64, end: I64, packed: PackedReads, most: float) -> F64: ...

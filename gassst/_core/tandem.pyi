from gassst.model.array_types import F64, I64, U16, U32
from gassst.search.context import BatchContext

def tandem_rivals(
    read_strand: U32,
    diagonal: I64,
    begin: I64,
    end: I64,
    most: U16,
    context: BatchContext,
) -> tuple[U16, U16]: ...

# read_strand, diagonal, begin, end, most, loss, odds
_Part = tuple[U32, I64, I64, I64, U16, F64, F64]

def tandem_pairs(own: _Part, other: _Part, deviate: F64, step: F64, context: BatchContext) -> F64: ...

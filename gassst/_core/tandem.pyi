from gassst.model.array_types import I64, U16, U32
from gassst.search.context import BatchContext

def tandem_rivals(
    read_strand: U32,
    diagonal: I64,
    begin: I64,
    end: I64,
    most: U16,
    context: BatchContext,
) -> tuple[U16, U16]: ...

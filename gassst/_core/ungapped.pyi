from typing import Any

from numpy.typing import NDArray

from gassst.local.places import Places
from gassst.local.realign import Known
from gassst.model.array_types import I64, U32, Bool
from gassst.search.context import BatchContext

def are_whole(places: Places, context: BatchContext) -> Bool: ...
def settle(
    known: Known, reads: I64, sure: int, context: BatchContext
) -> tuple[NDArray[Any], U32, I64, I64, Bool, Bool]: ...
def diagonals_of_bands(
    known: Known, rows: I64, breaking: int, context: BatchContext
) -> tuple[I64, Bool, Bool]: ...
